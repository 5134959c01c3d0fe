/* Padding short sequences to the longest of their batch.
 *
 * Samples that are computed together have the same number of rows, so the short ones are padded. In
 * random order nearly every batch holds a long sample, and all others are padded to it. Sorted by
 * length, those of a batch are alike. Both variants train on the same samples in every update,
 * which is split into eight micro-batches: only who shares one with whom differs, so that losses
 * agree but for the order of sums.
 *
 * Lengths from 16 to 64 tokens are equally likely, 40 on average. The longest of 8 has about 59,
 * and 62 when rounded up to a multiple of 8: 36% of what is computed is padding. Among 64 sorted
 * samples, 8 neighbours lie within 6 tokens: about 2.5 of padding and 3.5 of rounding, 13%. So 46
 * rows are computed instead of 62, and attention, whose scores are a square, gains more. Each
 * micro-batch has a length of its own, so the step is launched eagerly: a graph is captured for
 * one.
 *
 * Micro-batches of short samples then leave memory unused. A budget of tokens (fairseq's
 * --max-tokens, here max_tokens=512) takes as many samples as fit, padded, so that the same update
 * has fewer micro-batches. */
#include "scenarios/scenario.h"

const struct scenario scenario_padding = {
    .name = "padding",
    .title = "Padding short sequences to the longest of their batch",
    .also = "dynamic padding, group_by_length, length bucketing, sequence bucketing, sequence "
            "packing, token budget, max_tokens, bucketing by length, batch_sampler, packing, "
            "packed sequences, nested tensors, ragged tensors, varlen",
    .group = GROUP_DATA,
    .symptom = "the device is busy, yet real tokens per second are far below what it computes",
    .cause = "batches in random order: one long sample pads all others to its length",
    .fix = "batch samples of similar length (group_by_length, a bucket sampler), or pack them "
           "without padding",
    .look = "tokens and padded tokens of each step; the rows of matrix products",
    .cost = "samples of a batch are less random, as they are alike in length; gains nothing "
            "where all are equally long",
    .pytorch = {
        .before = "from torch.nn.utils.rnn import pad_sequence\n"
                  "\n"
                  "def pad(batch):\n"
                  "    return pad_sequence(batch, batch_first=True)\n"
                  "\n"
                  "sequences = [torch.ones(n) for n in (3, 40, 5, 38, 4, 41)]\n"
                  "batches = DataLoader(sequences, batch_size=2,\n"
                  "                     collate_fn=pad)\n",
        .after = "from torch.nn.utils.rnn import pad_sequence\n"
                 "\n"
                 "def pad(batch):\n"
                 "    return pad_sequence(batch, batch_first=True)\n"
                 "\n"
                 "sequences = [torch.ones(n) for n in (3, 40, 5, 38, 4, 41)]\n"
                 "order = sorted(range(len(sequences)),\n"
                 "               key=lambda i: len(sequences[i]))\n"
                 "alike = [order[i:i + 2] for i in range(0, len(order), 2)]\n"
                 "batches = DataLoader(sequences, batch_sampler=alike,\n"
                 "                     collate_fn=pad)\n",
    },
    .base = "model=balanced data=sequences tokens=64 batch=64 accumulate=8 "
            "blocks=1 launch=eager padding=longest loss_every=4",
    .knob = "group_by_length",
    .before = "no",
    .after = "yes",
    .loss = LOSS_ORDER,
    .expect = {
        /* 0.35 to 0.36 and 0.13, depending on which updates a window holds. */
        { METRIC_PADDING_SHARE, SHRINKS, .at_least = 2, .before_above = 0.3, .after_below = 0.18 },
        /* 1.36 by the count of tokens. Nine quick runs on two busy cores of an EPYC: 1.25 to
         * 1.37. */
        { METRIC_TOKENS_PER_SECOND, GROWS, .at_least = 1.1, .where = WHERE_CPU_DEVICE },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.1, .where = WHERE_CPU_DEVICE },
    },
    /* Micro-batches of 8 are too small for a GPU, which waits for their launches. */
    .accept = { { "padding_waste", WHERE_CPU_DEVICE } },
    /* Without the padding, launches and scores are a larger share of the step. */
    .tolerated_after = { { "launch_bound", ANYWHERE },
                         { "small_kernels", ANYWHERE },
                         { "naive_attention", ANYWHERE } },
};
