/* The encoder: a transformer, built as an array of ops over its tensors.
 *
 * Pre-norm blocks (Xiong et al.: "On layer normalization in the transformer architecture", 2020) on
 * patches of images (Dosovitskiy et al.: "An image is worth 16x16 words", 2021) or on token
 * embeddings; attention looks both ways; the class token's last state goes to the classifier.
 *
 * A rank may have a part of the blocks only, the first one with the embedding and the last one with
 * the classifier. It describes the whole model, and has memory and passes of its part. */
#pragma once

#include "harness/engine/model/ops/op.h"
#include "harness/engine/settings/config.h"
#include "harness/recording/buffer.h"

/* The program: the order in which the ops' passes run, with every tensor's life.
 *
 * Forward comes first, then backward in reverse. With checkpointing the blocks are divided into
 * segments, and the forward of each segment runs again before its backward, without the passes
 * whose results are not read any more: only the inputs of the segments are kept from forward to
 * backward. A tensor is allocated before the pass that defines it and freed after the last pass
 * that uses that definition; both follow from what the passes read and write. A captured graph is
 * one run of a program. */
enum program_kind {
    PROGRAM_FORWARD, /* only the forward passes */
    PROGRAM_TRAIN,   /* forward and backward */
};

struct program;

/* `ops` and their tensors must outlive the program. `segment` is the number of blocks whose
 * activations are recomputed together, from the first block on; 0: all activations are kept. The
 * last segment may have fewer blocks, and is recomputed too. */
enum status program_build(struct program **program, enum program_kind kind, const struct op *ops,
                          int count, int segment);
void program_free(struct program *program);

/* Blocks of the allocator's that outlive the run that made them; all 0 at first. */
struct saved_blocks {
    void **items;
    int64_t count, room;
};

/* Queues all passes once, allocating and freeing as it goes. `keep` (may be NULL) is a tensor that
 * is left allocated for the caller to free. If `saved` is not NULL, what forward made and backward
 * read stays allocated too, and its blocks are added there. After an error only these two stay
 * allocated. */
enum status program_run(struct program *program, const struct op_context *context,
                        struct allocator *allocator, struct tensor *keep,
                        struct saved_blocks *saved);

/* The same of one half of the passes: forward, whose last use of a tensor comes with backward of
 * the same program, or backward, with what it recomputes. After an error in a half, what the other
 * one made may stay allocated until its tensors are. */
enum status program_run_half(struct program *program, bool backward,
                             const struct op_context *context, struct allocator *allocator,
                             struct saved_blocks *saved);

/* Frees the blocks, and forgets them. */
enum status saved_blocks_free(struct saved_blocks *saved, struct allocator *allocator);

/* Frees the list itself; the blocks are the allocator's. */
void saved_blocks_release(struct saved_blocks *saved);

/* Allocates and frees as a run does, without queueing anything: the same run then finds memory in
 * the allocator, and may be captured. */
enum status program_reserve(struct program *program, struct allocator *allocator);

/* Records a row for each pass queued from now on, with the shapes of what it reads. NULL, as at
 * first, records nothing. The program must live until the trace is written. OUT_OF_MEMORY. */
enum status program_trace(struct program *program, struct trace *trace);

/* For tests and `train`: the order of the passes. */
int program_length(const struct program *program);
struct program_entry {
    const struct op *op;
    bool backward, recomputed;
};
struct program_entry program_entry(const struct program *program, int index);

/* The last entry that writes the tensor; -1: none does. */
int program_last_write(const struct program *program, const struct tensor *tensor);

/* Sums over one run. */
int64_t program_bytes(const struct program *program);
int64_t program_flops(const struct program *program);

/* The same of the products that the model asks for, each once: without those of recomputed passes,
 * and without the scores that fused attention computes again in backward. */
int64_t program_model_flops(const struct program *program);

struct parameter {
    struct tensor *value; /* its gradient is value->gradient */
    float *master;        /* device memory, fp32; the value itself where that is fp32 */
    bool decays;          /* products' weights do; biases, norms, positions do not */
    bool elsewhere;  /* in a part of the model that is not this rank's: it has no memory here */
    bool is_experts; /* of one rank alone: its gradient there is whole */
    bool counted_elsewhere; /* in the norm of all gradients: another rank has it, too */
};

struct encoder {
    struct model_shape shape;
    struct allocator *allocator;
    struct op *ops;
    int op_count, logits_op; /* ops up to here give the logits */
    int first_op, end_op;    /* this rank's, up to before `end_op` */
    struct tensor *tensors;  /* never moved: ops point into it */
    int tensor_count;
    struct parameter *parameters; /* the longer encoder's, where that is not NULL */
    int parameter_count;
    const struct encoder *longer;
    struct tensor *logits; /* [samples, classes_width] */
    /* fp32 [samples], how often each was classified right; NULL: not counted */
    struct tensor *right;
    /* If the blocks are divided: what comes from the part before this one, and goes to the one
     * after; NULL: at the end of the model. Their gradients are `stream`, on both sides. */
    struct tensor *input, *output, *stream;
    struct program *train, *evaluate; /* of this part */
    struct device *device;
    struct mixture **mixtures;     /* [blocks]; NULL: blocks have an MLP each */
    struct tensor **router_biases; /* [blocks]; NULL as mixtures */
    struct expert_tokens routed;   /* in all; 0 without mixtures */
    void *host; /* pinned memory of ops on the host; NULL: all are on the device */
    void *kept; /* the same, int32, for the loss: how many samples backward takes; NULL: nobody asks
                 */
};

/* The sizes that follow from the settings and the data. */
struct model_shape encoder_shape(const struct training_config *config, int classes);

/* Builds the ops and programs, allocates parameters, masters and gradients, and sets the parameters
 * from the seed: uniform, with variance 1 / inputs for products (less for those that end a branch,
 * as GPT-2 does), deviation 0.02 for embeddings; norms 1; biases 0. Queued on `stream`. */
enum status encoder_open(struct encoder **encoder, const struct training_config *config,
                         int classes, struct allocator *allocator, struct stream *stream);

/* After the masters were changed: makes the parameters of them. Queued on `stream`. */
enum status encoder_narrow(const struct encoder *encoder, struct stream *stream);

/* The same model for so many `samples` of as many `tokens` or fewer: it has ops, activations and
 * programs of its own, and the parameters of `longer`, which must outlive it. `config` and `stream`
 * are those that `longer` was opened with. */
enum status encoder_open_shorter(struct encoder **encoder, const struct encoder *longer,
                                 const struct training_config *config, int samples, int tokens,
                                 struct stream *stream);

/* Frees everything that is its own; the stream's work must be done. NULL is allowed. */
void encoder_close(struct encoder *encoder);

int64_t encoder_parameters(const struct encoder *encoder); /* elements, those elsewhere included */

/* --- Between encoder.c and encoder_build.c --- */

/* How a parameter's first values are made: uniform with this deviation, or this constant. */
struct initial {
    float deviation, constant;
};

/* Builds an encoder whose shape is set. Its tensors have no memory yet. *initials has a row per
 * parameter and is to be freed, also after an error. OUT_OF_MEMORY; UNSUPPORTED: the device has no
 * such attention. */
enum status encoder_build(struct encoder *encoder, const struct training_config *config,
                          struct device *device, struct initial **initials);
