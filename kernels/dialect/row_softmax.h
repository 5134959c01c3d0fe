/* The softmax of a short row, of which only some values are wanted: exp(x - max) / sum. */
#pragma once

#include "kernels/dialect/kernel.h"

struct softmax {
    float max, sum; /* of the logits, of exp(logits - max) */
};

/* `count` logits; any may follow them. A lane's packs are summed in order. */
KERNEL_INLINE struct softmax row_softmax(const real *logits, int count)
{
    struct pack max = pack_of(-FLT_MAX), sum = pack_of(0);
    struct softmax softmax;

    PACKS(c, count) {
        struct pack a = load_or(logits + c, count - c, -FLT_MAX);
        EACH(j) max.v[j] = larger(max.v[j], a.v[j]);
    }
    softmax.max = row_max(max);
    PACKS(c, count) {
        struct pack a = load_or(logits + c, count - c, -FLT_MAX);
        EACH(j) sum.v[j] += exponential(a.v[j] - softmax.max);
    }
    softmax.sum = row_sum(sum);
    return softmax;
}
