/* One line on standard error that says what runs and how long it will take. Where standard error is
 * no terminal, a line when a scenario begins. */
#pragma once

#include "harness/lab/experiment/parent/experiment.h"

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool shown;
    int scenarios, done; /* how many in all, how many of them finished */
    int64_t start_ns;
};

struct progress progress_start(int count);

/* An experiment_progress, whose context is the struct progress. NULL: the scenario has not
 * begun. */
void progress_update(void *context, const struct scenario *scenario,
                     const struct experiment_state *state);

/* The same of anything: what runs now, and how much of the whole is done, 0 to 1. The time that is
 * left is printed from a second on. */
void progress_show(const struct progress *progress, double share, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A scenario is finished. */
void progress_next(struct progress *progress);

/* Clears the line: before anything else is printed. */
void progress_clear(const struct progress *progress);
