/* Matrix products in fp64, which oneDNN does not have on CPUs. */
#pragma once

#include "harness/device/device.h"

/* Bytes that a product takes for copies of its blocks, aligned to 64. */
size_t product_f64_scratch(void);

/* c (+)= op(a) op(b), of a batch of 1; all three are fp64. */
void product_f64(const struct gemm *gemm, void *scratch);
