/* Every kernel's meaning in plain double precision: one loop nest per kernel, nothing clever,
 * written from the contracts in kernels/ alone. Shapes and names of the arguments are those of the
 * kernels' structs; `rows` is the count that the kernel is launched with, `count` a number of
 * elements. An optional tensor may be NULL as the kernel's may. */
#pragma once

#include "harness/base/random.h"

#include <stdbool.h>
#include <stdint.h>

/* attention */
void reference_split_heads_forward(double *q, double *k, double *v, const double *qkv,
                                   const double *bias, long rows, int width, int heads, int tokens);
void reference_split_heads_backward(double *dqkv, const double *dq, const double *dk,
                                    const double *dv, long rows, int width, int heads, int tokens);
void reference_merge_heads_forward(double *y, const double *x, long rows, int width, int heads,
                                   int tokens);
void reference_merge_heads_backward(double *dx, const double *dy, long rows, int width, int heads,
                                    int tokens);
/* lengths [samples] as doubles, or NULL. */
void reference_softmax_forward(double *y, const double *x, const double *lengths, double scale,
                               long rows, int width, int heads, int tokens);
void reference_softmax_backward(double *dx, const double *y, const double *dy,
                                const double *lengths, double scale, long rows, int width,
                                int heads, int tokens);

/* bias, residual, fill */
void reference_bias_add(double *y, const double *x, const double *bias, long rows, int width);
/* dbias [ceil(rows / chunk), width]; `rows` are dy's. */
void reference_bias_backward(double *dbias, const double *dy, int width, int rows, int chunk);
void reference_columns_finish(double *y, const double *partial, int width, int parts,
                              bool accumulate);
void reference_residual_add(double *y, const double *a, const double *b, long count);
void reference_bias_residual(double *y, const double *a, const double *b, const double *bias,
                             long rows, int width);

/* cross-entropy */
void reference_cross_entropy_forward(double *loss, const double *logits, const double *labels,
                                     long rows, int width, int classes);
void reference_cross_entropy_backward(double *dlogits, const double *logits, const double *labels,
                                      double scale, long rows, int width, int classes);
void reference_loss_mean(double *ring, const double *loss, int step, double scale, int count,
                         int ring_length, bool accumulate);

/* embedding */
void reference_token_embedding_forward(double *y, const double *ids, const double *table,
                                       const double *positions, long rows, int width, int tokens);
void reference_token_embedding_backward(double *dtable, const double *dy, const double *ids,
                                        long vocabulary, int width, int count, bool accumulate);
void reference_patch_embedding_forward(double *y, const double *x, const double *bias,
                                       const double *positions, int samples, int width, int tokens);
void reference_patch_embedding_backward(double *dx, const double *dy, int samples, int width,
                                        int tokens);
void reference_positions_backward(double *dpositions, const double *dy, int width, int tokens,
                                  int samples, bool accumulate);

/* image */
void reference_image_patches(double *patches, const double *images, int samples, int size,
                             int patch);

/* gelu; bias [width] may be NULL: the unfused kernels */
void reference_gelu_forward(double *y, const double *x, const double *bias, long rows, int width);
void reference_gelu_backward(double *dx, const double *dy, const double *x, const double *bias,
                             long rows, int width);

/* layernorm */
void reference_layernorm_forward(double *y, double *mean, double *rstd, const double *x,
                                 const double *weight, const double *bias, long rows, int width);
void reference_layernorm_backward(double *dx, const double *x, const double *dy,
                                  const double *weight, const double *mean, const double *rstd,
                                  long rows, int width);
void reference_layernorm_backward_weight(double *dweight, double *dbias, const double *x,
                                         const double *dy, const double *mean, const double *rstd,
                                         int width, int rows, int chunk);

/* optimizer: its state and one update of one tensor, in any of the three forms. */
struct reference_state {
    int step, overflows;
    double rate, correction1, correction2;
    double gradient_norm, gradient_scale, loss_scale;
};
void reference_step_advance(struct reference_state *state, double rate, int warmup);
double reference_square_sum(const double *x, long count);
/* A norm that is not finite counts an overflow, and the update is to be skipped. */
void reference_gradient_norm_finish(struct reference_state *state, double square_sum,
                                    double max_norm);
void reference_adamw(double *master, double *m, double *v, const double *gradient,
                     const struct reference_state *state, double decay, long count);

/* The largest difference between `gradient` and the slope of loss() in each direction of `input`,
 * by central differences at up to 64 random places, relative to the root mean square of `gradient`.
 * A backward reference passes where this is about 1e-8. */
double reference_slope_error(double *input, const double *gradient, long count,
                             double (*loss)(void *context), void *context, struct random *random);

/* sum(a * b): with dy for b it makes a loss of an output. */
double reference_dot(const double *a, const double *b, long count);
