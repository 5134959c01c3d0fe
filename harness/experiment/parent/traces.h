/* The traces of a scenario that was measured: one tracing child per variant. */
#ifndef HARNESS_EXPERIMENT_PARENT_TRACES_H
#define HARNESS_EXPERIMENT_PARENT_TRACES_H

#include "harness/experiment/result.h"

#include <signal.h>

/* Starts `program` once a variant and fills result->tracing. The traces are
 * "<protocol.traces>/<scenario>.<variant>.json.gz". A child that fails is no error here: the result says
 * why its trace is missing, and is otherwise left alone. Nor is a stop request: the rest is left out. */
enum status traces_make(struct scenario_result *result, const char *program,
                        const volatile sig_atomic_t *stop);

#endif
