/* AdamW in three forms, and the norm of the gradients before it. Bound by memory bandwidth, except
 * in the single-row kernels, which cost their launch.
 *
 * The per-tensor and the multi-tensor form share adamw_pack_update() and agree bit for bit. */
#include "kernels/dialect/kernel.h"

#include "kernels/optimizer.h"

/* The power is taken by expm1, as 1 - beta^t loses the digits of a beta that is close to 1. */
KERNEL_ROWS(step_advance, k, row)
{
    struct step_state *state = k->state;
    int32_t updates = state->step + 2; /* with this one and with those that were skipped */
    int32_t done = updates - state->overflows;
    (void)row;

    if (LANE == 0) {
        state->step = updates - 1;
        state->rate = updates < k->warmup ? k->rate * (float)updates / (float)k->warmup : k->rate;
        state->correction1 = -expm1f((float)done * logf(ADAMW_BETA1));
        state->correction2 = -expm1f((float)done * logf(ADAMW_BETA2));
    }
}

KERNEL_INLINE float row_square_sum(const real *x, int count)
{
    struct pack sums = pack_of(0);

    PACKS(c, count) {
        struct pack a = load(x + c);
        EACH(j) sums.v[j] += a.v[j] * a.v[j];
    }
    return row_sum(sums);
}

KERNEL_ROWS(square_sum, k, row)
{
    long first = row * k->width;
    float sum = row_square_sum(k->x + first, smaller_int(k->width, k->count - first));

    if (LANE == 0)
        k->partial[row] = sum;
}

KERNEL_ROWS(square_sum_multi, k, row)
{
    float sum = row_square_sum(k->table[row].gradient, k->table[row].count);

    if (LANE == 0)
        k->partial[row] = sum;
}

enum { NORM_AHEAD = AHEAD > 1 ? 16 : 1 };

/* The sum of all, with NORM_AHEAD loads of a pack on their way. */
KERNEL_INLINE float partials_sum(const float *partial, int count)
{
    struct pack sums = pack_of(0);
    int whole = count / PACK * PACK, c = LANE * PACK;

    for (; c + (NORM_AHEAD - 1) * LANES * PACK < whole; c += NORM_AHEAD * LANES * PACK) {
        struct pack some[NORM_AHEAD];
        UNROLLED for (int a = 0; a < NORM_AHEAD; a++) some[a] =
            load_floats(partial + c + a * LANES * PACK);
        UNROLLED for (int a = 0; a < NORM_AHEAD; a++) EACH(j) sums.v[j] += some[a].v[j];
    }
    for (; c < whole; c += LANES * PACK) {
        struct pack some = load_floats(partial + c);
        EACH(j) sums.v[j] += some.v[j];
    }
    for (int i = whole + LANE; i < count; i += LANES) sums.v[0] += partial[i];
    return row_sum(sums);
}

/* One warp, so that the order is fixed and no second kernel has to follow: 42000 partial sums, of
 * 86M parameters, are 21 times NORM_AHEAD loads. */
KERNEL_ONE_ROW(gradient_norm_finish, k, row)
{
    struct step_state *state = k->state;
    (void)row;

    float norm = sqrtf(partials_sum(k->partial, k->count)) / state->loss_scale;

    if (LANE == 0) {
        float clip = k->max_norm / (norm + 1e-6f);
        int clips = k->max_norm != 0 && clip < 1;
        state->gradient_norm = norm;
        if (is_finite(norm)) {
            state->gradient_scale = (clips ? clip : 1) / state->loss_scale;
        } else {
            state->gradient_scale = ADAMW_SKIP;
            state->overflows += 1;
        }
    }
}

/* As GradScaler.update() does. */
KERNEL_ROWS(loss_scale_update, k, row)
{
    struct step_state *state = k->state;
    (void)row;

    if (LANE != 0)
        return;
    if (state->gradient_scale < 0) {
        state->loss_scale *= LOSS_SCALE_BACKOFF;
        state->good_updates = 0;
    } else if (++state->good_updates == k->interval) {
        float larger_scale = state->loss_scale * LOSS_SCALE_GROWTH;
        if (is_finite(larger_scale))
            state->loss_scale = larger_scale;
        state->good_updates = 0;
    }
}

/* The values of one update that all elements of a tensor share. */
struct adamw_factors {
    int skip;
    float gradient, shrink, rate, root;
};

KERNEL_INLINE struct adamw_factors adamw_prepare(const struct step_state *state, float decay)
{
    struct adamw_factors factors;

    factors.skip = state->gradient_scale < 0;
    factors.gradient = state->gradient_scale;
    factors.shrink = 1 - state->rate * decay;
    factors.rate = state->rate / state->correction1;
    factors.root = 1 / sqrtf(state->correction2);
    return factors;
}

/* In fp32 the master is the parameter: one write. */
KERNEL_INLINE void store_weights(real *parameter, float *master, struct spread at, struct pack w)
{
    store_spread_floats(master, at, w);
#ifndef REAL_F32
    store_spread(parameter, at, w);
#else
    (void)parameter;
#endif
}

KERNEL_INLINE struct pack next_momentum(struct pack m, struct pack g, float gradient_scale)
{
    EACH(j) m.v[j] = ADAMW_BETA1 * m.v[j] + (1 - ADAMW_BETA1) * (g.v[j] * gradient_scale);
    return m;
}

KERNEL_INLINE struct pack next_variance(struct pack v, struct pack g, float gradient_scale)
{
    EACH(j) {
        float scaled = g.v[j] * gradient_scale;
        v.v[j] = ADAMW_BETA2 * v.v[j] + (1 - ADAMW_BETA2) * (scaled * scaled);
    }
    return v;
}

/* PACK elements of a tensor, or of a chunk of one. */
KERNEL_INLINE void adamw_pack_update(const struct tensor_chunk *t, struct spread at,
                                     struct adamw_factors f)
{
    struct pack g = load_spread(t->gradient, at), w = load_spread_floats(t->master, at);
    struct pack m = next_momentum(load_spread_floats(t->m, at), g, f.gradient);
    struct pack v = next_variance(load_spread_floats(t->v, at), g, f.gradient);

    EACH(j) w.v[j] = w.v[j] * f.shrink - f.rate * m.v[j] / (sqrtf(v.v[j]) * f.root + ADAMW_EPSILON);
    store_spread_floats(t->m, at, m);
    store_spread_floats(t->v, at, v);
    store_weights(t->parameter, t->master, at, w);
}

KERNEL_SPREAD_WITH(adamw, k, at, struct adamw_factors, factors, adamw_prepare(k->state, k->decay))
{
    struct tensor_chunk tensor;

    tensor.parameter = k->parameter;
    tensor.gradient = k->gradient;
    tensor.master = k->master;
    tensor.m = k->m;
    tensor.v = k->v;
    if (!factors.skip)
        adamw_pack_update(&tensor, at, factors);
}

KERNEL_ROWS(adamw_multi, k, row)
{
    const struct tensor_chunk chunk = k->table[row];
    struct adamw_factors factors = adamw_prepare(k->state, chunk.decay);

    if (factors.skip)
        return;
    PACKS(c, chunk.count) {
        if (fills_warp(c, chunk.count))
            adamw_pack_update(&chunk, spread_far(c), factors);
        else
            adamw_pack_update(&chunk, spread_near(c), factors);
    }
}

KERNEL_SPREAD_WITH(adamw_decay, k, at, struct adamw_factors, factors,
                   adamw_prepare(k->state, k->decay))
{
    struct pack w = load_spread_floats(k->master, at);

    if (factors.skip)
        return;
    EACH(j) w.v[j] *= factors.shrink;
    store_spread_floats(k->master, at, w);
}

KERNEL_SPREAD_WITH(adamw_momentum, k, at, struct adamw_factors, factors, adamw_prepare(k->state, 0))
{
    if (factors.skip)
        return;
    store_spread_floats(k->m, at,
                        next_momentum(load_spread_floats(k->m, at), load_spread(k->gradient, at),
                                      factors.gradient));
}

KERNEL_SPREAD_WITH(adamw_variance, k, at, struct adamw_factors, factors, adamw_prepare(k->state, 0))
{
    if (factors.skip)
        return;
    store_spread_floats(k->v, at,
                        next_variance(load_spread_floats(k->v, at), load_spread(k->gradient, at),
                                      factors.gradient));
}

KERNEL_SPREAD(adamw_root, k, at)
{
    struct pack v = load_spread_floats(k->v, at);

    EACH(j) v.v[j] = sqrtf(v.v[j]);
    store_spread_floats(k->work, at, v);
}

KERNEL_SPREAD_WITH(adamw_denominator, k, at, struct adamw_factors, factors,
                   adamw_prepare(k->state, 0))
{
    struct pack work = load_spread_floats(k->work, at);

    EACH(j) work.v[j] = work.v[j] * factors.root + ADAMW_EPSILON;
    store_spread_floats(k->work, at, work);
}

KERNEL_SPREAD_WITH(adamw_update, k, at, struct adamw_factors, factors, adamw_prepare(k->state, 0))
{
    struct pack w = load_spread_floats(k->master, at), m = load_spread_floats(k->m, at);
    struct pack work = load_spread_floats(k->work, at);

    if (factors.skip)
        return;
    EACH(j) w.v[j] -= factors.rate * m.v[j] / work.v[j];
    store_weights(k->parameter, k->master, at, w);
}
