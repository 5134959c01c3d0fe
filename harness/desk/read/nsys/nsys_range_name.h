/* The meaning of an NVTX range's text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NSYS_DIMS_MOST = 1000 };

struct nsys_range_name {
    const char *text; /* part of what was given, or a constant: ranges that load data are "data" */
    size_t length;
    bool is_operator; /* of PyTorch */
    bool is_backward;
    int64_t sequence; /* -1: none */
    char dims[NSYS_DIMS_MOST + 4];
    size_t dims_length; /* 0: none */
};

void nsys_range_name(struct nsys_range_name *name, const char *text, size_t length);

/* Whether ranges of that name may be steps: "iteration_12", "train_step 3", "Iteration 3 - eval",
 * "step". *number is the first behind that word; -1: it has none. */
bool nsys_range_is_step(const struct nsys_range_name *name, int64_t *number);

/* The same for names that differ in their digits only. */
uint64_t nsys_range_kind(const struct nsys_range_name *name);
