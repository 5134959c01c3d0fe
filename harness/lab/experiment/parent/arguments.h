/* The command line of a child: `chokepoint exec NAME ...`. cli/train/exec.c reads it. */
#pragma once

#include "harness/lab/experiment/own_scenario.h"
#include "harness/lab/experiment/protocol.h"
#include "scenarios/scenario.h"

enum { ARGUMENTS_MOST = 40 };

struct arguments {
    const char *list[ARGUMENTS_MOST]; /* from argv[1] on; ends with NULL */
    int count;
    char texts[ARGUMENTS_MOST][32]; /* numbers that the list points to: do not copy the struct */
    char own[OWN_SCENARIO_TEXT];    /* a scenario that is in no list */
};

/* The arguments of a timing child. They point into `scenario` and `protocol`, which must live as
 * long. */
void arguments_exec(struct arguments *arguments, const struct scenario *scenario,
                    const struct protocol *protocol);

/* The arguments of a tracing child, which measures the time of a step itself if it is 0. They also
 * point into `path`. */
void arguments_trace(struct arguments *arguments, const struct scenario *scenario,
                     const struct protocol *protocol, enum variant variant, const char *path,
                     double step_time_us);
