/* A kernel that adds a few numbers to a few sums: its work is nothing beside its launch, and the
 * sums tell afterwards how often it ran. */
#include "benches/parts/tiny_kernel.h"

#include <string.h>

enum status tiny_kernel_open(struct tiny_kernel *kernel, struct bench_work *work, int64_t count)
{
    TRY(operand_open(&kernel->sum, work, DTYPE_F32, count));
    TRY(operand_open(&kernel->start, work, DTYPE_F32, count));
    TRY(operand_open(&kernel->term, work, DTYPE_F32, count));
    memcpy(kernel->start.host, kernel->sum.host, (size_t)count * sizeof(float));

    return STATUS_OK;
}

enum status tiny_kernel_launch(const struct tiny_kernel *kernel, struct bench_work *work)
{
    return LAUNCH(work->stream, DTYPE_F32, residual_add, kernel->sum.count, .y = kernel->sum.device,
                  .a = kernel->sum.device, .b = kernel->term.device);
}

/* Each addition is off by at most half a unit in the last place of a sum that is at most launches
 * + 1. */
enum status tiny_kernel_check(struct tiny_kernel *kernel, struct bench_work *work, int64_t launches)
{
    double n = (double)launches;

    TRY(operand_read(&kernel->sum, work));
    for (int64_t i = 0; i < kernel->sum.count; i++)
        TRY(operand_check(&kernel->sum, "a sum of launches", i,
                          operand_value(&kernel->start, i) + n * operand_value(&kernel->term, i),
                          n * (n + 1) * 0x1p-24));

    return STATUS_OK;
}
