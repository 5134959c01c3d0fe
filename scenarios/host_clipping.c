/* Deciding on the host whether to clip the gradients.
 *
 * `if norm > max_norm` on the host needs the norm, which is the last thing that backward computes:
 * the host waits until the device has done all of its work, and only then queues the update and the
 * next step. The device can decide by itself: it scales the gradients by min(1, max_norm / norm),
 * whatever the norm is. */
#include "scenarios/scenario.h"

const struct scenario scenario_host_clipping = {
    .name = "host_clipping",
    .title = "Deciding on the host whether to clip the gradients",
    .also = "gradient clipping, clip_grad_norm_, error_if_nonfinite",
    .group = GROUP_SYNCS,
    .symptom = "the device is idle for a moment before every update",
    .cause = "the host reads the gradients' norm (if norm > max_norm), which drains the queue",
    .fix = "scale by min(1, max_norm / norm) on the device, as clip_grad_norm_ does; log the norm "
           "seldom",
    .look = "a blocking copy of 4 bytes early in the optimizer phase, followed by a gap",
    .cost = "none; gains nothing where the host has no work that could overlap",
    .pytorch = {
        .before = "from torch.nn.utils import clip_grad_norm_\n"
                  "\n"
                  "def norm():\n"
                  "    grads = [p.grad for p in model.parameters()]\n"
                  "    return torch.linalg.vector_norm(torch.stack(\n"
                  "        [torch.linalg.vector_norm(g) for g in grads]))\n"
                  "\n"
                  "for inputs, labels in loader:\n"
                  "    loss_fn(model(inputs), labels).backward()\n"
                  "    if norm().item() > 1.0:  # waits for the device\n"
                  "        clip_grad_norm_(model.parameters(), 1.0)\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "from torch.nn.utils import clip_grad_norm_\n"
                 "\n"
                 "for inputs, labels in loader:\n"
                 "    loss_fn(model(inputs), labels).backward()\n"
                 "    clip_grad_norm_(model.parameters(), 1.0)\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=balanced input=decoded workers=0 launch=eager",
    .knob = "clipping",
    .before = "host",
    .after = "device",
    .needs = WHERE_TWO_CORES, /* one core cannot load while it computes */
    .balance = { BALANCE_HOST_OVER_DEVICE, 0.55, 0.95 },
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 1.05 per step, then the 0.05 of reading the loss. */
        { METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 20 },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.1 },
    },
    .accept = { { "host_sync", ANYWHERE } },
    /* The loop still loads its data and launches kernel by kernel; the device's work hides most of
     * it. */
    .tolerated_after = { { "data_loading", ANYWHERE }, { "launch_bound", ANYWHERE } },
};
