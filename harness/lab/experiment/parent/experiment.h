/* The parent's side of an experiment: starts a timing child, keeps what it sends, gives the
 * verdict, and has the traces made and diagnosed. */
#pragma once

#include "harness/lab/experiment/result.h"

#include <signal.h>

/* How far an experiment is: the pair that is measured, or the trace that is made, of those that are
 * certain to come; pairs are added while nothing is decided. */
struct experiment_state {
    const char *part; /* "pair", "trace" */
    int number, total;
    double share; /* of the scenario's time that has passed, 0 to 1; 0: not known yet */
};

/* Called as records come in, and before each trace. May be NULL. */
typedef void experiment_progress(void *context, const struct scenario *scenario,
                                 const struct experiment_state *state);

/* Runs one scenario in a child process of `program`, most often this one, "/proc/self/exe". A child
 * that fails, crashes or hangs is not an error: it gives VERDICT_FAILED with its last words.
 * INTERRUPTED when *stop becomes nonzero: the child is ended, and what it sent is lost. Release the
 * result in every case. `stop` may be NULL. */
enum status experiment_run(struct scenario_result *result, const char *program,
                           const struct scenario *scenario, const struct protocol *protocol,
                           experiment_progress *progress, void *context,
                           const volatile sig_atomic_t *stop);

/* If `device` cannot show the scenario (scenario->needs), or its ranks cannot be started: a
 * skipped result that says so, without starting anything, and true. */
bool experiment_skips(struct scenario_result *result, const struct scenario *scenario,
                      const struct protocol *protocol, const struct device_properties *device);
