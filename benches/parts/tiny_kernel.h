/* A kernel that adds few numbers, so that everything else takes the time: the call, the driver, the
 * queue, the start on the device. Each launch adds the same terms to the same sums, so that the
 * sums tell how often it has run. */
#pragma once

#include "benches/parts/operand.h"

struct tiny_kernel {
    struct operand sum, term, start; /* the sum before the first launch */
};

/* `count` elements; ROW_MULTIPLE is as little work as there can be. */
enum status tiny_kernel_open(struct tiny_kernel *kernel, struct bench_work *work, int64_t count);

enum status tiny_kernel_launch(const struct tiny_kernel *kernel, struct bench_work *work);

/* Waits; INTERNAL unless it has run exactly `launches` times since it was opened. */
enum status tiny_kernel_check(struct tiny_kernel *kernel, struct bench_work *work,
                              int64_t launches);
