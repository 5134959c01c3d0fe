/* The traces of a scenario that was measured: one tracing child per variant. */
#pragma once

#include "harness/lab/experiment/result.h"

#include <signal.h>

/* Starts `program` and fills result->tracing[variant]. The trace is stored as
 * "<protocol.traces>/<scenario>.<variant>.json.gz". A child that fails is no error here: the result
 * says why its trace is missing, and nothing else in it changes. A stop request is no error
 * either. */
enum status variant_trace_make(struct scenario_result *result, enum variant variant,
                               const char *program, const volatile sig_atomic_t *stop);
