/* Names and parameters of kernels as their source has them. */
#pragma once

#include "harness/simt/simt.h"

/* "takes 3 arguments: f32[], f32[], i32": the types as the C++ name has them where it is simple,
 * else as the PTX has them. */
void kernel_wants(char *text, size_t size, const char *name, const struct simt_shape *shape);
