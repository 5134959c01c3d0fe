/* Who runs the kernels under test: the same cases run on the CPU's kernels called directly and,
 * behind the same five functions, on any device. */
#pragma once

#include "harness/device/device.h"

struct kernel_runner {
    const char *name;
    void *context;

    /* Runs the kernel on `count` rows or elements and returns when it is done. */
    enum status (*launch)(void *context, enum kernel kernel, enum dtype dtype, long count,
                          const void *arguments, size_t size);

    /* Memory is at least 256-byte aligned. */
    enum status (*alloc)(void *context, size_t bytes, void **memory);
    void (*release)(void *context, void *memory);
    enum status (*upload)(void *context, void *to, const void *from, size_t bytes);
    enum status (*download)(void *context, void *to, const void *from, size_t bytes);

    /* From now on touching these bytes is an error (or is one no longer). NULL where nobody can
     * tell. */
    void (*forbid)(void *context, void *memory, size_t bytes, bool forbidden);
};

/* Calls the kernels that the CPU device is built from, each launch in `*pieces` ranges: the result
 * of a kernel may not depend on how its rows were divided. `pieces` must outlive the runner. */
struct kernel_runner cpu_runner(int *pieces);
