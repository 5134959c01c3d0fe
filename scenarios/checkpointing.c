/* Keeping all activations for backward.
 *
 * Backward needs what forward computed. By default all of it is kept, and it soon fills the device
 * as depth and batch grow. Checkpointing keeps only the input of each block and computes the rest
 * again when backward comes to the block: it trades time for memory. The arithmetic is the same,
 * and so is every loss. */
#include "scenarios/scenario.h"

const struct scenario scenario_checkpointing = {
    .name = "checkpointing",
    .title = "Keeping all activations for backward",
    .also = "gradient checkpointing, activation checkpointing, activation recomputation, "
            "rematerialisation, torch.utils.checkpoint, use_reentrant, activation memory, peak "
            "memory, recomputation",
    .group = GROUP_MEMORY,
    .symptom = "memory rises during forward, almost to the budget, and falls during backward",
    .cause = "the activations of every block are kept until its backward",
    .fix = "recompute each block in backward (torch.utils.checkpoint), or use a smaller batch",
    .look = "the memory curve: a high peak between forward and backward, then a low one",
    .cost = "forward is launched and computed twice: a step takes up to a third longer; gains "
            "nothing where memory is free",
    .pytorch = {
        .before = "def forward(x):\n"
                  "    for block in blocks:\n"
                  "        x = block(x)\n"
                  "    return x\n",
        .after = "from torch.utils.checkpoint import checkpoint\n"
                 "\n"
                 "def forward(x):\n"
                 "    for block in blocks:\n"
                 "        x = checkpoint(block, x, use_reentrant=False)\n"
                 "    return x\n",
    },
    .base = "model=heavy attention=naive memory_budget=role loss_every=3",
    .knob = "checkpointing",
    .before = "none",
    .after = "block",
    .loss = LOSS_IDENTICAL,
    .expect = {
        { METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 3, .exact = true },
        { METRIC_STEP_TIME, GROWS, .at_most = 1.4, .is_cost = true },
    },
    .accept = { { "activation_memory", ANYWHERE } },
};
