/* AdamW (Loshchilov, Hutter: "Decoupled weight decay regularization", 2019) with fp32 master
 * weights and clipping by the gradient's norm, in three forms: six kernels per tensor, one per
 * tensor, and one for all tensors.
 *
 *   g  = gradient * state->gradient_scale
 *   m  = beta1 m + (1 - beta1) g             v = beta2 v + (1 - beta2) g^2
 *   w  = w (1 - rate decay) - rate (m / correction1) / (sqrt(v / correction2) + epsilon)
 *
 * with correction_i = 1 - beta_i^t. w is the fp32 master; the parameter is w narrowed to `real`.
 * For fp32 storage the master is the parameter: both pointers are equal and it is written once. */
#pragma once

#define ADAMW_BETA1   0.9f
#define ADAMW_BETA2   0.999f
#define ADAMW_EPSILON 1e-8f

/* The gradient_scale of an update whose gradients are not all finite. Any negative scale means: no
 * form of AdamW changes parameter, master, m or v. */
#define ADAMW_SKIP (-1.0f)

/* Values that change from step to step live in device memory at a fixed address, because a captured
 * graph freezes its arguments. Before the first step: step = -1, loss_scale = 1 or
 * LOSS_SCALE_FIRST, the rest 0. */
struct step_state {
    int32_t step;         /* of the update under way, from 0 */
    float rate;           /* learning rate of this update */
    float correction1;    /* 1 - beta1^t; t: updates that were not skipped, with this one */
    float correction2;    /* 1 - beta2^t */
    float gradient_norm;  /* before clipping, of this update */
    float gradient_scale; /* clipping, and 1 / loss_scale; ADAMW_SKIP: this update is skipped */
    float loss_scale;
    int32_t overflows;    /* updates skipped because a gradient was not finite */
    int32_t good_updates; /* since loss_scale was changed */
};

/* Dynamic loss scaling, for fp16: gradients below 2^-25 would be 0, so backward computes those of
 * the loss times loss_scale (Micikevicius et al.: "Mixed precision training", 2018). It is halved
 * when a gradient is not finite, and doubled after so many good updates in a row. These are the
 * defaults of torch.amp.GradScaler. */
#define LOSS_SCALE_FIRST   65536.0f
#define LOSS_SCALE_GROWTH  2.0f
#define LOSS_SCALE_BACKOFF 0.5f

/* The last kernel of an update in fp16. A loss_scale that would become infinite stays. Launched
 * with one row. */
struct loss_scale_update {
    struct step_state *state;
    int interval; /* good updates in a row after which the scale grows */
    int width;    /* ROW_MULTIPLE */
};

/* The first kernel of an update: step += 1, then rate and corrections for it. The rate rises
 * linearly over the first `warmup` updates: it is rate * min(1, (step + 1) / warmup). Launched with
 * one row. */
struct step_advance {
    struct step_state *state;
    float rate;
    int warmup;
    int width; /* ROW_MULTIPLE */
};

/* One tensor's squares: partial[row] = sum of x^2 over elements [row * width, (row + 1) * width),
 * as far as `count` goes. Launched with ceil(count / width) rows. */
struct square_sum {
    float *partial;
    const real *x; /* [count], a multiple of ROW_MULTIPLE */
    int64_t count;
    int width;
};

/* A piece of one tensor; the tables of the multi-tensor kernels are arrays of these. `count` is a
 * multiple of ROW_MULTIPLE and at most the kernel's width. */
struct tensor_chunk {
    real *parameter;
    const real *gradient;
    float *master, *m, *v;
    float decay;
    int32_t count;
};

/* The same for all tensors: partial[row] = sum of gradient^2 of chunk row. */
struct square_sum_multi {
    float *partial;
    const struct tensor_chunk *table; /* [rows], in device memory */
    int width;
};

/* gradient_norm = sqrt(sum of partial) / loss_scale; gradient_scale = min(1, max_norm /
 * (gradient_norm + 1e-6)) / loss_scale, or 1 / loss_scale if max_norm is 0. A norm that is not
 * finite skips the update: gradient_scale = ADAMW_SKIP, overflows += 1. Launched with one row. */
struct gradient_norm_finish {
    struct step_state *state;
    const float *partial; /* [count] */
    int count;
    float max_norm;
    int width; /* ROW_MULTIPLE */
};

/* One tensor, one kernel. */
struct adamw {
    real *parameter;
    const real *gradient;
    float *master, *m, *v;
    const struct step_state *state;
    float decay;
};

/* All tensors, one kernel: a row is a chunk. */
struct adamw_multi {
    const struct tensor_chunk *table; /* [rows], in device memory */
    const struct step_state *state;
    int width;
};

/* Six kernels per tensor, in this order. `work` is fp32 and as long as the tensor. */

struct adamw_decay { /* master *= 1 - rate * decay */
    float *master;
    const struct step_state *state;
    float decay;
};
struct adamw_momentum { /* m */
    float *m;
    const real *gradient;
    const struct step_state *state;
};
struct adamw_variance { /* v */
    float *v;
    const real *gradient;
    const struct step_state *state;
};
struct adamw_root { /* work = sqrt(v) */
    float *work;
    const float *v;
};
struct adamw_denominator { /* work = work / sqrt(correction2) + epsilon */
    float *work;
    const struct step_state *state;
};
struct adamw_update { /* master -= rate / correction1 * m / work; parameter = master */
    real *parameter;
    float *master;
    const float *m, *work;
    const struct step_state *state;
};
