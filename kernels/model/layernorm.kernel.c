/* Layer normalisation, alone and fused with the residual connection before it.
 *
 * A row is passed over three times (mean, variance, result): the second and third pass find it in
 * cache, and a variance from differences to the mean loses no digits. Bound by memory bandwidth. */
#include "kernels/dialect/kernel.h"

#include "kernels/model/layernorm.h"

#define EPSILON 1e-5f

/* 1 / sqrt(variance + epsilon) of a row with that mean. */
KERNEL_INLINE float row_rstd(const real *x, int width, float mean)
{
    struct pack squares = pack_of(0);

    PACKS(c, width) {
        struct pack a = load(x + c);
        EACH(j) squares.v[j] += (a.v[j] - mean) * (a.v[j] - mean);
    }
    return 1 / sqrtf(row_sum(squares) / (float)width + EPSILON);
}

KERNEL_INLINE void row_normalise(real *y, const real *x, const real *weight, const real *bias,
                                 int width, float mean, float rstd)
{
    PACKS(c, width) {
        struct pack a = load(x + c), w = load(weight + c), b = load(bias + c);
        EACH(j) a.v[j] = (a.v[j] - mean) * rstd * w.v[j] + b.v[j];
        store(y + c, a);
    }
}

KERNEL_ROWS(layernorm_forward, k, row)
{
    const real *x = k->x + row * k->width;
    struct pack sums = pack_of(0);

    PACKS(c, k->width) {
        struct pack a = load(x + c);
        EACH(j) sums.v[j] += a.v[j];
    }
    float mean = row_sum(sums) / (float)k->width;
    float rstd = row_rstd(x, k->width, mean);

    row_normalise(k->y + row * k->width, x, k->weight, k->bias, k->width, mean, rstd);
    if (LANE == 0) {
        k->mean[row] = mean;
        k->rstd[row] = rstd;
    }
}

/* The sum is normalised as it was stored, because backward sees the stored one. */
KERNEL_ROWS(residual_layernorm_forward, k, row)
{
    const real *a = k->a + row * k->width, *b = k->b + row * k->width;
    real *sum = k->sum + row * k->width;
    struct pack sums = pack_of(0);

    PACKS(c, k->width) {
        struct pack s = load(a + c), branch = load(b + c);
        EACH(j) s.v[j] += branch.v[j];
        if (k->branch_bias) {
            struct pack bias = load(k->branch_bias + c);
            EACH(j) s.v[j] += bias.v[j];
        }
        store(sum + c, s);
        s = stored_value(s);
        EACH(j) sums.v[j] += s.v[j];
    }
    float mean = row_sum(sums) / (float)k->width;
    float rstd = row_rstd(sum, k->width, mean);

    row_normalise(k->y + row * k->width, sum, k->weight, k->bias, k->width, mean, rstd);
    if (LANE == 0) {
        k->mean[row] = mean;
        k->rstd[row] = rstd;
    }
}

/* With n = (x - mean) * rstd and g = dy * weight, dx is what is left of g after taking away its
 * mean and its projection on n, times rstd. These are the two means. */
struct means {
    float g, gn;
};

KERNEL_INLINE struct means row_means(const real *x, const real *dy, const real *weight, int width,
                                     float mean, float rstd)
{
    struct pack g = pack_of(0), gn = pack_of(0);
    struct means means;

    PACKS(c, width) {
        struct pack a = load(x + c), d = load(dy + c), w = load(weight + c);
        EACH(j) d.v[j] *= w.v[j];
        EACH(j) g.v[j] += d.v[j];
        EACH(j) gn.v[j] += d.v[j] * (a.v[j] - mean);
    }
    means.g = row_sum(g) / (float)width;
    means.gn = row_sum(gn) * rstd / (float)width;
    return means;
}

KERNEL_INLINE float slope(float x, float dy, float weight, float mean, float rstd,
                          struct means means)
{
    return (dy * weight - means.g - (x - mean) * (rstd * means.gn)) * rstd;
}

KERNEL_ROWS(layernorm_backward, k, row)
{
    const real *x = k->x + row * k->width, *dy = k->dy + row * k->width;
    real *dx = k->dx + row * k->width;
    float mean = k->mean[row], rstd = k->rstd[row];
    struct means means = row_means(x, dy, k->weight, k->width, mean, rstd);

    PACKS(c, k->width) {
        struct pack a = load(x + c), d = load(dy + c), w = load(k->weight + c);
        EACH(j) d.v[j] = slope(a.v[j], d.v[j], w.v[j], mean, rstd, means);
        store(dx + c, d);
    }
}

KERNEL_ROWS(residual_layernorm_backward, k, row)
{
    const real *x = k->x + row * k->width, *dy = k->dy + row * k->width;
    const real *add = k->add + row * k->width;
    real *dx = k->dx + row * k->width;
    float mean = k->mean[row], rstd = k->rstd[row];
    struct means means = row_means(x, dy, k->weight, k->width, mean, rstd);

    PACKS(c, k->width) {
        struct pack a = load(x + c), d = load(dy + c), w = load(k->weight + c), s = load(add + c);
        EACH(j) d.v[j] = s.v[j] + slope(a.v[j], d.v[j], w.v[j], mean, rstd, means);
        store(dx + c, d);
    }
}

KERNEL_ROWS(layernorm_backward_weight, k, row)
{
    struct column_block block = find_column_block(row, k->rows, k->width, k->chunk, k->columns);
    long from = block.first * k->width + block.column, to = block.part * k->width + block.column;

    TILES(c, block.columns) {
        struct pack weights[TILE], biases[TILE];
        TILE_PACKS(t, c, block.columns) weights[t] = biases[t] = pack_of(0);
        for (long r = 0; r < block.rows; r++) {
            const real *x = k->x + from + r * k->width + c, *dy = k->dy + from + r * k->width + c;
            float mean = k->mean[block.first + r], rstd = k->rstd[block.first + r];
            TILE_PACKS(t, c, block.columns) {
                struct pack a = load(x + t * PACK), d = load(dy + t * PACK);
                EACH(j) weights[t].v[j] += d.v[j] * ((a.v[j] - mean) * rstd);
                EACH(j) biases[t].v[j] += d.v[j];
            }
        }
        TILE_PACKS(t, c, block.columns) {
            store_floats(k->dweight + to + c + t * PACK, weights[t]);
            store_floats(k->dbias + to + c + t * PACK, biases[t]);
        }
    }
}
