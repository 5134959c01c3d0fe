/* The work of attention between its products on the CPU device, on a block of scores that stays in
 * cache. It is built like the kernels, in their dialect, once per storage type; `real` is that
 * type. Rows of scores have room up to a multiple of ROW_MULTIPLE, whose contents do not matter.
 * Floats are in arrays without gaps. */
#pragma once

/* Scores of `rows` queries, `stride` elements apart, and `keys` keys, of which `length` count, 1 at
 * least. */
struct attention_rows {
    int rows, keys, length, stride;
    float scale;
};

/* The softmax so far of each row: the largest scaled score, the sum of exp(score - maximum), and
 * the sum of the values, [rows, width], weighted with these. */
struct attention_sums {
    float *maxima, *sums, *y;
    int width;
};

/* p = exp(scale * scores - maximum), 0 where a key does not count, and the sums, y's too, brought
 * to the new maximum; where `first`, these keys are the first. p may be scores. */
typedef void attention_softmax(const struct attention_rows *block, void *p,
                               const struct attention_sums *so_far, const float *scores, int first);
attention_softmax attention_softmax_f32, attention_softmax_bf16, attention_softmax_f16;

/* p = exp(scale * scores - lse) and ds = scale * p * (dp - delta), 0 where a key does not count. p
 * may be scores, ds may be dp. */
typedef void attention_gradient(const struct attention_rows *block, void *p, void *ds,
                                const float *scores, const float *dp, const float *lse,
                                const float *delta);
attention_gradient attention_gradient_f32, attention_gradient_bf16, attention_gradient_f16;

/* y of `rows` queries, `stride` elements apart, and lse = log(sum of exp(scale * scores)). */
typedef void attention_finish(void *y, float *lse, const struct attention_sums *sums, int rows,
                              long stride);
attention_finish attention_finish_f32, attention_finish_bf16, attention_finish_f16;

/* delta = sum(y * dy) of each of `rows` rows of `width` elements, `stride` apart. */
typedef void attention_delta(float *delta, const void *y, const void *dy, int rows, int width,
                             long stride);
attention_delta attention_delta_f32, attention_delta_bf16, attention_delta_f16;

/* Narrows `rows` rows of `width` floats to rows of `real`, `stride` apart. */
typedef void attention_store(void *to, const float *from, int rows, int width, long stride);
attention_store attention_store_f32, attention_store_bf16, attention_store_f16;
