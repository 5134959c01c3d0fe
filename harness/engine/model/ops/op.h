/* Tensors and ops, the parts of a model.
 *
 * The model is an array of ops. An op has a forward and a backward pass, and each pass names the
 * tensors that it reads and writes: that is all the program (encoder.h) needs to know to allocate a
 * tensor before its first use and free it after its last. A pass that writes a tensor without
 * reading it defines it anew; one that does both changes it in place.
 *
 * Gradients of activations are tensors too. `gradient` of several tensors may be one and the same:
 * a residual connection hands its gradient on to both addends, so the whole residual stream has
 * one. */
#pragma once

#include "harness/device/device.h"
#include "harness/engine/memory/allocator.h"
#include "harness/engine/model/ops/tensor_sums.h"
#include "harness/recording/graph_spans.h"

struct tensor {
    char name[40];
    enum dtype dtype;
    enum allocator_category category;
    int64_t elements;
    int64_t width;           /* elements of a row; as many as `elements`: one row, a vector */
    bool persistent;         /* allocated for the whole run: parameters and their gradients */
    void *data;              /* device memory; NULL while there is none */
    struct tensor *gradient; /* same shape; NULL: none is wanted */
};

size_t tensor_bytes(const struct tensor *tensor);

/* The model's sizes, resolved. rows = samples * tokens. */
struct model_shape {
    int samples, tokens, width, blocks, heads, head_width;
    int rows;
    int scores_width;           /* tokens rounded up to ROW_MULTIPLE: a row of attention scores */
    int classes, classes_width; /* rounded up likewise */
    int hidden;                 /* of the MLP: 4 * width */
    int patch, image_size, patch_width; /* images: patch_width = 3 * patch^2 */
    int stored_size;                    /* images: side as they are copied; image_size is cut out */
    bool wide_pixels;                   /* images: floats, not bytes */
    int vocabulary;                     /* sequences */
    int column_chunk;                   /* rows of a partial column sum (op_build.h) */
    int column_bytes;                   /* of a row that one warp sums up; 0: all */
    enum dtype dtype;
    enum math math;
    bool strided_heads; /* attention reads qkv and writes its result where they are */
};

/* Told of each pass by its place in the program, before and after it is queued. */
struct pass_listener {
    enum status (*begins)(void *context, int entry); /* NULL: it need not know */
    enum status (*queued)(void *context, int entry);
    void *context;
};

enum { PASS_LISTENERS = 4 };

/* A second stream for work that nothing else of its pass needs. Once `forked`, recorded on the
 * pass's stream, has come it begins; the pass's stream goes on once `joined` has come. */
struct side_stream {
    struct stream *stream;
    struct event *forked, *joined;
};

/* The stream that a pass runs on, and its part of the input. */
struct op_context {
    struct stream *stream;
    const struct side_stream *side;          /* NULL: none */
    const struct side_stream *communication; /* for what goes to other ranks; NULL: none */
    const void *input;                       /* this micro-batch's images or token ids */
    const int32_t *labels;
    const int32_t *lengths; /* NULL: all sequences are full */
    const struct step_state *state;
    float *loss_ring;
    float loss_scale;          /* 1 / samples of the step */
    float gradient_scale;      /* 1 / samples of the update */
    int updates;               /* per step */
    bool later;                /* not the step's first micro-batch: the loss is added to */
    bool accumulate;           /* not the update's first one: gradients are added to */
    struct event *forward_end; /* recorded there; NULL: none */
    struct graph_spans *spans; /* of the graph that is captured; NULL: none is */
    struct tensor_sums *sums;  /* of all that passes write; NULL: none are taken */
    const struct pass_listener *listeners[PASS_LISTENERS]; /* NULL: none */
};

enum { PASS_READS = 8, PASS_WRITES = 7 };

struct mixture;
struct op;
typedef enum status op_run(const struct op *op, const struct op_context *context);

struct pass {
    op_run *run; /* NULL: nothing to do */
    struct tensor *reads[PASS_READS], *writes[PASS_WRITES];
    int64_t bytes; /* least traffic: every tensor read or written once */
    int64_t flops; /* multiplications and additions of the products */
};

struct op {
    char name[40]; /* "block0.qkv" */
    int block;     /* -1: outside the blocks */
    struct pass forward, backward;
    const struct model_shape *shape;
    int rows, in, out;       /* linear: [rows, in] x [in, out]; others: rows of `in` elements */
    int x_row;               /* linear: elements from one row of x to the next */
    void *host;              /* pinned memory for an op on the host; NULL: on the device */
    struct mixture *mixture; /* of experts; NULL: the op is of none */
    bool exchanges;          /* each pass only sends to other ranks, and receives from them */
    int64_t repeated_flops; /* of backward's, those of products that forward has computed already */
};

/* The ops, each filled from its tensors. A NULL tensor is one that the op does not use. Partial
 * sums of column gradients go through `partial`, fp32 [ceil(rows / column_chunk), 2 * width at
 * most]. */

/* y = x weight; weight is [in, out]. x_row is `in` unless rows of x are further apart. */
struct op op_linear(const struct model_shape *shape, struct tensor *y, struct tensor *x,
                    struct tensor *weight, int rows, int in, int out, int x_row);

/* Two changes to linear ops, by which products do in their epilogues (struct gemm) what other ops
 * would: y = x weight + bias, and its gradient with that of the weight; and gelu = gelu(y) between
 * two layers, the first of which has its bias, and gelu' with the gradient of what the second
 * reads. y, whose gradient is that of gelu, is then kept with the bias. */
void op_linear_bias(struct op *op, struct tensor *bias, struct tensor *partial);
void op_linear_gelu(struct op *before, struct tensor *gelu, struct op *after);

/* y = x, of which one is in fp64 and the other in the shape's type. */
struct op op_cast(const struct model_shape *shape, struct tensor *y, struct tensor *x);

/* x += bias, in place. Backward: the column sums of x's gradient. */
struct op op_bias(const struct model_shape *shape, struct tensor *x, struct tensor *bias,
                  struct tensor *partial, int rows, int width);

/* y = gelu(x + bias), fused; or y = gelu(x) where bias is NULL. Where `host` is not NULL it is
 * pinned memory for as many bytes as x has, and forward is computed on the host, without bias. */
struct op op_gelu(const struct model_shape *shape, struct tensor *y, struct tensor *x,
                  struct tensor *bias, struct tensor *partial, void *host);

struct norm_tensors {
    struct tensor *y, *mean, *rstd; /* results; mean and rstd fp32 [rows] */
    struct tensor *weight, *bias;
    struct tensor *partial;
    struct tensor *scratch; /* unfused backward: dx before it is added to the stream; else NULL */
};

/* y = layernorm(x). Backward adds to the stream's gradient, or defines it where `first`. */
struct op op_layernorm(const struct model_shape *shape, const struct norm_tensors *norm,
                       struct tensor *x, bool first);

/* Fused: sum = x + branch (+ bias, where it is not NULL), y = layernorm(sum). */
struct op op_residual_layernorm(const struct model_shape *shape, const struct norm_tensors *norm,
                                struct tensor *sum, struct tensor *x, struct tensor *branch,
                                struct tensor *branch_bias);

/* sum = x + branch (+ bias, fused, where it is not NULL). */
struct op op_residual(const struct model_shape *shape, struct tensor *sum, struct tensor *x,
                      struct tensor *branch, struct tensor *branch_bias, struct tensor *partial);

/* q, k, v from qkv (+ bias, fused, where it is not NULL). */
struct op op_split_heads(const struct model_shape *shape, struct tensor *q, struct tensor *k,
                         struct tensor *v, struct tensor *qkv, struct tensor *bias,
                         struct tensor *partial);
struct op op_scores(const struct model_shape *shape, struct tensor *scores, struct tensor *q,
                    struct tensor *k);
struct op op_softmax(const struct model_shape *shape, struct tensor *scores); /* in place */
struct op op_weighted_values(const struct model_shape *shape, struct tensor *y,
                             struct tensor *scores, struct tensor *v);
/* The three above as one: y = softmax(q k') v, which keeps only lse, fp32 [samples, heads, tokens].
 * With `library` the device's library computes it and `scratch` is the workspace that its plan for
 * attention_shape() asks for; else our kernels do and scratch has lse's shape. */
struct op op_fused_attention(const struct model_shape *shape, struct tensor *y, struct tensor *lse,
                             struct tensor *q, struct tensor *k, struct tensor *v,
                             struct tensor *scratch, bool library);
/* The same by the library, with q, k and v as parts of qkv, and y a row per token, nothing
 * copied. */
struct op op_strided_attention(const struct model_shape *shape, struct tensor *y,
                               struct tensor *lse, struct tensor *qkv, struct tensor *scratch);
struct attention_shape attention_shape(const struct model_shape *shape, bool lengths);
struct op op_merge_heads(const struct model_shape *shape, struct tensor *y, struct tensor *x);

struct op op_image_patches(const struct model_shape *shape, struct tensor *patches);
struct op op_patch_embedding(const struct model_shape *shape, struct tensor *y, struct tensor *x,
                             struct tensor *bias, struct tensor *positions, struct tensor *partial);
struct op op_token_embedding(const struct model_shape *shape, struct tensor *y,
                             struct tensor *table, struct tensor *positions);

/* The mean cross-entropy of a micro-batch goes to the loss ring; backward starts here. If `rows` is
 * not NULL, backward takes the samples with at least the mean loss: `rows` has a number for each,
 * and behind them how many these are. If `kept` is not NULL it is pinned memory into which the host
 * reads that, and backward is launched for so many. */
struct op op_loss(const struct model_shape *shape, struct tensor *losses, struct tensor *logits,
                  struct tensor *rows, void *kept);

/* right[sample] += 1 if its largest logit is that of its label. */
struct op op_accuracy(const struct model_shape *shape, struct tensor *right, struct tensor *logits);

/* A mixture of experts in place of a block's MLP (op_experts.c). */

/* Tokens that ranks had to compute, summed up over mixtures and forward passes: those of the rank
 * that had most, and those of all ranks. The same on every rank. */
struct expert_tokens {
    int64_t busiest, all;
};

/* Tensors [tokens, width] but for those with other shapes. Nothing of the other ranks' experts is
 * here. */
struct expert_tensors {
    struct tensor *x, *y;
    struct tensor *router; /* [width, columns], columns: experts rounded up to ROW_MULTIPLE */
    struct tensor *bias;   /* fp32 [columns], of the choice alone */
    struct tensor *logits; /* [tokens, columns] */
    struct tensor *routes; /* int32 [2, tokens]: each token's expert, and its row in `sent` */
    struct tensor *gate;   /* fp32 [tokens] */
    /* fp32 [ranks, experts], rounded up: tokens of each rank for each expert */
    struct tensor *counts;
    struct tensor *sent, *returned;
    struct tensor *received, *computed;         /* [tokens of this rank's experts, width] */
    struct tensor *expanded, *gelu;             /* [the same, hidden] */
    struct tensor *expand_weight, *expand_bias; /* [experts here, width, hidden], [.., hidden] */
    struct tensor *contract_weight, *contract_bias; /* [experts here, hidden, width], [.., width] */
    struct tensor *partial;
};

struct mixture;

/* `experts` on `ranks` ranks in all. The numbers of tokens are added to `tokens`. With `balances`,
 * the bias of the choice is changed after each backward: up where an expert has had fewer tokens
 * than the mean. */
struct mixture_options {
    int experts, rank, ranks;
    bool balances;
    struct expert_tokens *tokens;
};

enum status mixture_open(struct mixture **mixture, struct device *device,
                         const struct model_shape *shape, const struct mixture_options *options);
void mixture_close(struct mixture *mixture); /* NULL is allowed */

/* Its ops on these tensors, in order, each with its name. Shape and tensors must outlive the
 * mixture. */
enum { MIXTURE_OPS = 5 };
void mixture_build(struct mixture *mixture, const struct expert_tensors *tensors,
                   struct op ops[MIXTURE_OPS]);
