/* Copying a batch tensor by tensor.
 *
 * A batch that reaches the loop as a list of samples is often copied as one: sample by sample, each
 * copy a call that waits for its few bytes. Each costs what a call and a wait cost, whatever it
 * carries. Collated into one buffer, the same bytes need one call and one wait. Both variants wait
 * for their copies, as tensor.to(device) does. */
#include "scenarios/scenario.h"

const struct scenario scenario_many_small_copies = {
    .name = "many_small_copies",
    .title = "Copying a batch tensor by tensor",
    .also = "small transfers, batched transfers",
    .group = GROUP_COPIES,
    .symptom = "before each step the device idles while the host makes dozens of tiny copies",
    .cause = "each tensor of each sample is copied to the device by a call of its own",
    .fix = "collate the samples into one buffer on the host and copy that at once",
    .look = "a row of tiny copies before each step, each with a call that is far longer than "
            "itself",
    .cost = "a copy on the host that puts the samples together, which loader workers can do; "
            "gains little where samples are large",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    inputs = torch.stack([x.to(device) for x in inputs])\n"
                  "    labels = torch.stack([y.to(device) for y in labels])\n"
                  "    train_step(inputs, labels)\n",
        .after = "for inputs, labels in loader:\n"
                 "    inputs = inputs.to(device)\n"
                 "    labels = labels.to(device)\n"
                 "    train_step(inputs, labels)\n",
    },
    .base = "model=light batch=64 tokens=2 blocks=1 input=loaded transfer=blocking",
    .knob = "copies",
    .before = "per_tensor",
    .after = "one",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 66 copies per step, and 1. The loss is read every 20 steps in both. */
        { METRIC_COPIES_PER_STEP, SHRINKS, .at_least = 32, .exact = true },
        { METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 32, .exact = true },
        /* On a CPU a copy costs what its machine's doorbell does: ten runs on two quiet cores of an
         * EPYC (Zen 5) made the step 1.16 to 1.23 times as fast, with intervals from 1.03 on, and
         * on busy ones, where each wait means losing the core, 6.8 to 10.8 times. */
        { METRIC_TRANSFER_TIME, SHRINKS, .at_least = 1.15, .where = WHERE_CUDA },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.5, .where = WHERE_CUDA },
    },
    /* Each copy waits, so either remedy takes the bottleneck away. On two busy cores of a Xeon the
     * step was 9.0 and 6.9 times as fast with overlapped copies, and 4.8 and 15 times with one
     * copy. */
    .accept = { { "small_copies", ANYWHERE }, { "host_sync", ANYWHERE } },
    /* One copy per step is left that the host waits for. */
    .tolerated_after = { { "host_sync", ANYWHERE } },
};
