/* Keeping all activations for backward.
 *
 * Backward needs what forward computed, so by default all of it is kept, and with depth and batch it
 * soon fills the device. Checkpointing keeps only each block's input and computes the rest again when
 * backward comes to the block: memory for time. The arithmetic is the same, and so is every loss. */
#include "scenarios/scenario.h"

const struct scenario scenario_checkpointing = {
    .name = "checkpointing",
    .title = "Keeping all activations for backward",
    .symptom = "memory rises through forward to the budget's edge, and falls through backward",
    .cause = "every block's activations are kept until its backward",
    .fix = "recompute blocks in backward (torch.utils.checkpoint), or lower the batch",
    .look = "the memory curve: a high peak between forward and backward, then a low one",
    .base = "model=heavy attention=naive memory_budget=role loss_every=3",
    .knob = "checkpointing",
    .before = "none",
    .after = "block",
    .loss = LOSS_IDENTICAL,
    .expect =
        {
            { METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 3, .exact = true },
            { METRIC_STEP_TIME, GROWS, .at_most = 1.4, .is_cost = true },
        },
    .accept = { { "activation_memory", ANYWHERE } },
};
