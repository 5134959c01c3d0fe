/* The encoder: a transformer, built as an array of ops over its tensors.
 *
 * Pre-norm blocks (Xiong et al.: "On layer normalization in the transformer architecture", 2020) on
 * patches of images (Dosovitskiy et al.: "An image is worth 16x16 words", 2021) or on token
 * embeddings; attention looks both ways; the class token's last state goes to the classifier.
 *
 * A rank may have a part of the blocks only, the first one with the embedding and the last one with
 * the classifier. It describes the whole model, and has memory and passes of its part. */
#pragma once

#include "harness/engine/model/program.h"
#include "harness/engine/settings/config.h"

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

/* The same model for samples of as many `tokens` or fewer: it has ops, activations and programs of
 * its own, and the parameters of `longer`, which must outlive it. `config` and `stream` are those
 * that `longer` was opened with. */
enum status encoder_open_shorter(struct encoder **encoder, const struct encoder *longer,
                                 const struct training_config *config, int tokens,
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
