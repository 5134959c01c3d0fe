/* Loading the data in the training loop.
 *
 * Without workers the loop itself reads and decodes each batch. It also reads the loss after every
 * step, which drains the queue, so the device has nothing to do while the host decodes. Workers
 * decode the next batches while this one is trained on: the step then costs the larger of the two
 * instead of both. Where the device shares the host's cores, workers and device compete for them,
 * and the gain is smaller. */
#include "scenarios/scenario.h"

const struct scenario scenario_loader_workers = {
    .name = "loader_workers",
    .title = "Loading the data in the training loop",
    .also = "num_workers, DataLoader workers, data loading bottleneck, input pipeline, "
            "input-bound, DataLoader, asynchronous data loading, data augmentation, JPEG "
            "decoding, DALI",
    .group = GROUP_DATA,
    .symptom = "the device is idle while the next batch is read and decoded",
    .cause = "no loader worker: the thread that queues the device's work decodes the images too",
    .fix = "load in workers that run ahead of the loop, one per core (DataLoader(num_workers=...))",
    .look = "a long data phase before each forward, while the device is idle",
    .cost = "cores and host memory for the workers; gains nothing where loading is already faster "
            "than the device",
    .pytorch = {
        .before = "loader = DataLoader(dataset, batch_size=8)\n"
                  "for inputs, labels in loader:\n"
                  "    train_step(inputs, labels)\n",
        .after = "cores = len(os.sched_getaffinity(0))\n"
                 "loader = DataLoader(dataset, batch_size=8,\n"
                 "                    num_workers=cores)\n"
                 "for inputs, labels in loader:\n"
                 "    train_step(inputs, labels)\n",
    },
    .base = "model=balanced input=decoded loss_every=1 launch=graph",
    .knob = "workers",
    .before = "0",
    .after = "cores",
    .needs = WHERE_TWO_CORES, /* one core cannot load while it computes */
    .balance = { BALANCE_DEVICE_OVER_HOST, 0.35, 0.7 },
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Forty quick runs on two cores of a Xeon: 1.59 to 1.85, and once 1.38, while the virtual
         * machine's host took a third of the cores. */
        { METRIC_SAMPLES_PER_SECOND, GROWS, .at_least = 1.2, .where = WHERE_CPU_DEVICE },
        { METRIC_SAMPLES_PER_SECOND, GROWS, .at_least = 1.5, .where = WHERE_CUDA },
        { METRIC_DATA_WAIT, SHRINKS, .at_least = 2 },
        { METRIC_DATA_WAIT_SHARE, SHRINKS, .where = WHERE_FOUR_CORES, .before_above = 0.5,
          .after_below = 0.15 },
    },
    .accept = { { "data_loading", ANYWHERE } },
    /* Both variants read the loss on every step. A device that shares the workers' cores makes a
     * batch late now and then. */
    .tolerated_after = { { "host_sync", ANYWHERE }, { "data_jitter", WHERE_CPU_DEVICE } },
};
