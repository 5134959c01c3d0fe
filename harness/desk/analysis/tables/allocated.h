/* The bytes allocated, less those released, between two moments: by PyTorch's caching allocators
 * and ours
 * ("[memory]" of a trace), on all threads. */
#ifndef HARNESS_DESK_ANALYSIS_TABLES_ALLOCATED_H
#define HARNESS_DESK_ANALYSIS_TABLES_ALLOCATED_H

#include "harness/base/system/arena.h"
#include "harness/desk/trace/trace_file.h"

struct allocated_bytes {
    int64_t host, device;
};

struct allocated_moment {
    int64_t at_ns;
    struct allocated_bytes before; /* since the trace began, without this moment's */
};

struct allocated {
    struct allocated_moment *moments; /* by time; one more, with the sum of all */
    int64_t count;
    int64_t near; /* where the last span began: the next one is not far */
};

struct allocated allocated_of(struct arena *arena, const struct trace_file *trace);

/* Both moments count. */
struct allocated_bytes allocated_within(struct allocated *allocated, int64_t start_ns,
                                        int64_t end_ns);

#endif
