/* Arrays of NumPy's format (.npy, versions 1 to 3): numbers in the order of C, the lower byte
 * first. */
#pragma once

#include "harness/lab/kernel/input/kernel_arguments.h"

enum { NPY_MOST_BYTES = 1 << 28 };

/* An array argument of a file, whose path has `length` characters; free(argument->data) releases
 * it. BAD_INPUT: it is none, or of a type or an order that is not known. */
enum status npy_read(struct kernel_argument *argument, const char *path, size_t length);

/* A file with an array of one dimension. */
enum status npy_write(const struct kernel_argument *argument, const void *elements,
                      const char *path);

/* How an array differs from a reference. */
struct npy_difference {
    int64_t count, first; /* elements that differ, and the first of them */
    double most;          /* the largest difference; NaN: a number that only one has */
};

/* Numbers differ if |a - b| > absolute + relative |b|, or if only one is NaN. */
struct npy_difference npy_compare(const struct kernel_argument *argument, const void *elements,
                                  const struct kernel_argument *reference, double relative,
                                  double absolute);
