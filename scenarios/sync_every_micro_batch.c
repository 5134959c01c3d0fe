/* Sending the gradients after every micro-batch.
 *
 * Gradients of several micro-batches add up before an update. DistributedDataParallel adds up those
 * of all ranks at the end of every backward, unless it is told otherwise, so that four
 * micro-batches send four times what the update needs. Under no_sync() they add up on each rank,
 * and the last backward sends the sum (PyTorch, "DistributedDataParallel", no_sync). FSDP has
 * set_requires_gradient_sync() for the same, at the price of whole gradients in memory.
 *
 * Sums of sums are right either way: DistributedDataParallel divides by the number of ranks before
 * it adds up, and what a rank had from the micro-batches before, it has in common with the others.
 * Only the order of rounding differs. */
#include "scenarios/scenario.h"

const struct scenario scenario_sync_every_micro_batch = {
    .name = "sync_every_micro_batch",
    .title = "Sending the gradients after every micro-batch",
    .also = "no_sync, require_backward_grad_sync, set_requires_gradient_sync, "
            "gradient accumulation with DDP",
    .group = GROUP_RANKS,
    .symptom = "accumulating more micro-batches makes an update no cheaper to communicate",
    .cause = "each backward adds up the gradients of all ranks, though only the last one's sum is "
             "used",
    .fix = "accumulate under no_sync() in all micro-batches but the last of an update",
    .look = "as many rows of all-reduce kernels per optimizer step as there are micro-batches",
    .cost = "nothing with DDP; with FSDP whole gradients stay on each rank until the last "
            "micro-batch",
    .pytorch = {
        .before = "ddp = torch.nn.parallel.DistributedDataParallel(model)\n"
                  "for i, (inputs, labels) in enumerate(loader):\n"
                  "    (loss_fn(ddp(inputs), labels) / 4).backward()\n"
                  "    if (i + 1) % 4 == 0:\n"
                  "        optimizer.step()\n"
                  "        optimizer.zero_grad()\n",
        .after = "from contextlib import nullcontext\n"
                 "ddp = torch.nn.parallel.DistributedDataParallel(model)\n"
                 "for i, (inputs, labels) in enumerate(loader):\n"
                 "    last = (i + 1) % 4 == 0\n"
                 "    with nullcontext() if last else ddp.no_sync():\n"
                 "        (loss_fn(ddp(inputs), labels) / 4).backward()\n"
                 "    if last:\n"
                 "        optimizer.step()\n"
                 "        optimizer.zero_grad()\n",
    },
    .base = "model=heavy blocks=4 batch=8 accumulate=4 precision=fp32 ranks=2 bucket_mb=1 "
            "loss_every=5",
    .knob = "gradient_sync",
    .before = "micro_batch",
    .after = "update",
    .needs = WHERE_TWO_CORES,
    .loss = LOSS_ORDER,
    .expect = {
        { METRIC_COLLECTIVES_PER_STEP, SHRINKS, .at_least = 3.9, .exact = true },
        { METRIC_LATE_GRADIENT_BYTES, SHRINKS, .at_least = 3.9, .exact = true },
        { METRIC_STEP_TIME, SHRINKS, .where = WHERE_TWO_CORES_A_RANK },
    },
    .accept = { { "exposed_communication", ANYWHERE } },
    .tolerated_after = { { "exposed_communication", ANYWHERE },
                         { "small_kernels", ANYWHERE },
                         { "launch_bound", ANYWHERE },
                         { "fp32_matmul", ANYWHERE } },
};
