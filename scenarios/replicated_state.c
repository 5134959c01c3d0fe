/* Keeping the whole optimizer state on every rank.
 *
 * AdamW keeps two running means of each parameter, in fp32 twice what the parameters take.
 * Data-parallel ranks have the same gradients after their all-reduce, so each makes the same
 * update, from the same state. If each updates only a part of the parameters, it needs the state of
 * that part alone, and the others get what it made of it.
 *
 * The samples of an update come in many micro-batches, as where the state leaves little room for
 * activations. This also keeps communication and the update itself a small part of the step. */
#include "scenarios/scenario.h"

const struct scenario scenario_replicated_state = {
    .name = "replicated_state",
    .title = "Keeping the whole optimizer state on every rank",
    .also = "ZeRO, ZeRO-1, ZeroRedundancyOptimizer, optimizer state sharding, optimizer state, "
            "ZeRO stage 1, DeepSpeed ZeRO",
    .group = GROUP_RANKS,
    .symptom = "the optimizer's state takes as much of every device on many ranks as on one",
    .cause = "each rank updates all parameters, so it keeps both running means of all of them",
    .fix = "let each rank keep and update a part (ZeroRedundancyOptimizer, fully_shard)",
    .look = "the optimizer's part of the memory curve, which is the same for any number of ranks",
    .cost = "all wait for each other's parameters after the update, and for the norm; gains "
            "nothing where memory is free",
    .pytorch = {
        .before = "ddp = torch.nn.parallel.DistributedDataParallel(model)\n"
                  "optimizer = torch.optim.AdamW(ddp.parameters())\n"
                  "for inputs, labels in loader:\n"
                  "    loss_fn(ddp(inputs), labels).backward()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "from torch.distributed.optim import (\n"
                 "    ZeroRedundancyOptimizer)\n"
                 "\n"
                 "ddp = torch.nn.parallel.DistributedDataParallel(model)\n"
                 "optimizer = ZeroRedundancyOptimizer(\n"
                 "    ddp.parameters(), torch.optim.AdamW)\n"
                 "for inputs, labels in loader:\n"
                 "    loss_fn(ddp(inputs), labels).backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=balanced width=256 blocks=1 tokens=5 batch=192 accumulate=16 loss_every=3 "
            "precision=fp32 ranks=2 bucket_mb=1 segments=exact memory_budget=18MiB",
    .knob = "optimizer_state",
    .before = "whole",
    .after = "sharded",
    .loss = LOSS_IDENTICAL,
    .expect = {
        { METRIC_OPTIMIZER_STATE, SHRINKS, .at_least = 1.9, .exact = true },
        { METRIC_MEMORY_PEAK, SHRINKS, .at_least = 1.2, .exact = true },
        { METRIC_STEP_TIME, GROWS, .at_most = 1.25, .is_cost = true,
          .where = WHERE_TWO_CORES_A_RANK },
    },
    .accept = { { "replicated_state", ANYWHERE } },
    /* The parameters come back when there is nothing to compute, and micro-batches are as small as
     * before. */
    .tolerated_after = { { "exposed_communication", ANYWHERE }, { "small_kernels", ANYWHERE } },
};
