/* Putting batches together in the training loop.
 *
 * There are workers, and more of them change nothing: they only read the files. The images are
 * decoded, and the batch is put together, where the loop asks for it, as in a collate function that
 * is called by the training thread. Nothing is launched meanwhile, and since the loop reads the
 * loss after every step, the device is idle. In the workers the same code runs ahead of the
 * loop. */
#include "scenarios/scenario.h"

const struct scenario scenario_slow_collate = {
    .name = "slow_collate",
    .title = "Putting batches together in the training loop",
    .also = "collate_fn, collation, default_collate, tokenisation, preprocessing",
    .group = GROUP_DATA,
    .symptom = "the device is idle before every step, and more loader workers change nothing",
    .cause = "the thread that queues the device's work decodes the files that the workers read",
    .fix = "decode, pad and collate in the workers (in the dataset, or DataLoader(collate_fn=...))",
    .look = "a long data phase before each forward, although workers are there",
    .cost = "host memory for the decoded batches ahead; gains nothing where the workers are busy "
            "already",
    .pytorch = {
        .before = "from torch.utils.data import default_collate\n"
                  "\n"
                  "loader = DataLoader(files, batch_size=8,\n"
                  "                    num_workers=2, collate_fn=list)\n"
                  "for batch in loader:\n"
                  "    batch = default_collate([decode(f) for f in batch])\n"
                  "    train_step(*batch)\n",
        .after = "from torch.utils.data import default_collate\n"
                 "\n"
                 "def collate(batch):\n"
                 "    return default_collate([decode(f) for f in batch])\n"
                 "\n"
                 "loader = DataLoader(files, batch_size=8,\n"
                 "                    num_workers=2, collate_fn=collate)\n"
                 "for batch in loader:\n"
                 "    train_step(*batch)\n",
    },
    .base = "model=balanced input=decoded workers=cores loss_every=1 launch=graph",
    .knob = "collate",
    .before = "loop",
    .after = "workers",
    .needs = WHERE_TWO_CORES, /* one core cannot load while it computes */
    .balance = { BALANCE_DEVICE_OVER_HOST, 0.35, 0.7 },
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Ten quiet runs on two cores of an EPYC: 2.3 to 3.3; on busy cores 2.1 to 14. All batches
         * are late before. */
        { METRIC_LATE_BATCHES, SHRINKS, .at_least = 1.45, .before_above = 0.99 },
        /* The same runs: 3.1 to 4.3, on busy cores 2.0 to 8.4; and 1.6 to 1.8. Where other programs
         * take the cores, the workers' time is the loop's. */
        { METRIC_DATA_WAIT, SHRINKS, .at_least = 1.9 },
        { METRIC_SAMPLES_PER_SECOND, GROWS, .at_least = 1.2, .where = WHERE_CPU_DEVICE },
        { METRIC_SAMPLES_PER_SECOND, GROWS, .at_least = 1.2, .where = WHERE_CUDA },
    },
    .accept = { { "data_loading", ANYWHERE } },
    /* Both variants read the loss on every step. A device that shares the workers' cores makes a
     * batch late now and then. */
    .tolerated_after = { { "host_sync", ANYWHERE }, { "data_jitter", WHERE_CPU_DEVICE } },
};
