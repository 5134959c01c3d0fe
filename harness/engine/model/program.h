/* The program: the order in which the ops' passes run, with every tensor's life.
 *
 * Forward comes first, then backward in reverse. With checkpointing the blocks are divided into
 * segments, and the forward of each segment runs again before its backward, without the passes
 * whose results are not read any more: only the inputs of the segments are kept from forward to
 * backward. A tensor is allocated before the pass that defines it and freed after the last pass
 * that uses that definition; both follow from what the passes read and write. A captured graph is
 * one run of a program. */
#pragma once

#include "harness/engine/model/ops/op.h"
#include "harness/recording/buffer.h"

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
