/* Starting the loader's workers anew in every epoch.
 *
 * Workers that end with the epoch leave nothing ready for the next one: new ones have to start,
 * open their decoders, and load their first batches, and the loop waits for the first of them. All
 * of them load at once, so the first batch takes as long as a whole round of them. Where a
 * framework's workers are processes that are not forked, each has to import the program as well.
 * Persistent workers load the next epoch's first batches while the last ones of this epoch are
 * trained on. PyTorch's are kept too, but begin with those batches only when the loop asks for the
 * next epoch, which still costs a first round.
 *
 * Both variants read the loss on every step: a loop that never waits for the device would have
 * queued enough work to hide a short gap. */
#include "scenarios/scenario.h"

const struct scenario scenario_worker_respawn = {
    .name = "worker_respawn",
    .title = "Starting the loader's workers anew in every epoch",
    .also = "persistent_workers, worker start-up, multiprocessing_context",
    .group = GROUP_DATA,
    .symptom = "the device is idle at the beginning of every epoch",
    .cause = "the workers end with the epoch, and new ones begin with an empty queue",
    .fix = "keep the workers from epoch to epoch (DataLoader(persistent_workers=True))",
    .look = "a long data phase before the first step of an epoch, and short ones before the others",
    .cost = "the workers, and the batches that they hold, stay in host memory between the epochs; "
            "gains little where an epoch is long",
    .pytorch = {
        .before = "loader = DataLoader(dataset, batch_size=64,\n"
                  "                    num_workers=4)\n"
                  "for epoch in range(2):\n"
                  "    for inputs, labels in loader:  # starts 4 workers\n"
                  "        train_step(inputs, labels)\n",
        .after = "loader = DataLoader(dataset, batch_size=64,\n"
                 "                    num_workers=4,\n"
                 "                    persistent_workers=True)\n"
                 "for epoch in range(2):\n"
                 "    for inputs, labels in loader:\n"
                 "        train_step(inputs, labels)\n",
    },
    .base = "model=balanced input=decoded batch=64 workers=2xcores jpeg_pixels=128 loss_every=1 "
            "launch=graph",
    .knob = "persistent_workers",
    .before = "no",
    .after = "yes",
    .needs = WHERE_TWO_CORES, /* one core cannot load while it computes */
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Two per core and epoch, which has 16 steps. Starving workers are replaced once. */
        { METRIC_WORKERS_STARTED, SHRINKS, .before_above = 0.2, .after_below = 0.1 },
        /* On two cores of an EPYC 1 to 11 ms per step, and then 8 to 40 ns, which is a reading of
         * the clock: 35,000 to 75,000 in ten quiet runs. On two cores of a Xeon a batch is late now
         * and then: 6 and more in nine quiet runs. */
        { METRIC_EPOCH_WAIT, SHRINKS, .at_least = 3 },
    },
    .accept = { { "epoch_gap", ANYWHERE } },
    .tolerated_after = { { "host_sync", ANYWHERE }, { "data_jitter", WHERE_CPU_DEVICE } },
};
