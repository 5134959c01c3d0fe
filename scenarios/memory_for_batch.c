/* Running as small a batch as fits beside all activations.
 *
 * Where memory has room for one sample's activations, an update of eight samples takes eight
 * passes, each with all of its launches and too little work behind them. Checkpointing gives most
 * of the memory back. By itself that only makes a step longer; it pays once the freed memory holds
 * a larger batch. Both variants train the same update within the same budget, with as large a
 * micro-batch as fits: it is the memory that buys the time. */
#include "scenarios/scenario.h"

const struct scenario scenario_memory_for_batch = {
    .name = "memory_for_batch",
    .title = "Running as small a batch as fits beside all activations",
    .also = "out of memory, OOM, CUDA out of memory, maximum batch size, "
            "auto_find_batch_size",
    .group = GROUP_MEMORY,
    .symptom = "memory is full, and kernels are too short to keep the device busy",
    .cause = "the activations of every block are kept, so only a small micro-batch fits",
    .fix = "recompute each block in backward, and raise the micro-batch until memory is full again",
    .look = "many short passes per update before, few long ones after, below the same line of "
            "memory",
    .cost = "forward is computed twice; gains nothing where the small micro-batch fills the device "
            "already, or where memory is not what limits it",
    .pytorch = {
        .before = "loader = DataLoader(dataset, batch_size=1)  # fits\n"
                  "for i, (inputs, labels) in enumerate(loader):\n"
                  "    loss = loss_fn(model(inputs), labels) / 8\n"
                  "    loss.backward()\n"
                  "    if i % 8 == 7:\n"
                  "        optimizer.step()\n"
                  "        optimizer.zero_grad()\n",
        .after = "from torch.utils.checkpoint import checkpoint\n"
                 "\n"
                 "def less(f):  # keeps the input of f alone\n"
                 "    return lambda x: checkpoint(f, x,\n"
                 "                                use_reentrant=False)\n"
                 "\n"
                 "for block in blocks:\n"
                 "    block.forward = less(block.forward)\n"
                 "loader = DataLoader(dataset, batch_size=8)  # fits\n"
                 "for inputs, labels in loader:\n"
                 "    loss = loss_fn(model(inputs), labels)\n"
                 "    loss.backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=light batch=8 accumulate=fit tokens=17 width=32 blocks=22 precision=fp32 "
            "launch=eager memory_budget=6MiB loss_every=3",
    .knob = "checkpointing",
    .before = "none",
    .after = "block",
    .loss = LOSS_ORDER,
    .expect = {
        /* One sample fits, or all eight of an update. */
        { METRIC_MICRO_BATCH, GROWS, .at_least = 8, .exact = true },
        { METRIC_LAUNCHES_PER_STEP, SHRINKS, .at_least = 4 },
        /* Both fill the same budget, within a tenth. */
        { METRIC_MEMORY_PEAK, GROWS, .at_most = 1.1, .is_cost = true },
        /* Recomputing costs a part of what fewer launches save. Two quiet cores of an EPYC: 1.04 to
         * 1.36; two busy ones, on which launches take longer: 1.78 to 2.26. Not measured on a
         * GPU. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.05, .where = WHERE_CUDA },
    },
    .accept = { { "activation_memory", ANYWHERE } },
    /* The memory is to be full, what is launched kernel by kernel is still short, and the device's
     * cores are shared. */
    .tolerated_after = { { "activation_memory", ANYWHERE },
                         { "launch_bound", ANYWHERE },
                         { "naive_attention", ANYWHERE },
                         { "device_wait", WHERE_CPU_DEVICE } },
};
