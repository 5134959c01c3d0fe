/* Computing the accuracy on the host, in every step.
 *
 * The logits are on the device. A metric of a library for the host needs them there: in every step
 * they are copied, with the labels, and the copy waits for all work that is queued. The device can
 * count by itself, into a sum that is read once, when the epoch is over. */
#include "scenarios/scenario.h"

const struct scenario scenario_host_metrics = {
    .name = "host_metrics",
    .title = "Computing the accuracy on the host, in every step",
    .also = "accuracy, metrics, torchmetrics",
    .group = GROUP_SYNCS,
    .symptom = "the device is idle for a moment after every step",
    .cause = "the accuracy is computed on the host (sklearn, NumPy), from logits copied in every "
             "step",
    .fix = "count on the device, add up there, and read the sum at the end of the epoch",
    .look = "blocking copies of the logits and the labels at the end of each step, followed by a "
            "gap",
    .cost = "none for what can be counted; a metric that needs all logits (AUC) needs their "
            "memory; gains nothing where the host has no work that could overlap",
    .pytorch = {
        .before = "right = 0\n"
                  "for inputs, labels in loader:\n"
                  "    logits = model(inputs)\n"
                  "    loss_fn(logits, labels).backward()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n"
                  "    guesses = logits.detach().cpu().argmax(1)  # waits\n"
                  "    right += (guesses == labels.cpu()).sum().item()\n",
        .after = "right = torch.zeros((), dtype=torch.long, device=device)\n"
                 "for inputs, labels in loader:\n"
                 "    logits = model(inputs)\n"
                 "    loss_fn(logits, labels).backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n"
                 "    guesses = logits.detach().argmax(1)\n"
                 "    right += (guesses == labels.to(device)).sum()\n"
                 "right = right.item()  # waits once\n",
    },
    .base = "model=balanced input=decoded workers=0 launch=eager",
    .knob = "accuracy",
    .before = "host",
    .after = "device",
    .is_other_work = true,
    .needs = WHERE_TWO_CORES, /* one core cannot load while it computes */
    .balance = { BALANCE_HOST_OVER_DEVICE, 0.55, 0.85 },
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 2.05 per step, then the 0.05 of reading the loss. */
        { METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 30 },
        /* Logits and labels, then every 20th step the loss, 4 bytes. */
        { METRIC_D2H_BYTES_PER_STEP, SHRINKS, .at_least = 1000 },
        /* As item_sync and host_clipping, which drain the queue as often. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.1 },
    },
    .accept = { { "host_sync", ANYWHERE }, { "host_round_trip", ANYWHERE } },
    /* The loop still loads its data and launches kernel by kernel; the device's work hides most of
     * it. Copies and compute share the host's cores. */
    .tolerated_after = { { "data_loading", ANYWHERE },
                         { "launch_bound", ANYWHERE },
                         { "device_wait", WHERE_CPU_DEVICE } },
};
