/* Checks of the arguments of the device functions. BAD_USAGE says which argument is wrong. */
#pragma once

#include "harness/device/device.h"

/* `what` of `call` must not be NULL. */
enum status check_given(const void *pointer, const char *call, const char *what);

enum status check_launch(enum kernel kernel, enum dtype dtype, long count, const void *arguments,
                         size_t size);

/* Elements of a row of the launch that was checked; 1 where the count is of elements. */
int check_width(enum kernel kernel, const void *arguments);

/* `ranks` take part, and this one is `rank`. */
enum status check_collective(const struct collective *collective, int ranks, int rank);

enum status check_gemm(const struct gemm *gemm);
enum status check_copy(enum copy_kind kind, const void *to, const void *from, size_t bytes);
