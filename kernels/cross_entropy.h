/* Cross-entropy of the softmax of logits against class labels, and the ring that carries the loss
 * to the log.
 *
 * A row is a sample; `width` is `classes` rounded up to ROW_MULTIPLE, and columns from `classes` on
 * do not count (they may hold anything, NaN too). */
#pragma once

struct step_state; /* optimizer.h */

/* loss = log(sum(exp(logits))) - logits[label]. */
struct cross_entropy_forward {
    float *loss;           /* [rows] */
    const real *logits;    /* [rows, width] */
    const int32_t *labels; /* [rows], 0 .. classes - 1 */
    int width, classes;
};

/* rows[0 .. *kept - 1] are those whose loss is at least the mean of all, in order; the rest are
 * -1. */
struct hard_rows {
    int32_t *rows;     /* [count] */
    int32_t *kept;     /* [1] */
    const float *loss; /* [count], one per row of the launch */
    int count;
    int width; /* ROW_MULTIPLE */
};

/* dlogits = (softmax(logits) - onehot(label)) * scale * state->loss_scale; 0 from `classes` on. If
 * `rows` is not NULL, row i of the launch is row rows[i] of the tensors, and nothing if that is
 * negative. */
struct cross_entropy_backward {
    real *dlogits;         /* [rows, width] */
    const real *logits;    /* [rows, width] */
    const int32_t *labels; /* [rows] */
    const int32_t *rows;   /* [rows] */
    const struct step_state *state;
    float scale; /* 1 / samples of the whole update: the gradient of the mean */
    int width, classes;
};

/* ring[step % ring_length], where step = state->step / updates, (+)= scale * sum(loss[0 .. count -
 * 1]). Launched with one row. */
struct loss_mean {
    float *ring;       /* [ring_length] */
    const float *loss; /* [count] */
    const struct step_state *state;
    float scale;
    int count, ring_length;
    int accumulate; /* a later micro-batch of the same step: add */
    int updates;    /* of the weights per step, at least 1: state->step counts them */
    int width;      /* ROW_MULTIPLE */
};

/* right[row] += 1 if the largest logit of the row is that of its label; of equal ones the first is
 * the largest. */
struct count_right {
    float *right;          /* [rows], counts: exact up to 2^24 */
    const real *logits;    /* [rows, width] */
    const int32_t *labels; /* [rows] */
    int width, classes;
};
