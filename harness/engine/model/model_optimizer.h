/* AdamW over all parameters, in three forms, with clipping by the gradient's norm.
 *
 * An update is: optimizer_begin() before forward (the step counter, rate and corrections on the
 * device), then optimizer_update() after backward (the norm, then the weights, in fp16 then the
 * loss scale). Both only queue, unless the settings have the host read the norm or the overflow.
 *
 * If the ranks share the update, each has a piece of every parameter, maybe none, with the state of
 * that piece alone (Rajbhandari et al.: "ZeRO", 2020, stage 1). The norm's partial sums are those
 * of whole chunks, and every rank gets all of them, so that norm and update have the same bits as
 * without pieces. So it is if parameters are elsewhere: the norm is that of all of them, each
 * counted once (encoder.h). */
#pragma once

#include "harness/engine/memory/allocator.h"

struct optimizer;
struct parameter; /* encoder.h */
struct tensor_sums;

/* Elements that a row of the multi-tensor kernels updates. A piece begins at a multiple of it, and
 * ends at one or with its parameter. */
enum { OPTIMIZER_CHUNK = 2048 };

/* Elements of a parameter. */
struct optimizer_piece {
    int64_t first, count;
    float *values; /* device memory; NULL: in the parameter */
};

/* Allocates the moments and sets them and the step's state, queued on `stream`. `pieces` [count]
 * are this rank's, of OPTIMIZER_MULTI_TENSOR only; NULL: it updates everything that is here.
 * `parameters` and `pieces` must outlive the optimizer. */
enum status optimizer_open(struct optimizer **optimizer, const struct optimizer_config *config,
                           const struct parameter *parameters, int count,
                           const struct optimizer_piece *pieces, struct allocator *allocator,
                           struct stream *stream);

/* Frees everything; the stream's work must be done. NULL is allowed. */
void optimizer_close(struct optimizer *optimizer);

/* Running means of a parameter's gradient and of its square: fp32 device memory, as many as
 * elements of the piece; NULL where that is empty. */
struct moments {
    float *m, *v;
};
struct moments optimizer_moments(const struct optimizer *optimizer, int parameter);

/* The bytes of all moments, and of masters that are not the parameters themselves. */
int64_t optimizer_state_bytes(const struct optimizer *optimizer);

/* In device memory, at the same address until close. */
struct step_state *optimizer_state(const struct optimizer *optimizer);

enum status optimizer_begin(struct optimizer *optimizer);
enum status optimizer_update(struct optimizer *optimizer);

/* Checksums of the step's state; of parameters, masters and moments, which `after` wrote; of all
 * that an update writes. Nothing where `sums` is NULL. */
enum status optimizer_sum_state(const struct optimizer *optimizer, struct tensor_sums *sums);
enum status optimizer_sum_parameters(const struct optimizer *optimizer, const char *after,
                                     struct tensor_sums *sums);
enum status optimizer_sum_update(const struct optimizer *optimizer, struct tensor_sums *sums);

/* Updates skipped so far because a gradient was not finite. Waits for the stream's work. */
enum status optimizer_skipped(struct optimizer *optimizer, int64_t *updates);
