/* Keeping attention's scores in memory.
 *
 * Every token attends to every token, so the scores are a square: twice the tokens, four times the
 * bytes. Naive attention writes them, reads and writes them again as probabilities, and keeps those for
 * backward. Tiled attention goes over the keys a tile at a time with a running maximum and sum (an online
 * softmax), so that scores never leave the registers, and keeps one number a query; backward computes
 * them again. The arithmetic grows by that, and the memory traffic falls by far more. */
#include "scenarios/scenario.h"

const struct scenario scenario_naive_attention = {
    .name = "naive_attention",
    .title = "Keeping attention's scores in memory",
    .symptom = "memory and time grow with the square of the sequence's length",
    .cause = "scores and probabilities are written to memory and kept for backward",
    .fix = "fused attention (scaled_dot_product_attention, FlashAttention)",
    .look = "three products and a softmax per block before, one operator after; the memory curve",
    .base = "model=heavy tokens=1025 blocks=1 loss_every=3",
    .knob = "attention",
    .before = "naive",
    .after = "fused",
    .loss = LOSS_ORDER,
    .expect =
        {
            /* On the CPU device 2.55 and, in fp32, 1.68, in bf16 1.40, in every repetition. There time is
             * the price, for backward computes the scores again: 1.3 times more in fp32, and 1.6 to 2.0
             * in bf16 with AMX, which naive attention's products use and the tiled kernel does not. */
            { METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 2, .exact = true },
            { METRIC_MEMORY_PEAK, SHRINKS, .at_least = 1.2, .exact = true },
            { METRIC_STEP_TIME, GROWS, .at_most = 2.4, .where = WHERE_CPU_DEVICE, .is_cost = true },
        },
    .accept = { { "naive_attention", ANYWHERE } },
};
