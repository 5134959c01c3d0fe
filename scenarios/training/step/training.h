/* The training step that all scenarios vary: loader, transfer, model, optimizer, logging.
 *
 * One object is one training run on one device: parameters from the seed, samples in seed order. A
 * step is: data (next batch), h2d (to the device), forward and backward (as often as micro-batches),
 * optimizer, log. Each is a phase by that name. Nothing waits for the device but what the settings
 * make wait.
 *
 * With launch=graph the first two steps run eagerly, then forward, backward and optimizer are captured
 * once; results are the same bits as eager ones. */
#ifndef SCENARIOS_TRAINING_STEP_TRAINING_H
#define SCENARIOS_TRAINING_STEP_TRAINING_H

#include "harness/device/device.h"
#include "harness/trace/record/buffer.h"
#include "scenarios/training/settings/config.h"
#include "scenarios/training/step/metric.h"

struct training;

/* What is counted while a window is timed. */
struct training_counts {
    int64_t launches; /* of kernels, and of graphs */
    int64_t synchronizations, copies, copy_bytes_h2d, device_allocations;
    int64_t wait_ns;       /* for the loader */
    int64_t submission_ns; /* queueing the device's work */
};

/* What a window of steps cost, which may be timed in several slices. */
struct training_window {
    int64_t steps, samples;
    int64_t wall_ns; /* synchronised host clock around each slice */
    int64_t cpu_ns;  /* of the whole process meanwhile: on the CPU device the device's work too */
    struct training_counts counts;
    double metric[METRIC_COUNT]; /* NaN: not measured, as is the spread of a single step */
    int64_t step_count;          /* single steps measured: steps - 1 in every slice */
    double *step_ns; /* [step_count], differences of end-of-step device events; malloc'd */
};

/* `config` is resolved (knobs_resolve). Loads or generates the data, sets the parameters, starts the
 * workers. The device must outlive the training. */
enum status training_open(struct training **training, struct device *device,
                          const struct training_config *config);

/* Waits for the device, stops the workers, frees everything. NULL is allowed. */
void training_close(struct training *training);

/* Runs `steps` steps; on return their device work may still be queued. */
enum status training_run(struct training *training, int64_t steps);

/* Records steps, operators and memory in `trace` from now on; with NULL, as at first, no longer. The
 * trace must be recording already, on the device's own sink, with no work queued. Names stay the
 * training's: write the trace before closing it. OUT_OF_MEMORY. */
enum status training_trace(struct training *training, struct trace *trace);

/* Takes the next step's batch from the loader now, unless it is at hand already. */
enum status training_fetch(struct training *training);

/* Waits for all queued work, runs and times `steps` steps and adds them to `window`, which is all 0 before
 * its first ones. If the first step's batch is at hand, the window ends with the batch after the last one
 * at hand: as many are loaded as trained on, and none while the device has nothing to do that would have
 * something in a longer window. Release the window when done with it; after a failure it is. */
enum status training_window(struct training *training, int64_t steps,
                            struct training_window *window);

/* Waits for all queued work and lets loader workers rest until the next step is run: then the process
 * does nothing on this training's behalf. */
enum status training_pause(struct training *training);
void training_window_release(struct training_window *window);

/* The losses of steps first .. first + count - 1, which must be among the last LOSS_RING run. Waits
 * for the device. */
enum status training_losses(struct training *training, int64_t first, int count, float *losses);
int64_t training_steps_done(const struct training *training);

/* Share of held-out samples classified right, with the parameters as they are. Waits for the device. */
enum status training_evaluate(struct training *training, double *accuracy);

/* Host and device work of a step, each measured alone over `steps` steps: loading and queueing
 * without reading the loss, while the device has nothing else to do before; and device time from
 * start to end of a step whose input is there. The lower quartile of each: other processes only ever
 * add to it. */
enum status training_balance(struct training *training, int64_t steps, double *host_ns,
                             double *device_ns);

/* Samples left out because they could not be decoded, so far. */
int64_t training_damaged_samples(const struct training *training);

/* Steps after which everything that is not done in every step has come round, in all of `count`
 * configurations: the least common multiple of loss_every and the like. */
int64_t training_period(const struct training_config *configs, int count);

#endif
