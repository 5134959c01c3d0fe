/* Too few batches ahead for samples of uneven size.
 *
 * Workers may load fast enough on average and still be late: a file that is many times as large as
 * the others takes as long as a whole row of batches, and the loop gets its batches in order. With
 * few batches ahead the loop waits for that one, while the workers that are done may not go on.
 * With more of them ahead the large one is begun earlier, and the batches before it cover the time
 * that it takes. PyTorch's loader has 2 per worker, and may give out batches as they come
 * (documentation of torch.utils.data: prefetch_factor, in_order).
 *
 * Both variants read the loss on every step: a loop that never waits for the device would have
 * queued enough work to hide a late batch. */
#include "scenarios/scenario.h"

const struct scenario scenario_loader_prefetch = {
    .name = "loader_prefetch",
    .title = "Too few batches ahead for samples of uneven size",
    .also = "prefetch_factor, prefetching, prefetch queue",
    .group = GROUP_DATA,
    .symptom = "now and then a step takes several times as long as the others",
    .cause = "a batch with a large file takes longer than the batches that are ready last",
    .fix = "prefetch more batches (DataLoader(prefetch_factor=...)), take them as they come "
           "(in_order=False), or make the files more alike",
    .look = "short data phases, and a long one every few steps, while the device is idle",
    .cost = "host memory for the batches ahead; with in_order=False another order of batches in "
            "each run; gains nothing where the workers are too slow on average",
    .pytorch = {
        .before = "loader = DataLoader(dataset, batch_size=8,\n"
                  "                    num_workers=2,\n"
                  "                    prefetch_factor=1)\n"
                  "for inputs, labels in loader:\n"
                  "    train_step(inputs, labels)\n",
        .after = "loader = DataLoader(dataset, batch_size=8,\n"
                 "                    num_workers=2,\n"
                 "                    prefetch_factor=4)\n"
                 "for inputs, labels in loader:\n"
                 "    train_step(inputs, labels)\n",
    },
    .base = "model=balanced input=decoded batch=8 workers=2 jpeg_pixels=32 jpeg_sizes=uneven "
            "loss_every=1 launch=graph",
    .knob = "prefetch",
    .before = "1",
    .after = "4",
    .needs = WHERE_TWO_CORES, /* one core cannot load while it computes */
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Ten quick runs on two busy cores of an EPYC: 3.3 to 8.6, and twice almost none left. */
        { METRIC_LATE_BATCHES, SHRINKS, .at_least = 1.5 },
        /* On two cores the loader has only the time that the device leaves it. Provisional: one
         * larger machine, 16 cores with an H200, shrank it 1.57 times. */
        { METRIC_STEP_TIME_P95, SHRINKS, .at_least = 1.05, .where = WHERE_FOUR_CORES },
    },
    /* On two cores the workers wait for the device as often as for a large file, so a trace cannot
     * tell. */
    .accept = { { "data_jitter", WHERE_FOUR_CORES } },
    /* Both variants read the loss on every step. A device that shares the workers' cores makes a
     * batch late now and then. */
    .tolerated_after = { { "host_sync", ANYWHERE }, { "data_jitter", WHERE_CPU_DEVICE } },
};
