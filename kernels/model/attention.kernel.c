/* Attention beside its GEMMs: reordering heads (pure memory traffic) and softmax. */
#include "kernels/dialect/kernel.h"

#include "kernels/model/attention.h"

/* The offset of element c of token `row` in the heads' order: [samples, heads, tokens, width /
 * heads]. */
KERNEL_INLINE long head_offset(long row, int c, int width, int heads, int tokens)
{
    int sample = (int)row / tokens, token = (int)row % tokens;
    int head_width = width / heads, head = c / head_width;

    return ((long)(sample * heads + head) * tokens + token) * head_width + (c - head * head_width);
}

KERNEL_INLINE struct pack load_plus(const real *x, const real *bias)
{
    struct pack pack = load(x);
    if (bias) {
        struct pack more = load(bias);
        EACH(j) pack.v[j] += more.v[j];
    }
    return pack;
}

KERNEL_ROWS(split_heads_forward, k, row)
{
    int width = k->width;
    const real *qkv = k->qkv + row * 3 * width;

    PACKS(c, width) {
        long to = head_offset(row, c, width, k->heads, k->tokens);
        const real *x = qkv + c, *bias = k->bias ? k->bias + c : k->bias;
        store(k->q + to, load_plus(x, bias));
        store(k->k + to, load_plus(x + width, bias ? bias + width : bias));
        store(k->v + to, load_plus(x + 2 * width, bias ? bias + 2 * width : bias));
    }
}

KERNEL_ROWS(split_heads_backward, k, row)
{
    int width = k->width;
    real *dqkv = k->dqkv + row * 3 * width;

    PACKS(c, width) {
        long from = head_offset(row, c, width, k->heads, k->tokens);
        store(dqkv + c, load(k->dq + from));
        store(dqkv + width + c, load(k->dk + from));
        store(dqkv + 2 * width + c, load(k->dv + from));
    }
}

KERNEL_ROWS(merge_heads_forward, k, row)
{
    PACKS(c, k->width) {
        long from = head_offset(row, c, k->width, k->heads, k->tokens);
        store(k->y + row * k->width + c, load(k->x + from));
    }
}

KERNEL_ROWS(merge_heads_backward, k, row)
{
    PACKS(c, k->width) {
        long to = head_offset(row, c, k->width, k->heads, k->tokens);
        store(k->dx + to, load(k->dy + row * k->width + c));
    }
}

KERNEL_INLINE int row_length(const int32_t *lengths, long row, int heads, int tokens)
{
    return lengths ? lengths[(int)row / (heads * tokens)] : tokens;
}

KERNEL_INLINE void fill_zero(real *y, int from, int width)
{
    PACKS(c, width) {
        if (c >= from)
            store(y + c, pack_of(0));
    }
}

/* The exponentials of a row that fits stay in registers (CUDA) or in the first-level cache. */
KERNEL_INLINE void softmax_kept(real *y, const real *x, int length, float scale)
{
    struct pack kept[KEPT];
    struct pack maxima = pack_of(-FLT_MAX), sums = pack_of(0);

    KEPT_PACKS(p, c, length) {
        struct pack a = load(x + c);
        EACH(j) a.v[j] = j < length - c ? scale * a.v[j] : -FLT_MAX;
        EACH(j) maxima.v[j] = larger(maxima.v[j], a.v[j]);
        kept[p] = a;
    }
    float max = row_max(maxima);
    KEPT_PACKS(p, c, length) {
        struct pack a = kept[p];
        EACH(j) a.v[j] = exponential(a.v[j] - max);
        EACH(j) sums.v[j] += a.v[j];
        kept[p] = a;
    }
    float share = 1 / row_sum(sums);
    KEPT_PACKS(p, c, length) {
        struct pack a = kept[p];
        EACH(j) a.v[j] *= share;
        store(y + c, a);
    }
}

/* The values of a longer row are computed twice: between passes there is only storage, which would
 * round them to `real`. */
KERNEL_INLINE void softmax_recomputed(real *y, const real *x, int length, float scale)
{
    struct pack maxima = pack_of(-FLT_MAX), sums = pack_of(0);

    PACKS(c, length) {
        struct pack a = load(x + c);
        EACH(j) a.v[j] = j < length - c ? scale * a.v[j] : -FLT_MAX;
        EACH(j) maxima.v[j] = larger(maxima.v[j], a.v[j]);
    }
    float max = row_max(maxima);
    PACKS(c, length) {
        struct pack a = load(x + c);
        EACH(j) a.v[j] = exponential(scale * a.v[j] - max);
        EACH(j) sums.v[j] += j < length - c ? a.v[j] : 0;
    }
    float share = 1 / row_sum(sums);
    PACKS(c, length) {
        struct pack a = load(x + c);
        EACH(j) a.v[j] = exponential(scale * a.v[j] - max) * share;
        EACH(j) a.v[j] = j < length - c ? a.v[j] : 0;
        store(y + c, a);
    }
}

KERNEL_ROWS(softmax_forward, k, row)
{
    const real *x = k->x + row * k->width;
    real *y = k->y + row * k->width;
    int length = row_length(k->lengths, row, k->heads, k->tokens);

    if (length <= KEPT * LANES * PACK)
        softmax_kept(y, x, length, k->scale);
    else
        softmax_recomputed(y, x, length, k->scale);
    fill_zero(y, length, k->width);
}

KERNEL_ROWS(softmax_backward, k, row)
{
    const real *y = k->y + row * k->width, *dy = k->dy + row * k->width;
    real *dx = k->dx + row * k->width;
    int length = row_length(k->lengths, row, k->heads, k->tokens);
    struct pack products = pack_of(0);

    PACKS(c, length) {
        struct pack a = load(y + c), d = load_or(dy + c, length - c, 0);
        EACH(j) products.v[j] += a.v[j] * d.v[j];
    }
    float mean = row_sum(products);
    PACKS(c, length) {
        struct pack a = load(y + c), d = load_or(dy + c, length - c, 0);
        EACH(j) d.v[j] = k->scale * a.v[j] * (d.v[j] - mean);
        EACH(j) d.v[j] = j < length - c ? d.v[j] : 0;
        store(dx + c, d);
    }
    fill_zero(dx, length, k->width);
}
