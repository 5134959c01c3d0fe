/* Types of elements in device memory. */
#pragma once

#include <stddef.h>

enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_COUNT };

size_t dtype_bytes(enum dtype dtype);
const char *dtype_name(enum dtype dtype); /* "fp32", "bf16", "fp16" */
