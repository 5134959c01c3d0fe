/* A device's memory over time in a number of points that a picture can show, in all and by
 * category.
 *
 * If the curve (memory_curve.h) has more, it is cut into parts of equally many points, and of each
 * part the lowest and the highest stay: the peak does. Parts of equal time would not do, since a
 * host that runs ahead allocates for many steps at once. A value holds until the next point. */
#ifndef HARNESS_DESK_ANALYSIS_TABLES_MEMORY_SAMPLES_H
#define HARNESS_DESK_ANALYSIS_TABLES_MEMORY_SAMPLES_H

#include "harness/desk/analysis/tables/memory_curve.h"

struct memory_samples {
    int64_t count;
    int64_t start_ns; /* of the first; the others' times count from there */
    /* [count], after each point; numbers of nanoseconds and bytes. */
    double *at_ns, *allocated;
    double *reserved;       /* NAN: unknown */
    double *categories;     /* [category_count][count], as the device's categories; bytes */
    int64_t category_count; /* categories that the trace has not stated yet have 0 */
};

/* At most `most` points, an even number of at least 2. */
struct memory_samples memory_samples_of(struct arena *arena, const struct memory_curve *memory,
                                        const struct memory_device *device,
                                        const struct trace_file *trace, int64_t most);

#endif
