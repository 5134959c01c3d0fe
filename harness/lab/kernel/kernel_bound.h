/* The least time that a kernel can take, by what it needs of each part of a GPU. No kernel is
 * faster; most are slower, as they wait, too. */
#pragma once

#include "harness/lab/kernel/kernel_counts.h"

/* The parts that may set the time: name, unit of the amount */
#define BOUND_PARTS(X)                                                                             \
    X(FP32, "fp32", "instructions")                                                                \
    X(FP16, "fp16", "instructions")                                                                \
    X(FP64, "fp64", "instructions")                                                                \
    X(SPECIAL, "special functions", "instructions")                                                \
    X(EXCHANGE, "exchanges between lanes", "instructions")                                         \
    X(TENSOR, "tensor cores", "products")                                                          \
    X(SHARED, "shared memory", "passes")                                                           \
    X(L1, "L1 cache", "sectors")                                                                   \
    X(L2, "L2 cache", "B")                                                                         \
    X(MEMORY, "memory", "B")                                                                       \
    X(ISSUE, "issue slots", "instructions")

enum bound_part {
#define BOUND_PART(id, name, unit) BOUND_##id,
    BOUND_PARTS(BOUND_PART)
#undef BOUND_PART
        BOUND_PART_COUNT
};
struct bound_row {
    const char *name, *unit;
};
extern const struct bound_row bound_rows[BOUND_PART_COUNT];

struct kernel_bound {
    double amount[BOUND_PART_COUNT], ns[BOUND_PART_COUNT];
    enum bound_part by;    /* the part that needs longest, so ns[by] is the bound; 0: none counts */
    double cold_ns;        /* if no cache has any of the arrays before */
    double flops_per_byte; /* of the arrays, each byte once; NaN: it touches none */
};

struct kernel_bound kernel_bound_of(const struct kernel_facts *facts);
