/* Gathering a block's parameters only when it needs them.
 *
 * If each rank keeps a part of every block's parameters, the others' parts come over the network
 * before the block can begin. Asked for at that moment, they leave the device with nothing to
 * compute until they are there, before every block of forward and of backward. The order of blocks
 * is known, so the next one's parameters can be on their way while this one computes, for the
 * memory of one block more.
 *
 * PyTorch's FSDP asks so late in backward only, with backward_prefetch=None. In forward it gathers
 * on a stream of its own, so that gathers overlap with the block before, and forward_prefetch=True
 * saves no more than the time to issue them (docs.pytorch.org/docs/stable/notes/fsdp.html). */
#include "scenarios/scenario.h"

const struct scenario scenario_late_gathers = {
    .name = "late_gathers",
    .title = "Gathering a block's parameters only when it needs them",
    .also = "backward_prefetch, forward_prefetch, unprefetched all-gather",
    .group = GROUP_RANKS,
    .symptom = "between two blocks all devices communicate and compute nothing",
    .cause = "a block's sharded parameters are gathered only when it is about to compute: here in "
             "forward and in backward, in PyTorch's FSDP in backward only",
    .fix = "gather the next block's parameters while this one computes (backward_prefetch; "
           "fully_shard does so)",
    .look = "all-gather kernels between the kernels of two blocks; in PyTorch, those of backward",
    .cost = "memory for the parameters of one more block; gains nothing where a block computes for "
            "much less time than its parameters travel",
    .pytorch = {
        .before = "from torch.distributed import fsdp\n"
                  "\n"
                  "wrap = fsdp.wrap.ModuleWrapPolicy({type(blocks[0])})\n"
                  "sharded = fsdp.FullyShardedDataParallel(\n"
                  "    model, auto_wrap_policy=wrap,\n"
                  "    backward_prefetch=None,\n"
                  "    device_id=torch.cuda.current_device())\n"
                  "for inputs, labels in loader:\n"
                  "    loss_fn(sharded(inputs), labels).backward()\n",
        .after = "from torch.distributed import fsdp\n"
                 "\n"
                 "wrap = fsdp.wrap.ModuleWrapPolicy({type(blocks[0])})\n"
                 "sharded = fsdp.FullyShardedDataParallel(\n"
                 "    model, auto_wrap_policy=wrap,\n"
                 "    backward_prefetch=fsdp.BackwardPrefetch.BACKWARD_PRE,\n"
                 "    device_id=torch.cuda.current_device())\n"
                 "for inputs, labels in loader:\n"
                 "    loss_fn(sharded(inputs), labels).backward()\n",
    },
    .base = "model=balanced width=128 blocks=4 tokens=17 batch=8 loss_every=3 precision=fp32 "
            "ranks=2",
    .knob = "parameters",
    .before = "sharded",
    .after = "prefetched",
    .needs = WHERE_TWO_CORES,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Only for what comes before the first block nothing has computed yet. The time depends on
         * the cores that a rank has for both. */
        { METRIC_LATE_PARAMETER_BYTES, SHRINKS, .at_least = 25, .exact = true },
    },
    .accept = { { "exposed_communication", ANYWHERE } },
    /* A rank with one core gathers and computes in turns. Units of parameters that are
     * gathered are fp32, whatever the device has for shorter types. */
    .tolerated_after = { { "exposed_communication", ANYWHERE }, { "fp32_matmul", ANYWHERE } },
};
