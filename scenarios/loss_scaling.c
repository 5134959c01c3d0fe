/* Asking the device in every step whether a gradient overflowed.
 *
 * fp16 ends at 65504 and begins at 6e-8. Backward therefore computes the gradients of the loss
 * times a large scale, and where that makes one overflow the update is skipped and the scale
 * halved. Who decides? `if not found_inf.item()`, as torch.amp.GradScaler has it for most
 * optimizers, makes the host wait until backward has ended, in every step. An optimizer that takes
 * the flag as a number on the device skips by itself.
 *
 * Both variants train in fp16 with the same scales and skip the same updates, so that their losses
 * are identical to the last bit and only the one knob differs. bf16, which has fp32's range and
 * needs no scale, would be another type with other losses; it is what the lesson advises where the
 * device has it. */
#include "scenarios/scenario.h"

const struct scenario scenario_loss_scaling = {
    .name = "loss_scaling",
    .title = "Asking in every step whether a gradient overflowed",
    .also = "GradScaler, gradient scaling, dynamic loss scaling, growth_interval",
    .group = GROUP_SYNCS,
    .symptom = "training in fp16, the device is idle for a moment before every update",
    .cause = "the host reads whether a gradient overflowed (GradScaler.step()), which drains the "
             "queue",
    .fix = "an optimizer that reads the flag on the device (fused=True); or bf16, which needs no "
           "scaling",
    .look = "a blocking copy of 4 bytes early in the optimizer phase, followed by a gap",
    .cost = "none; bf16 has 3 bits of precision less; gains nothing where the host has no work to "
            "overlap",
    .pytorch = {
        .before = "optimizer = torch.optim.AdamW(model.parameters())\n"
                  "scaler = torch.amp.GradScaler(device.type)\n"
                  "for inputs, labels in loader:\n"
                  "    with torch.autocast(device.type, torch.float16):\n"
                  "        loss = loss_fn(model(inputs), labels)\n"
                  "    scaler.scale(loss).backward()\n"
                  "    scaler.step(optimizer)  # found_inf.item(): waits\n"
                  "    scaler.update()\n"
                  "    optimizer.zero_grad()\n",
        .after = "optimizer = torch.optim.AdamW(\n"
                 "    model.parameters(), fused=True)\n"
                 "scaler = torch.amp.GradScaler(device.type)\n"
                 "for inputs, labels in loader:\n"
                 "    with torch.autocast(device.type, torch.float16):\n"
                 "        loss = loss_fn(model(inputs), labels)\n"
                 "    scaler.scale(loss).backward()\n"
                 "    scaler.step(optimizer)  # the kernel reads found_inf\n"
                 "    scaler.update()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=balanced precision=fp16 input=decoded workers=0 launch=eager",
    .knob = "loss_scaling",
    .before = "host",
    .after = "device",
    .needs = WHERE_TWO_CORES, /* one core cannot load while it computes */
    .balance = { BALANCE_HOST_OVER_DEVICE, 0.55, 0.95 },
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 1.05 per step, then the 0.05 of reading the loss. */
        { METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 11 },
        /* The flag, 4 bytes, and every 20th step the loss. */
        { METRIC_D2H_BYTES_PER_STEP, SHRINKS, .at_least = 11 },
        /* Ten quiet runs on two cores of an EPYC: 1.41 to 1.71; on busy cores 1.04 to 1.07. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.1 },
    },
    .accept = { { "host_sync", ANYWHERE } },
    /* The loop still loads its data and launches kernel by kernel; the device's work hides most of
     * it. */
    .tolerated_after = { { "data_loading", ANYWHERE }, { "launch_bound", ANYWHERE } },
};
