/* Each row finds its place by itself: it counts the tokens before it, in whole numbers, so that no
 * order of additions matters. With thousands of tokens that is less than the copy of a row. */
#include "kernels/dialect/row_softmax.h"

#include "kernels/model/experts.h"

/* The gate of one expert. */
KERNEL_INLINE float gate_of(struct softmax gates, float logit)
{
    return quotient(exponential(logit - gates.max), gates.sum);
}

/* Among equal ones the first is taken: the one with the largest negated place. If numbers are not
 * finite, some expert takes the token. */
KERNEL_ROWS(route_tokens, k, row)
{
    const real *logits = k->logits + row * k->width;
    struct softmax gates = row_softmax(logits, k->experts);
    struct pack max = pack_of(-FLT_MAX), place = pack_of(0);
    float largest;
    int expert;

    PACKS(c, k->experts) {
        struct pack a = load_or(logits + c, k->experts - c, -FLT_MAX), b = load_floats(k->bias + c);
        EACH(j) {
            float score = gate_of(gates, a.v[j]) + b.v[j];
            int is_larger = c + j < k->experts && score > max.v[j];
            max.v[j] = is_larger ? score : max.v[j];
            place.v[j] = is_larger ? -(float)(c + j) : place.v[j];
        }
    }
    largest = row_max(max);
    EACH(j) place.v[j] = max.v[j] == largest ? place.v[j] : -FLT_MAX;
    expert = (int)-larger(row_max(place), (float)(1 - k->experts));
    if (LANE == 0) {
        k->expert[row] = expert;
        k->gate[row] = gate_of(gates, widen(logits[expert]));
    }
}

KERNEL_ROWS(route_tokens_backward, k, row)
{
    const real *logits = k->logits + row * k->width;
    real *dlogits = k->dlogits + row * k->width;
    struct softmax gates = row_softmax(logits, k->experts);
    int expert = k->expert[row];
    float scale = k->dgate[row] * gate_of(gates, widen(logits[expert]));

    PACKS(c, k->width) {
        struct pack a = load_or(logits + c, k->experts - c, -FLT_MAX);
        EACH(j) {
            float p = gate_of(gates, a.v[j]);
            float d = scale * (c + j == expert ? 1 - p : -p);
            a.v[j] = c + j < k->experts ? d : 0;
        }
        store(dlogits + c, a);
    }
}

KERNEL_ROWS(dispatch_tokens, k, row)
{
    const real *x = k->x + row * k->width;
    int expert = k->expert[row];
    uint32_t before = 0;
    real *y;

    for (int i = LANE; i < k->count; i += LANES)
        before += k->expert[i] < expert || (k->expert[i] == expert && i < row);
    before = lanes_sum_words(before);
    if (LANE == 0)
        k->place[row] = (int32_t)before;
    y = k->y + (long)before * k->width;
    PACKS(c, k->width) store(y + c, load(x + c));
}

KERNEL_ROWS(count_tokens, k, row)
{
    uint32_t count = 0;

    for (int i = LANE; i < k->count; i += LANES) count += k->expert[i] == row;
    count = lanes_sum_words(count);
    if (LANE == 0)
        k->counts[row] = (float)count;
}

KERNEL_ROWS(combine_tokens, k, row)
{
    const real *x = k->x + (long)k->place[row] * k->width;
    float gate = k->gate != NULL ? k->gate[row] : 1;
    real *y = k->y + row * k->width;

    PACKS(c, k->width) {
        struct pack a = load(x + c);
        EACH(j) a.v[j] *= gate;
        store(y + c, a);
    }
}

KERNEL_ROWS(combine_tokens_backward, k, row)
{
    const real *x = k->x + (long)k->place[row] * k->width, *dy = k->dy + row * k->width;
    real *dx = k->dx + (long)k->place[row] * k->width;
    struct pack sum = pack_of(0);
    float gate = k->gate[row], dgate;

    PACKS(c, k->width) {
        struct pack a = load(x + c), d = load(dy + c);
        EACH(j) {
            sum.v[j] += a.v[j] * d.v[j];
            d.v[j] *= gate;
        }
        store(dx + c, d);
    }
    dgate = row_sum(sum);
    if (LANE == 0)
        k->dgate[row] = dgate;
}

KERNEL_INLINE float tokens_of(const struct balance_experts *k, int expert)
{
    float tokens = 0;

    for (int rank = 0; rank < k->ranks; rank++) tokens += k->counts[rank * k->experts + expert];
    return tokens;
}

KERNEL_ROWS(balance_experts, k, row)
{
    float mean = 0;
    (void)row;

    for (int i = LANE; i < k->experts; i += LANES) mean += tokens_of(k, i);
    mean = lanes_sum(mean) / (float)k->experts;
    for (int i = LANE; i < k->experts; i += LANES)
        k->bias[i] += k->rate * (1 - tokens_of(k, i) / mean);
}
