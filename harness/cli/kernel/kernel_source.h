/* The file that `kernel` is given: PTX, or CUDA C that nvcc makes PTX of; and what ptxas says of
 * it. */
#pragma once

#include "harness/base/status.h"
#include "harness/lab/kernel/kernel_counts.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { KERNEL_SOURCE_MOST = 16 << 20 }; /* bytes of a file */

struct kernel_source {
    char *ptx; /* ends with '\0' */
    size_t bytes;
    char ptxas[PATH_MAX]; /* "": not found */
};

/* CUDA C is compiled for the architecture, with the options of `options`, which may be NULL.
 * BAD_INPUT: not a file that can be read, too large, or CUDA C that nvcc refuses. NO_LIBRARY: CUDA
 * C without nvcc. Release it whatever the status is. */
enum status kernel_source_read(struct kernel_source *source, const char *path, const char *options,
                               int architecture);
void kernel_source_release(struct kernel_source *source);

/* A kernel's needs as ptxas says them; registers 0: it was not found, or refuses the PTX,
 * which is said on standard error. */
struct kernel_needs kernel_source_needs(const struct kernel_source *source, const char *kernel,
                                        int architecture);

/* The whole file, which ends with '\0' and is for free(). */
enum status kernel_text_read(char **text, size_t *bytes, const char *path);

/* A source that lines are of: FILE beside the PTX or in the folder above it. Whether one is
 * there. */
bool kernel_source_find(char path[PATH_MAX], const char *ptx_path, const char *file);
