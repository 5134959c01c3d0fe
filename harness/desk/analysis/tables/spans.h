/* Operators, annotations and calls by name, as PyTorch's key_averages() has them: their time on the
 * host, that of the device work they launched, and the memory that they took.
 *
 * Spans of a thread nest. Self time on the host (PyTorch's "Self CPU") is a span's own less that of
 * the spans and calls directly in it. A launch belongs to the innermost operator or annotation that
 * its call begins in (self, "Self CUDA") and to every one around (total, "CUDA total"); a call
 * itself has no time on the device. Work that a graph's launch runs belongs to the operators and
 * phases that were captured, where the trace has them (captures.h). Memory is the sum of what was
 * allocated, less what was released, from a span's start to its end, on whatever thread; self
 * memory is without that of the spans directly in it. (torch/autograd/profiler.py and
 * profiler_util.py, PyTorch 2.x)
 *
 * As there, profiler::_record_function_enter and its like are left out, and a span that has nothing
 * in it but one span of its own name is one call. Unlike there, if a name is nested in itself
 * otherwise, totals count the outermost only, so no time counts twice; and Python functions are no
 * spans. Steps are not rows: steps.h has them. */
#pragma once

#include "harness/desk/analysis/timeline/timeline.h"
#include "harness/desk/trace/trace_file.h"

enum { SPANS_DEPTH = 1024 }; /* deeper ones are left out */

struct span_row {
    uint32_t name;
    bool is_phase; /* an annotation, not an operator */
    bool is_call;  /* of the runtime or the driver */
    int64_t count;
    int64_t replayed_count; /* of these, those that launches of graphs ran (captures.h) */
    int64_t host_total_ns, host_self_ns;
    int64_t device_total_ns, device_self_ns; /* sums of durations */
    int64_t host_bytes, host_self_bytes;     /* of memory, taken less released */
    int64_t device_bytes, device_self_bytes;
    int64_t flops; /* of calls that state them, without those of operators in them; 0: none does */
};

/* The figure that rows are ordered by, the largest first. PyTorch's names for it (sort_by) are
 * those of span_order_name(). */
enum span_order {
    SPANS_BY_DEFAULT, /* the total time on the device; without device work, that on the host */
    SPANS_BY_SELF_DEVICE_TIME_TOTAL,
    SPANS_BY_DEVICE_TIME_TOTAL,
    SPANS_BY_DEVICE_TIME, /* per call */
    SPANS_BY_SELF_CPU_TIME_TOTAL,
    SPANS_BY_CPU_TIME_TOTAL,
    SPANS_BY_CPU_TIME,
    SPANS_BY_COUNT,
    SPANS_BY_SELF_DEVICE_MEMORY_USAGE,
    SPANS_BY_DEVICE_MEMORY_USAGE,
    SPANS_BY_SELF_CPU_MEMORY_USAGE,
    SPANS_BY_CPU_MEMORY_USAGE,
    SPANS_BY_FLOPS,
    SPANS_ORDER_COUNT
};

struct spans {
    struct span_row *rows; /* longest device total first, then host total */
    int64_t count;
    bool has_memory; /* the trace says what was allocated */
};

struct spans spans_of(struct arena *arena, const struct timeline *timeline);

/* The row of that name that the host called; NULL: none. `begins`: the first row, thus the longest,
 * whose name begins so. */
const struct span_row *spans_find(const struct spans *spans, const struct trace_file *trace,
                                  const char *name, bool begins);

/* Puts in `rows`, an array of spans->count, pointers to the rows in that order; equal ones as they
 * were. */
void spans_sort(const struct span_row **rows, const struct spans *spans, enum span_order order);

/* "self_cpu_time_total"; "" for SPANS_BY_DEFAULT. */
const char *span_order_name(enum span_order order);

/* The order of that name. "cuda" or "xpu" in it mean the device, as in PyTorch. False: there is
 * none. */
bool span_order_find(const char *name, enum span_order *order);

/* --- What bounds an operator --- */

/* The bound of an operator: the device's arithmetic or its memory. */

enum bound { BOUND_UNKNOWN, BOUND_COMPUTE, BOUND_MEMORY, BOUND_CACHE, BOUNDS };

/* "compute", "memory", "cache"; NULL: unknown. */
const char *bound_name(enum bound bound);

/* The roofline model (Williams, Waterman, Patterson, 2009): work of `flops` operations on `bytes`
 * bytes takes at least the longer of the times that each alone takes at the device's limits. The
 * longer one is the bound, and its share of the measured time says how close to the bound the work
 * is. Work that is faster than memory has its data in a cache, whose speed is not known; work that
 * is faster than products are has a limit that is not known. Neither has a share. */
struct roofline {
    enum bound bound; /* unknown: the work or a limit is */
    double share;     /* at most 1; NAN: unknown */
};
struct roofline roofline_of(const struct trace_ceilings *ceilings, int64_t flops, int64_t bytes,
                            double ns);

/* The same of whole steps, by the GPU's own counters: the limit that the device comes nearer to.
 * Unknown below 60% of both, which latency bounds, or arithmetic outside of matrix units (the rule
 * "SpeedOfLight" of Nsight Compute has that threshold). */
struct roofline roofline_counted(const struct hardware_counters *counters);

/* "SMs active 60%, matrix units 30%, device memory 72%, occupancy 50%; near the limit of memory",
 * without what is not known. */
enum { COUNTERS_TEXT = 160 };
void counters_print(char text[COUNTERS_TEXT], const struct hardware_counters *counters);
