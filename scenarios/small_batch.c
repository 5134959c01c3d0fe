/* Feeding the device one sample at a time.
 *
 * An update of 64 samples can be run as 64 micro-batches of one sample, whose gradients add up, or
 * as one batch of 64: the same samples, the same update, the same loss. But a kernel on one sample
 * is too small to fill the device, hardly takes longer than its launch, and is launched 64 times as
 * often. */
#include "scenarios/scenario.h"

const struct scenario scenario_small_batch = {
    .name = "small_batch",
    .title = "Feeding the device one sample at a time",
    .also = "batch size, micro-batch of one, per_device_train_batch_size",
    .group = GROUP_LAUNCHES,
    .symptom = "thousands of short kernels per update, and a device that is mostly idle",
    .cause = "64 micro-batches of 1 sample instead of 1 batch of 64: launching takes longer than "
             "the work",
    .fix = "enlarge the micro-batch until memory is nearly full; accumulate only beyond that",
    .look = "the same short kernels again and again within one step",
    .cost = "activation memory grows with the batch; gains nothing where kernels already fill the "
            "device",
    .pytorch = {
        .before = "loader = DataLoader(dataset, batch_size=1)\n"
                  "for i, (inputs, labels) in enumerate(loader):\n"
                  "    loss = loss_fn(model(inputs), labels) / 64\n"
                  "    loss.backward()\n"
                  "    if i % 64 == 63:\n"
                  "        optimizer.step()\n"
                  "        optimizer.zero_grad()\n",
        .after = "loader = DataLoader(dataset, batch_size=64)\n"
                 "for inputs, labels in loader:\n"
                 "    loss = loss_fn(model(inputs), labels)\n"
                 "    loss.backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=light batch=64 tokens=4 launch=eager loss_every=3",
    .knob = "accumulate",
    .before = "64",
    .after = "1",
    .loss = LOSS_ORDER,
    .expect = {
        /* Quick runs on two cores: 2.36 to 3.41 on an EPYC, 1.88 to 2.96 on a Xeon. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.6, .where = WHERE_CPU_DEVICE },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 5, .where = WHERE_CUDA },
        /* 12612 per step, and 201. */
        { METRIC_LAUNCHES_PER_STEP, SHRINKS, .at_least = 32 },
    },
    .accept = { { "small_kernels", ANYWHERE }, { "launch_bound", ANYWHERE } },
    /* The other half: 201 launches for 0.3 ms of kernels. */
    .tolerated_after = { { "launch_bound", WHERE_CUDA } },
};
