/* A batch: one piece of host memory that one copy moves, and how far its samples are padded.
 *
 * Samples that one micro-batch computes together have the same number of rows. Shorter ones are
 * padded, and the device computes the padding as it does everything else. Four settings decide how
 * much of it there is (struct batching_config): `padding`, `pad_to_multiple_of` and
 * `group_by_length`, in the terms of Hugging Face's data collator and trainer, and fairseq's
 * `max_tokens`, by which a micro-batch takes as many samples as a number of tokens has room for. An
 * update has the same samples whatever they say, and attention never looks at padding, so that the
 * sums over an update are the same but for their order. */
#pragma once

#include "harness/engine/data/dataset.h"

/* Offsets are multiples of 256. With PADDING_LONGEST the inputs of a micro-batch begin where they
 * would without, but follow one another at their padded length. */
struct batch_layout {
    int samples;
    size_t sample_bytes;   /* of one sample's input, at most */
    bool wide_pixels;      /* an input is four times what a sample is loaded into */
    size_t labels_offset;  /* int32 [samples] */
    size_t lengths_offset; /* int32 [samples]; 0s for images */
    size_t bytes;          /* of the whole */
    int micro_samples;     /* of a micro-batch; PADDING_LONGEST only, as what follows */
    int tokens;            /* the most; 0: nothing is padded to less */
    int pad_to_multiple_of;
    int max_tokens; /* of a micro-batch, padding included; 0: each has micro_samples */
};
struct batch_layout batch_layout(const struct dataset *dataset,
                                 const struct batching_config *batching, int samples);

struct batch {
    void *memory; /* laid out as above; inputs at offset 0 */
    int64_t index;
};

/* int32 [samples], in a batch's memory. */
const int32_t *batch_lengths(const struct batch_layout *layout, const void *memory);

/* Tokens of a batch that carry data: the sum of its lengths. */
int64_t batch_tokens(const struct batch_layout *layout, const int32_t *lengths);

/* Samples of a batch that are computed together. */
struct batch_part {
    int first, samples;
    int tokens; /* that each is padded to; 0: all that the model takes */
};

/* The micro-batch that begins with sample `first` of a batch with these lengths; all samples from
 * there on if nothing is padded to less. */
struct batch_part batch_part(const struct batch_layout *layout, const int32_t *lengths, int first);

/* Puts a batch's samples in the order in which micro-batches take them, and says how long each
 * is. */
void batch_arrange(const struct batch_layout *layout, const struct batching_config *batching,
                   const struct dataset *dataset, uint32_t *samples, int32_t *lengths);

/* Makes of a sample that was loaded at `input` what the batch has there: of bytes floats, if these
 * are asked for. */
void batch_widen(const struct batch_layout *layout, void *input);

/* The offset of the input of sample `index`, which is of that part, in the batch. */
size_t batch_input_offset(const struct batch_layout *layout, const struct batch_part *part,
                          int index);
