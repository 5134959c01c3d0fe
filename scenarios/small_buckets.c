/* Sending each tensor's gradients alone.
 *
 * Each message between ranks has a fixed time, whatever it carries: a call, a start on every rank,
 * and a wait for the last of them. A model has a tensor for each weight and bias, and most of them
 * are small. Sent tensor by tensor, the gradients pay that time dozens of times in every step; sent
 * in buckets, a few times. */
#include "scenarios/scenario.h"

const struct scenario scenario_small_buckets = {
    .name = "small_buckets",
    .title = "Sending each tensor's gradients alone",
    .also = "bucket_cap_mb, gradient bucketing, gradient buckets",
    .group = GROUP_RANKS,
    .symptom = "all devices communicate for long, though the gradients are few megabytes",
    .cause = "each tensor's gradients are a message of their own, and each message has a fixed "
             "time",
    .fix = "send them in buckets of many tensors: 25 MiB, PyTorch's default, or more on many ranks",
    .look = "a row of short all-reduce kernels, as many as the model has tensors",
    .cost = "a bucket is sent only when its last gradient is there, so very large ones overlap "
            "less with backward; gains little where each tensor is large",
    .pytorch = {
        .before = "ddp = torch.nn.parallel.DistributedDataParallel(\n"
                  "    model, bucket_cap_mb=1e-6)\n"
                  "for inputs, labels in loader:\n"
                  "    loss_fn(ddp(inputs), labels).backward()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "ddp = torch.nn.parallel.DistributedDataParallel(\n"
                 "    model, bucket_cap_mb=25)\n"
                 "for inputs, labels in loader:\n"
                 "    loss_fn(ddp(inputs), labels).backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=light batch=2 ranks=2",
    .knob = "bucket_mb",
    .before = "tensor",
    .after = "25",
    .needs = WHERE_TWO_CORES,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 54 messages per step, and 1. */
        { METRIC_COLLECTIVES_PER_STEP, SHRINKS, .at_least = 32, .exact = true },
        { METRIC_STEP_TIME, SHRINKS, .where = WHERE_TWO_CORES_A_RANK },
    },
    /* Between processes of one machine a message takes a microsecond of its own, and what costs is
     * that the ranks wait for each other at each: the trace shows communication that nothing
     * hides. */
    .accept = { { "small_messages", ANYWHERE }, { "exposed_communication", WHERE_CPU_DEVICE } },
    .tolerated_after = { { "exposed_communication", WHERE_CPU_DEVICE },
                         { "launch_bound", ANYWHERE } },
};
