/* What the threads of the host did, in the order in which a sweep with a stack goes over it. */
#ifndef HARNESS_ANALYSIS_HOST_EVENTS_H
#define HARNESS_ANALYSIS_HOST_EVENTS_H

#include "harness/trace/read/reader.h"

/* Operators, annotations and calls; steps are left out. By thread and start: what contains comes before
 * what is contained, calls last. OUT_OF_MEMORY. The caller frees *events, which point into `trace`. */
enum status host_events_make(const struct trace_event ***events, int64_t *count,
                             const struct trace_file *trace);

#endif
