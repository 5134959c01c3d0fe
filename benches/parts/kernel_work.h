/* The bytes and flops of a kernel's launch, by its row in kernels/kernels.h. */
#pragma once

#include "harness/device/device.h"

/* A launch goes over so many; what is 0 does not count. */
struct kernel_extent {
    int64_t elements, rows;
    int64_t sums; /* over rows: the elements of partial sums */
};

/* Read and written. */
int64_t kernel_bytes(enum kernel kernel, enum dtype dtype, struct kernel_extent extent);

int64_t kernel_flops(enum kernel kernel, int64_t elements);
