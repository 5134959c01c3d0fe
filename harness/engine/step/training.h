/* The training step that all scenarios vary: loader, transfer, model, optimizer, logging.
 *
 * One object is one training run on one device: parameters from the seed, samples in the seed's
 * order. A step is: data (the next batch), h2d (its copy to the device), forward and backward (once
 * per micro-batch), optimizer, and every so many steps log and save. Each is a phase of that name.
 * The host waits for the device only where the settings say so.
 *
 * With launch=graph the first two steps run eagerly; then forward, backward and optimizer are
 * captured once. Where samples are padded to different lengths, this holds for each of them, and
 * for each of the inputs that take turns (transfer.h). Results are the same bits as eager ones. */
#pragma once

#include "harness/device/device.h"
#include "harness/engine/data/dataset.h"
#include "harness/engine/settings/config.h"
#include "harness/engine/step/measuring/phase_times.h"
#include "harness/engine/step/metric.h"
#include "harness/recording/buffer.h"

#include <signal.h>

struct training;

/* Counted while a window is timed: a count's name, and how it is read of a `training`, from its
 * `loader`, its `device` and its `memory` (training_window.c). */
#define COUNTS(X)                                                                                  \
    X(workers_started, loader.threads_started)                                                     \
    X(late_batches, loader.late)           /* those that the loop had to wait for, or load */      \
    X(epoch_wait_ns, loader.epoch_wait_ns) /* for the first batch of each epoch */                 \
    X(wait_ns, loader.wait_ns)             /* for the loader */                                    \
    X(reads, loader.reads)                 /* of files, or of shards */                            \
    X(read_ns, loader.read_ns)                                                                     \
    X(launches, device.launches + device.graph_launches)                                           \
    X(captures, training->captures) /* of graphs */                                                \
    X(synchronizations, device.synchronizations)                                                   \
    X(copies, device.copies)                                                                       \
    X(copy_bytes_h2d, device.copy_bytes_h2d)                                                       \
    X(copy_bytes_d2h, device.copy_bytes_d2h)                                                       \
    X(copy_bytes_d2d, device.copy_bytes_d2d)                                                       \
    X(collectives, device.collectives)                                                             \
    X(collective_bytes, device.collective_bytes)                                                   \
    X(device_allocations, memory.device_allocations)                                               \
    X(host_allocations, device.host_allocations)                                                   \
    X(host_switches, usage.ru_nvcsw + usage.ru_nivcsw) /* getrusage(2) */                          \
    X(left_bytes, training->left_bytes)       /* device memory that steps left allocated */        \
    X(transfer_ns, training->transfer_ns)     /* copying batches */                                \
    X(submission_ns, training->submission_ns) /* queueing the device's work */                     \
    X(saves, training->saves)                 /* of the loop, not of a writer beside it */         \
    X(save_ns, training->save_ns)                                                                  \
    X(log_lines, training->log_lines) /* as saves, without reading the loss */                     \
    X(log_ns, training->log_ns)                                                                    \
    X(log_syncs, logging_is_queued(training->config.logging.log) ? 0 : training->log_lines)        \
    X(table_bytes, training->table_bytes) /* of the table of predictions */                        \
    X(reported_ns, training->reported_ns)                                                          \
    X(reported_steps, training->reported_steps)                                                    \
    X(tokens, training->tokens)                                                                    \
    X(padded_tokens, training->padded_tokens)                                                      \
    X(micro_batches, training->micro_batches_taken)                                                \
    X(model_flops, training->model_flops) /* of forward and backward, without recomputation */     \
    X(routed_tokens, training->encoder->routed.all) /* to experts of all ranks */                  \
    X(busiest_tokens, training->encoder->routed.busiest)                                           \
    X(right_samples, 0)   /* read by a copy, and with accuracy=host or device alone */             \
    X(skipped_updates, 0) /* the same, in fp16 alone */

struct training_counts {
#define COUNT_MEMBER(name, reading) int64_t name;
    COUNTS(COUNT_MEMBER)
#undef COUNT_MEMBER
};

/* The cost of a window of steps, which may be timed in several slices. */
struct training_window {
    int64_t steps, samples;
    int64_t wall_ns; /* synchronised host clock around each slice */
    int64_t cpu_ns;  /* of the whole process meanwhile: on the CPU device the device's work too */
    struct training_counts counts;
    double metric[METRIC_COUNT]; /* NaN: not measured, as is the spread of a single step */
    struct phase_ns phases;      /* sums of the last step of each slice that was not stopped */
    int64_t phase_count;         /* such steps */
    int64_t step_count;          /* single steps measured: steps - 1 in every slice */
    double *step_ns; /* [step_count], differences of end-of-step device events; malloc'd */
};

/* `config` is resolved (knobs_resolve). Loads or generates the data, sets the parameters or loads
 * the state to go on from, starts the workers. The device must outlive the training. */
enum status training_open(struct training **training, struct device *device,
                          const struct training_config *config);

/* Waits for the device, stops the workers, frees everything. NULL is allowed. */
void training_close(struct training *training);

/* Runs `steps` steps; on return their device work may still be queued. */
enum status training_run(struct training *training, int64_t steps);

/* From now on training_run() and training_window() end after the step that is under way once *stop
 * is not 0, and always run at least one; with several ranks, which would have to agree, after all
 * their steps. It must live as long as the training; NULL, as at first: never. */
void training_stop_on(struct training *training, const volatile sig_atomic_t *stop);

/* Records steps, operators and memory in `trace` from now on; NULL, as at first, records nothing.
 * The trace must already be recording, on the device's own sink, with no work queued. The trace
 * points to names that the training owns: write it before closing the training. OUT_OF_MEMORY. */
enum status training_trace(struct training *training, struct trace *trace);

/* Takes the next step's batch from the loader now, unless that is done already. */
enum status training_fetch(struct training *training);

/* Waits for all queued work, runs and times `steps` steps and adds them to `window`, which is all 0
 * at first. If the first step's batch has been fetched before, the batch after the last step is
 * fetched within the window: then as many batches are loaded as trained on, and loading overlaps
 * with the device's work as in a longer window. The clock stops after the writes of the window's
 * own saves, so a window pays for every save that it makes, and returns the error of a write that
 * failed. Release the window when done with it; after a failure it is released. */
enum status training_window(struct training *training, int64_t steps,
                            struct training_window *window);

/* Waits for all queued work and stops the loader's workers until the next step: meanwhile the
 * process does no work for this training. */
enum status training_pause(struct training *training);
void training_window_release(struct training_window *window);

/* The mean losses over all ranks of steps first .. first + count - 1, which must be among the last
 * LOSS_RING run. Waits for the device. */
enum status training_losses(struct training *training, int64_t first, int count, float *losses);
int64_t training_steps_done(const struct training *training);

/* Waits until the log is on the disk. Where it could not be written, it ended and the training went
 * on; this says why (IO). */
enum status training_log_status(struct training *training);

/* If a folder was named to save to: writes the state as it is now, unless it has just been saved,
 * and returns once it is on the disk. */
enum status training_save(struct training *training);

/* Share of held-out samples classified right, with the parameters as they are. Waits for the
 * device. */
enum status training_evaluate(struct training *training, double *accuracy);

/* Host and device work of a step, over `steps` steps in which one waits for the other, as with
 * loss_every=1. Host: loading and queueing, without reading the loss. Device: from when the input
 * is there to the end of the step. Both are medians: where a device has two speeds, the usual
 * one. */
enum status training_balance(struct training *training, int64_t steps, double *host_ns,
                             double *device_ns);

/* Samples left out because they could not be decoded, so far. */
int64_t training_damaged_samples(const struct training *training);

/* The part of its loader's time that reads files so far; 0: nothing was read. */
double training_reads_share(const struct training *training);

/* The files that they were of; the path is the training's. */
struct dataset_damage training_damage(const struct training *training);

/* Batches that its loader, on all ranks the first one's, has ready now; 0 without a loader, and
 * where the workers end with the epoch, which leaves none. */
enum status training_batches_ready(const struct training *training, int64_t *ready);

/* Steps after which everything that is not done in every step has come round, in all of `count`
 * configurations: the least common multiple of loss_every and the like, and of the steps of an
 * epoch if generated data are loaded by workers that end with it. */
int64_t training_period(const struct training_config *configs, int count);
