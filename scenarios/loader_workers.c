/* Loading the data in the training loop.
 *
 * With no worker the loop itself reads and decodes each batch, and the loss that it reads after every
 * step has drained the queue by then: while the host decodes, the device has nothing to do. Workers
 * decode the next batches while this one is trained on, so the step costs the larger of the two
 * instead of both. On a machine whose device shares the host's cores they compete for them, and less
 * is won. */
#include "scenarios/scenario.h"

const struct scenario scenario_loader_workers = {
    .name = "loader_workers",
    .title = "Loading the data in the training loop",
    .symptom = "the device is idle while the next batch is read and decoded",
    .cause = "no loader worker: the thread that queues the device's work decodes the images too",
    .fix = "load in workers, one per core, that run ahead of the loop",
    .look = "a long data phase before each forward, with an idle device under it",
    .base = "model=balanced input=decoded loss_every=1 launch=graph",
    .knob = "workers",
    .before = "0",
    .after = "cores",
    .balance = { BALANCE_DEVICE_OVER_HOST, 0.35, 0.7 },
    .loss = LOSS_IDENTICAL,
    .expect =
        {
            /* Forty quick runs on two cores of a Xeon: 1.59 to 1.85, and once 1.38, while its host took a
             * third of them. */
            { METRIC_SAMPLES_PER_SECOND, GROWS, .at_least = 1.2, .where = WHERE_CPU_DEVICE },
            { METRIC_SAMPLES_PER_SECOND, GROWS, .at_least = 1.5, .where = WHERE_CUDA },
            { METRIC_DATA_WAIT, SHRINKS, .at_least = 2 },
            { METRIC_DATA_WAIT_SHARE, SHRINKS, .where = WHERE_FOUR_CORES, .before_above = 0.5,
              .after_below = 0.15 },
        },
    .accept = { { "data_loading", ANYWHERE } },
    /* The loss is read on every step in both variants. A device that takes the workers' cores makes a
     * batch late now and then. */
    .tolerated_after = { { "host_sync", ANYWHERE }, { "data_jitter", WHERE_CPU_DEVICE } },
};
