/* Memory of devices over time, as the step's allocator reports it: the curve, its peak, and what
 * the peak was made of.
 *
 * If the trace states totals after every block (PyTorch since 1.10, and ours), they are the curve.
 * Otherwise (PyTorch in 2021) the curve is the sum of the blocks since the trace began, and only
 * its changes mean something. Fragmentation is reserved over allocated. */
#pragma once

#include "harness/base/system/arena.h"
#include "harness/desk/trace/trace_file.h"

struct memory_point {
    int64_t device;
    const struct trace_event *event;
    int64_t allocated; /* after it */
};

struct memory_category {
    uint32_t name;   /* trace_file_name() */
    int64_t at_peak; /* bytes when its device's peak was reached */
    int64_t peak;    /* its own */
};

struct memory_device {
    int64_t device;
    bool stated;                      /* totals are the allocator's own */
    int64_t first_point, point_count; /* in memory.points */
    int64_t peak, peak_at_ns;
    int64_t reserved_at_peak, reserved_peak; /* -1: unknown */
    int64_t first, last;                     /* allocated at both ends of the curve */
    struct memory_category *categories;      /* the largest at the peak first */
    int64_t category_count;
};

struct memory_curve {
    struct memory_point *points; /* by device, then time */
    int64_t point_count;
    struct memory_device *devices;
    int64_t device_count;
};

/* Memory of the host counts only if the trace has none of a device; its number is -1.
 * `trace` must live longer. */
struct memory_curve memory_curve_of(struct arena *arena, const struct trace_file *trace);

/* --- Samples for pictures --- */

/* A device's memory over time in a number of points that a picture can show, in all and by
 * category.
 *
 * If the curve has more, it is cut into parts of equally many points, and of each
 * part the lowest and the highest stay: the peak does. Parts of equal time would not do, since a
 * host that runs ahead allocates for many steps at once. A value holds until the next point. */

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
