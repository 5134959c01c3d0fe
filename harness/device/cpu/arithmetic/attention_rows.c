/* The passes over rows between the products of fused attention, compiled with the kernels' flags
 * once for each storage type. */
#include "harness/device/cpu/arithmetic/attention_rows.h"

#include "kernels/dialect/kernel.h"

attention_softmax KERNEL_NAME(attention_softmax);
attention_gradient KERNEL_NAME(attention_gradient);
attention_finish KERNEL_NAME(attention_finish);
attention_delta KERNEL_NAME(attention_delta);
attention_store KERNEL_NAME(attention_store);

/* The packs of a row: whole ones with `left` a constant, for which no element is selected, then the
 * rest. */
#define ROW_PACKS(c, left, length, to, ...)                                                        \
    do {                                                                                           \
        const int whole_ = (length) / PACK * PACK;                                                 \
        for (int c = 0; c < whole_; c += PACK) {                                                   \
            enum { left = PACK };                                                                  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        for (int c = whole_; c < (to); c += PACK) {                                                \
            const int left = (length)-c;                                                           \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    } while (0)

KERNEL_INLINE float row_maximum(const float *scores, int length)
{
    struct pack maxima = pack_of(-FLT_MAX);

    ROW_PACKS(c, left, length, length, {
        struct pack a = load_floats(scores + c);
        EACH(j) a.v[j] = j < left ? a.v[j] : -FLT_MAX;
        EACH(j) maxima.v[j] = larger(maxima.v[j], a.v[j]);
    });
    return row_max(maxima);
}

/* The scale is positive, so the largest score is that of the largest product. */
void KERNEL_NAME(attention_softmax)(const struct attention_rows *block, void *p,
                                    const struct attention_sums *so_far, const float *scores,
                                    int first)
{
    const float scale = block->scale;

    for (int row = 0; row < block->rows; row++) {
        const float *s = scores + (long)row * block->stride;
        real *to = (real *)p + (long)row * block->stride;
        float max = scale * row_maximum(s, block->length);
        struct pack sums = pack_of(0);

        if (!first) {
            float *y = so_far->y + (long)row * so_far->width, old = so_far->maxima[row];
            max = larger(max, old);
            const float correction = exponential(old - max);
            for (int c = 0; c < so_far->width; c++) y[c] *= correction;
            so_far->sums[row] *= correction;
        }
        ROW_PACKS(c, left, block->length, block->keys, {
            struct pack a = load_floats(s + c);
            EACH(j) a.v[j] = exponential(scale * a.v[j] - max);
            EACH(j) a.v[j] = j < left ? a.v[j] : 0;
            EACH(j) sums.v[j] += a.v[j];
            store(to + c, a);
        });
        so_far->sums[row] = row_sum(sums) + (first ? 0 : so_far->sums[row]);
        so_far->maxima[row] = max;
    }
}

void KERNEL_NAME(attention_gradient)(const struct attention_rows *block, void *p, void *ds,
                                     const float *scores, const float *dp, const float *lse,
                                     const float *delta)
{
    const float scale = block->scale;

    for (int row = 0; row < block->rows; row++) {
        const long at = (long)row * block->stride;
        const float less = lse[row], mean = delta[row];

        ROW_PACKS(c, left, block->length, block->keys, {
            struct pack a = load_floats(scores + at + c);
            struct pack d = load_floats(dp + at + c);
            EACH(j) a.v[j] = exponential(scale * a.v[j] - less);
            EACH(j) a.v[j] = j < left ? a.v[j] : 0;
            EACH(j) d.v[j] = scale * a.v[j] * (d.v[j] - mean);
            EACH(j) d.v[j] = j < left ? d.v[j] : 0;
            store((real *)p + at + c, a);
            store((real *)ds + at + c, d);
        });
    }
}

void KERNEL_NAME(attention_finish)(void *y, float *lse, const struct attention_sums *sums, int rows,
                                   long stride)
{
    for (int row = 0; row < rows; row++) {
        const float share = 1 / sums->sums[row];

        PACKS(c, sums->width) {
            struct pack a = load_floats(sums->y + (long)row * sums->width + c);
            EACH(j) a.v[j] *= share;
            store((real *)y + row * stride + c, a);
        }
        lse[row] = sums->maxima[row] + logf(sums->sums[row]);
    }
}

void KERNEL_NAME(attention_delta)(float *delta, const void *y, const void *dy, int rows, int width,
                                  long stride)
{
    for (int row = 0; row < rows; row++) {
        struct pack products = pack_of(0);

        PACKS(c, width) {
            struct pack a = load((const real *)y + row * stride + c);
            struct pack d = load((const real *)dy + row * stride + c);
            EACH(j) products.v[j] += a.v[j] * d.v[j];
        }
        delta[row] = row_sum(products);
    }
}

void KERNEL_NAME(attention_store)(void *to, const float *from, int rows, int width, long stride)
{
    for (int row = 0; row < rows; row++)
        PACKS(c, width)
            store((real *)to + row * stride + c, load_floats(from + (long)row * width + c));
}
