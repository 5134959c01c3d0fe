/* Reading the loss back on every step.
 *
 * The loss lives on the device. Reading it makes the host wait for everything queued so far, and by
 * the time the host queues the next step the device has gone idle. Nothing is slow, yet both wait:
 * the step costs host and device work added up, where it could cost the larger of the two. */
#include "scenarios/scenario.h"

const struct scenario scenario_item_sync = {
    .name = "item_sync",
    .title = "Reading the loss on every step",
    .symptom = "the device is idle for a moment after every step",
    .cause = "a blocking read of the loss drains the queue",
    .fix = "read it every 20 steps, or copy it aside and read it later",
    .look = "a blocking copy of 4 bytes at the end of each step, then a gap",
    .base = "model=balanced input=decoded workers=0 launch=graph",
    .knob = "loss_every",
    .before = "1",
    .after = "20",
    .balance = { BALANCE_HOST_OVER_DEVICE, 0.55, 0.85 },
    .loss = LOSS_IDENTICAL,
    .expect =
        {
            { METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 10 },
            /* Quick runs on two cores: of an EPYC 1.41 to 1.72, of a Xeon 1.28 to 1.70. */
            { METRIC_STEP_TIME, SHRINKS, .at_least = 1.15 },
        },
    .accept = { { "host_sync", ANYWHERE } },
    /* The loop still loads its data itself, only hidden behind the device's work. */
    .tolerated_after = { { "data_loading", ANYWHERE } },
};
