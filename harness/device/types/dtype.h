/* Types of elements in device memory. */
#pragma once

#include <stddef.h>

/* The storage types of kernels, and fp64, which only products and casts know. */
enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_COUNT, DTYPE_F64 = DTYPE_COUNT, DTYPES_ALL };

size_t dtype_bytes(enum dtype dtype);
const char *dtype_name(enum dtype dtype); /* "fp32", "bf16", "fp16", "fp64" */
