/* Work of a kernel by its row of kernels/kernels.h, so that a bench states no bytes of its own. */
#include "benches/parts/kernel_work.h"

/* A row without bytes and flops does not compile. */
static const struct kernel_work works[KERNEL_COUNT] = {
#define KERNEL_ROW(name, shape, reads, writes, ...) { reads, writes, .flops = __VA_ARGS__ },
    KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
};

int64_t kernel_bytes(enum kernel kernel, enum dtype dtype, struct kernel_extent extent)
{
    const struct kernel_work *work = &works[kernel];
    const int64_t size = (int64_t)dtype_bytes(dtype);
    const int narrowed = dtype == DTYPE_F32 ? 0 : work->narrowed;

    return extent.elements * ((work->reads + work->writes + narrowed) * size + work->bytes_read +
                              work->bytes_written) +
           extent.rows * work->row_bytes +
           extent.sums * (work->sum_bytes + work->sum_writes * size);
}

int64_t kernel_flops(enum kernel kernel, int64_t elements)
{
    return elements * works[kernel].flops;
}
