/* The bound of an operator: the device's arithmetic or its memory. */
#ifndef HARNESS_DESK_ANALYSIS_TABLES_ROOFLINE_H
#define HARNESS_DESK_ANALYSIS_TABLES_ROOFLINE_H

#include "harness/desk/trace/trace_file.h"

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

#endif
