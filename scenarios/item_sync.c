/* Reading the loss back on every step.
 *
 * The loss lives on the device. Reading it makes the host wait for everything queued so far, and by
 * the time the host queues the next step the device has gone idle. Nothing is slow, yet both wait:
 * the step costs host and device work added up, where it could cost the larger of the two. */
#include "scenarios/scenario.h"

const struct scenario scenario_item_sync = {
    .name = "item_sync",
    .title = "Reading the loss on every step",
    .also = "item(), loss.item(), synchronisation point, implicit synchronisation, device "
            "synchronization, GPU-CPU synchronization, cudaStreamSynchronize, "
            "cudaDeviceSynchronize, isnan",
    .group = GROUP_SYNCS,
    .symptom = "the device is idle for a moment after every step",
    .cause = "a blocking read of the loss (loss.item(), print(loss)) drains the queue",
    .fix = "read the loss every 20 steps, or copy it asynchronously and read it later",
    .look = "a blocking copy of 4 bytes at the end of each step, followed by a gap",
    .cost = "the loss is seen some steps later; gains nothing where host and device do not work "
            "at the same time anyway",
    .pytorch = {
        .before = "for step, (inputs, labels) in enumerate(loader):\n"
                  "    loss = train_step(inputs, labels)\n"
                  "    print(step, loss.item())\n",
        .after = "for step, (inputs, labels) in enumerate(loader):\n"
                 "    loss = train_step(inputs, labels)\n"
                 "    if step % 20 == 0:\n"
                 "        print(step, loss.item())\n",
    },
    .base = "model=balanced input=decoded workers=0 launch=graph",
    .knob = "loss_every",
    .before = "1",
    .after = "20",
    .needs = WHERE_TWO_CORES, /* one core cannot load while it computes */
    .balance = { BALANCE_HOST_OVER_DEVICE, 0.55, 0.85 },
    .loss = LOSS_IDENTICAL,
    .expect = {
        { METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 10 },
        /* Quick runs on two cores: 1.41 to 1.72 on an EPYC, 1.28 to 1.70 on a Xeon. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.15 },
    },
    .accept = { { "host_sync", ANYWHERE } },
    /* The loop still loads its data itself; now the device's work hides that. */
    .tolerated_after = { { "data_loading", ANYWHERE } },
};
