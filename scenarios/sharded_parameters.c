/* Keeping all parameters on every rank.
 *
 * Data-parallel ranks have the same parameters, and need those of a block only while that block
 * computes. If each rank keeps a part of every block's, with the optimizer's state of that part,
 * all gather a block's parameters before its forward, free them after it, and do so again around
 * its backward. Every rank then has room for a larger model, and pays with messages: all parameters
 * come twice per step, where only their gradients did, so that 1.5 times the bytes are sent
 * (Rajbhandari et al.: "ZeRO", 2020, section 7).
 *
 * The next block's parameters travel while this one computes, as in late_gathers after its fix.
 * Checkpointing and many samples keep activations and communication a small part of the step. */
#include "scenarios/scenario.h"

const struct scenario scenario_sharded_parameters = {
    .name = "sharded_parameters",
    .title = "Keeping all parameters on every rank",
    .also = "fsdp, FullyShardedDataParallel, fully_shard, FSDP2, ZeRO-3, all-gather, "
            "reduce-scatter, FULL_SHARD, ZeRO stage 3, reshard_after_forward",
    .group = GROUP_RANKS,
    .symptom = "parameters and the optimizer's state take as much of every device on many ranks as "
               "on one",
    .cause = "each rank keeps the parameters of all blocks, though it computes one block at a time",
    .fix = "shard them, and gather each block's before use (fully_shard on every block)",
    .look = "the memory curve between two steps, which is the same for any number of ranks",
    .cost = "an all-gather before each block's forward and backward, 1.5 times the bytes of DDP in "
            "all; gains nothing where memory is free",
    .pytorch = {
        .before = "ddp = torch.nn.parallel.DistributedDataParallel(model)\n"
                  "optimizer = torch.optim.AdamW(ddp.parameters())\n"
                  "for inputs, labels in loader:\n"
                  "    loss_fn(ddp(inputs), labels).backward()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "from torch.distributed.fsdp import fully_shard\n"
                 "\n"
                 "for block in blocks:\n"
                 "    fully_shard(block)\n"
                 "fully_shard(model)\n"
                 "optimizer = torch.optim.AdamW(model.parameters())\n"
                 "for inputs, labels in loader:\n"
                 "    loss_fn(model(inputs), labels).backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=balanced width=128 blocks=4 tokens=17 batch=24 loss_every=3 precision=fp32 "
            "ranks=2 bucket_mb=1 checkpointing=block segments=exact memory_budget=24MiB",
    .knob = "parameters",
    .before = "whole",
    .after = "prefetched",
    .loss = LOSS_IDENTICAL,
    .expect = {
        { METRIC_PARAMETERS, SHRINKS, .at_least = 1.9, .exact = true },
        { METRIC_OPTIMIZER_STATE, SHRINKS, .at_least = 1.9, .exact = true },
        { METRIC_MEMORY_PEAK, SHRINKS, .at_least = 1.08, .exact = true },
    },
    .accept = { { "replicated_state", ANYWHERE } },
    /* Each rank meets the others at every block, three times per step. Units of parameters that are
     * gathered are fp32, whatever the device has for shorter types. */
    .tolerated_after = { { "exposed_communication", ANYWHERE }, { "fp32_matmul", ANYWHERE } },
};
