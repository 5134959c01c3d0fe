/* Launching work whose size the host must ask for.
 *
 * `losses[losses >= mean]` has as many elements as the condition is true for, and only the device
 * knows how many that are. So PyTorch waits for the device to have counted them, to allocate the
 * result and to launch what follows. A mask has the size that it always has: the device sets to 0
 * what is not wanted, and nobody waits. Here only the samples with at least the mean loss go
 * backward (mining of hard examples). */
#include "scenarios/scenario.h"

const struct scenario scenario_data_dependent_shape = {
    .name = "data_dependent_shape",
    .title = "Launching work whose size the host must ask for",
    .also = "nonzero, boolean indexing, boolean mask, masked_select, data-dependent shapes, "
            "torch.unique",
    .group = GROUP_SYNCS,
    .symptom = "the host waits in the middle of every step, and what it does next is late",
    .cause = "a boolean mask as index (x[mask], nonzero) makes the host read how many elements "
             "are left",
    .fix = "keep the size: multiply by the mask, or torch.where(); divide by mask.sum() on the "
           "device",
    .look = "a blocking copy of 4 or 8 bytes between forward and backward",
    .cost = "work for what is masked out, which may be more than the wait where little is kept; "
            "gains nothing where the host has no work that could overlap",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    losses = F.cross_entropy(model(inputs),\n"
                  "        labels.to(device), reduction=\"none\")\n"
                  "    hard = losses[losses >= losses.mean()]  # waits\n"
                  "    (hard.sum() / len(losses)).backward()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "for inputs, labels in loader:\n"
                 "    losses = F.cross_entropy(model(inputs),\n"
                 "        labels.to(device), reduction=\"none\")\n"
                 "    is_hard = losses >= losses.mean()\n"
                 "    hard = torch.where(is_hard, losses, 0)\n"
                 "    (hard.sum() / len(losses)).backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=balanced input=decoded workers=0 launch=eager",
    .knob = "selection",
    .before = "counted",
    .after = "masked",
    .is_other_work = true,
    .needs = WHERE_TWO_CORES, /* one core cannot load while it computes */
    /* The host waits for forward alone, and loads beside backward: so it needs as long as the
     * device does. */
    .balance = { BALANCE_HOST_OVER_DEVICE, 0.9, 1.3 },
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 1.05 per step, then the 0.05 of reading the loss. Time is not promised: the wait is for
         * forward alone, and on two busy cores of an EPYC steps were as long either way, or 1.15
         * times as long. */
        { METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 20, .exact = true },
    },
    .accept = { { "host_sync", ANYWHERE } },
    /* The loop still loads its data and launches kernel by kernel; the device's work hides most of
     * it. Copies and compute share the host's cores. */
    .tolerated_after = { { "data_loading", ANYWHERE },
                         { "launch_bound", ANYWHERE },
                         { "device_wait", WHERE_CPU_DEVICE } },
};
