/* Checksums of what a training step computes, to tell whether two runs of the same steps gave the
 * same bits, and which tensor was the first that did not.
 *
 * A tensor is summed up on the device, right behind the pass that wrote it (kernels/checksum.h), so
 * nothing waits and little is copied: a word for each 32 KB. While sums are taken, tensors begin as
 * zeros, so that what a pass leaves unwritten (the end of a workspace, padding) is the same in
 * every run.
 *
 * The first run only finds out how many sums there are; the second is the reference for those that
 * follow. */
#pragma once

#include "harness/device/device.h"

#include <stdbool.h>
#include <stdint.h>

struct tensor;
struct tensor_sums;

enum status tensor_sums_open(struct tensor_sums **sums, struct stream *stream);

/* The stream's work must be done. NULL is allowed. */
void tensor_sums_close(struct tensor_sums *sums);

/* A run begins; a step of it has ended, and the sums that follow are of the next one. Nothing where
 * `sums` is NULL. */
enum status tensor_sums_begin(struct tensor_sums *sums);
void tensor_sums_step_end(struct tensor_sums *sums);

/* Queues the checksum of `tensor`, or of `bytes` of other device memory, aligned to 64 bytes. The
 * memory's name is `name`, then `suffix`; `after` is the pass that wrote it. All names must outlive
 * the sums. Nothing where `sums` is NULL. */
enum status tensor_sums_add(struct tensor_sums *sums, const char *after, bool backward,
                            const struct tensor *tensor);
enum status tensor_sums_add_memory(struct tensor_sums *sums, const char *after, const char *name,
                                   const char *suffix, const void *memory, size_t bytes);

/* The first difference of a run from the reference. */
struct tensor_difference {
    int step;        /* from 1 on; 0: there is no difference */
    char tensor[64]; /* "block0.qkv_weight.grad" */
    char after[64];  /* "block0.qkv_linear backward" */
};

/* Waits for the run to be done and compares it; the first two runs differ from nothing. */
enum status tensor_sums_compare(struct tensor_sums *sums, struct tensor_difference *difference);

/* Checksums of a run. */
int tensor_sums_count(const struct tensor_sums *sums);
