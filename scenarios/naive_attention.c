/* Keeping attention's scores in memory.
 *
 * Every token attends to every token, so the scores are a square: twice the tokens, four times the
 * bytes. Naive attention writes them, reads them and writes them again as probabilities, and keeps those
 * for backward. Tiled attention goes over the keys one tile at a time with a running maximum and sum (an
 * online softmax), so scores never leave the registers. It keeps one number per query, and backward
 * computes the scores again. That adds arithmetic, and saves far more memory traffic. */
#include "scenarios/scenario.h"

const struct scenario scenario_naive_attention = {
    .name = "naive_attention",
    .title = "Keeping attention's scores in memory",
    .group = GROUP_KERNELS,
    .symptom = "memory and time grow with the square of the sequence length",
    .cause = "scores and probabilities are written to memory and kept for backward",
    .fix = "use fused attention (scaled_dot_product_attention, FlashAttention)",
    .look = "three products and a softmax per block before, one operator after; the memory curve",
    .cost = "the probabilities cannot be looked at; gains little for sequences of a few hundred "
            "tokens",
    .pytorch =
        {
            .before =
            "def attention(q, k, v):\n"
            "    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5\n"
            "    return scores.softmax(dim=-1) @ v\n",
            .after =
            "def attention(q, k, v):\n"
            "    return F.scaled_dot_product_attention(q, k, v)\n",
        },
    .base = "model=heavy tokens=1025 blocks=1 loss_every=3",
    .knob = "attention",
    .before = "naive",
    .after = "fused",
    .loss = LOSS_ORDER,
    .expect =
        {
            /* On the CPU device in every repetition: 2.55 for activations; for the peak 1.68 in fp32 and
             * 1.40 in bf16. The price there is time, because backward computes the scores again: 1.3
             * times more in fp32, and 1.6 to 2.0 in bf16 with AMX, which the products of naive attention
             * use and the tiled kernel does not. */
            { METRIC_ACTIVATION_PEAK,
              SHRINKS,
              .at_least = 2,
              .where = WHERE_CPU_DEVICE,
              .exact = true },
            /* There heads are 64 wide, not 32, so that there are half as many scores: 1.77 by arithmetic and on
             * the CPU device with such heads. */
            { METRIC_ACTIVATION_PEAK,
              SHRINKS,
              .at_least = 1.6,
              .where = WHERE_CUDA,
              .exact = true },
            { METRIC_MEMORY_PEAK, SHRINKS, .at_least = 1.2, .exact = true },
            { METRIC_STEP_TIME, GROWS, .at_most = 2.4, .where = WHERE_CPU_DEVICE, .is_cost = true },
        },
    .accept = { { "naive_attention", ANYWHERE } },
};
