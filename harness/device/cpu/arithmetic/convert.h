/* 16-bit floats to fp32 and back, to nearest, ties to even; NaN stays NaN. */
#pragma once

#include "harness/device/device.h"

/* to[r * columns + c] = from[r * stride + c], for `rows` rows; `dtype` is that of `from`. */
void convert_widen(float *to, const void *from, enum dtype dtype, long rows, long columns,
                   long stride);

/* to[r * stride + c] = from[r * columns + c]; `dtype` is that of `to`. */
void convert_narrow(void *to, const float *from, enum dtype dtype, long rows, long columns,
                    long stride);
