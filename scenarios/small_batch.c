/* Feeding the device one sample at a time.
 *
 * An update of 64 samples can be run as 64 micro-batches of one, whose gradients add up, or as one
 * batch of 64: the same samples, the same update, the same loss. But a kernel on one sample is too
 * small to fill the device and hardly longer than its launch, and there are 64 times as many. */
#include "scenarios/scenario.h"

const struct scenario scenario_small_batch = {
    .name = "small_batch",
    .title = "Feeding the device one sample at a time",
    .symptom = "thousands of short kernels an update, and a device that is mostly idle or starting up",
    .cause = "micro-batches too small for the device: launches and start-up outweigh the work",
    .fix = "raise the micro-batch until memory is nearly full; accumulate only beyond that",
    .look = "the same short kernels over and over within one step",
    .base = "model=light batch=64 tokens=4 launch=eager loss_every=3",
    .knob = "accumulate",
    .before = "64",
    .after = "1",
    .loss = LOSS_ORDER,
    .expect =
        {
            /* Quick runs on two cores: of an EPYC 2.36 to 3.41, of a Xeon 1.88 to 2.96. */
            { METRIC_STEP_TIME, SHRINKS, .at_least = 1.6, .where = WHERE_CPU_DEVICE },
            { METRIC_STEP_TIME, SHRINKS, .at_least = 5, .where = WHERE_CUDA },
            { METRIC_LAUNCHES_PER_STEP, SHRINKS, .at_least = 10 },
        },
    .accept = { { "small_kernels", ANYWHERE }, { "launch_bound", ANYWHERE } },
};
