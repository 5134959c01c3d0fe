/* Cross-entropy, by log(sum(exp(x))) = m + log(sum(exp(x - m))) with m the row's largest logit.
 * Rows are few and short: what these kernels cost is their launch. */
#include "kernels/dialect/row_softmax.h"

#include "kernels/cross_entropy.h"
#include "kernels/optimizer.h"

KERNEL_ROWS(cross_entropy_forward, k, row)
{
    const real *logits = k->logits + row * k->width;
    struct softmax softmax = row_softmax(logits, k->classes);

    if (LANE == 0)
        k->loss[row] = logf(softmax.sum) + whole(softmax.max - widen(logits[k->labels[row]]));
}

/* Each row finds its place by itself: it counts those before it. */
KERNEL_ROWS(hard_rows, k, row)
{
    float sum = 0, mean;
    uint32_t before = 0;
    int hard;

    for (int i = LANE; i < k->count; i += LANES) sum += k->loss[i];
    mean = lanes_sum(sum) / (float)k->count;
    for (int i = LANE; i < row; i += LANES) before += k->loss[i] >= mean;
    before = lanes_sum_words(before);
    hard = k->loss[row] >= mean;
    if (LANE != 0)
        return;
    if (hard)
        k->rows[before] = (int32_t)row;
    else
        k->rows[k->count - 1 - (row - (long)before)] = -1;
    if (row == k->count - 1)
        *k->kept = (int32_t)before + hard;
}

KERNEL_ROWS(cross_entropy_backward, k, place)
{
    long row = k->rows != NULL ? k->rows[place] : place;
    if (row < 0)
        return;
    const real *logits = k->logits + row * k->width;
    real *dlogits = k->dlogits + row * k->width;
    struct softmax softmax = row_softmax(logits, k->classes);
    float scale = k->scale * k->state->loss_scale;
    int label = k->labels[row];

    PACKS(c, k->width) {
        struct pack a = load_or(logits + c, k->classes - c, -FLT_MAX);
        EACH(j) {
            float p = exponential(a.v[j] - softmax.max) / softmax.sum;
            float d = scale * (c + j == label ? p - 1 : p);
            a.v[j] = c + j < k->classes ? d : 0;
        }
        store(dlogits + c, a);
    }
}

/* The place of the largest logit is looked for from the end: by the largest of the negated
 * places. */
KERNEL_ROWS(count_right, k, row)
{
    const real *logits = k->logits + row * k->width;
    struct pack max = pack_of(-FLT_MAX), place = pack_of(-FLT_MAX);
    float largest, first;

    PACKS(c, k->classes) {
        struct pack a = load_or(logits + c, k->classes - c, -FLT_MAX);
        EACH(j) max.v[j] = larger(max.v[j], a.v[j]);
    }
    largest = row_max(max);
    PACKS(c, k->classes) {
        struct pack a = load_or(logits + c, k->classes - c, -FLT_MAX);
        EACH(j) {
            float here = a.v[j] == largest ? -(float)(c + j) : -FLT_MAX;
            place.v[j] = larger(place.v[j], here);
        }
    }
    first = row_max(place);
    if (LANE == 0 && first == -(float)k->labels[row])
        k->right[row] += 1;
}

KERNEL_ROWS(loss_mean, k, row)
{
    float *slot = k->ring + k->state->step / k->updates % k->ring_length;
    float sum = 0;
    (void)row;

    for (int i = LANE; i < k->count; i += LANES) sum += k->loss[i];
    sum = k->scale * lanes_sum(sum);
    if (LANE == 0)
        *slot = k->accumulate ? *slot + sum : sum;
}
