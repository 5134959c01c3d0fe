#include "harness/desk/analysis/tables/roofline.h"

#include <math.h>

const char *bound_name(enum bound bound)
{
    static const char *const names[BOUNDS] = { NULL, "compute", "memory", "cache" };

    return names[bound];
}

struct roofline roofline_of(const struct trace_ceilings *ceilings, int64_t flops, int64_t bytes,
                            double ns)
{
    struct roofline roofline = { BOUND_UNKNOWN, NAN };
    double compute_ns = 1e9 * (double)flops / ceilings->flops_per_second,
           memory_ns = 1e9 * (double)bytes / ceilings->bytes_per_second;

    if (!(ceilings->flops_per_second > 0) || !(ceilings->bytes_per_second > 0) || bytes <= 0 ||
        !(ns > 0))
        return roofline;
    if (compute_ns > ns)
        return roofline;
    if (memory_ns > ns)
        return (struct roofline){ BOUND_CACHE, NAN };
    roofline.bound = compute_ns > memory_ns ? BOUND_COMPUTE : BOUND_MEMORY;
    roofline.share = fmax(compute_ns, memory_ns) / ns;
    return roofline;
}
