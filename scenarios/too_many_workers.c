/* More loader workers than cores.
 *
 * A worker that waits for a core loads nothing, so beyond one per core more of them load no faster.
 * They take turns with the thread that queues the device's work, though: while that thread waits
 * for its core, nothing is launched, and once the queue is empty the device is idle. Each worker
 * also holds batches and a decoder. In a container the cores that count are those that it may use,
 * not those of the machine. */
#include "scenarios/scenario.h"

const struct scenario scenario_too_many_workers = {
    .name = "too_many_workers",
    .title = "More loader workers than cores",
    .symptom = "now and then a launch takes many times as long as the others, and step times vary",
    .cause = "the thread that launches shares its core with loader workers",
    .fix = "one worker per core or fewer (num_workers), of the cores that the process may use",
    .look = "single launch calls of milliseconds among those of microseconds, at no particular "
            "kernel",
    .group = GROUP_DATA,
    .cost = "none; where workers wait for a slow disk or network, more of them than cores are of "
            "use",
    .pytorch = {
        .before = "cores = len(os.sched_getaffinity(0))\n"
                  "loader = DataLoader(dataset, batch_size=8,\n"
                  "                    num_workers=8 * cores)\n",
        .after = "cores = len(os.sched_getaffinity(0))\n"
                 "loader = DataLoader(dataset, batch_size=8,\n"
                 "                    num_workers=cores)\n",
    },
    .base = "model=balanced batch=16 blocks=6 input=decoded prefetch=1 launch=eager "
            "jpeg_pixels=1024 jpeg_scaling=after_decoding",
    .knob = "workers",
    .before = "8xcores",
    .after = "cores",
    /* On a device that shares the host's cores all workers give way to it and to the thread that
     * launches, however many they are. */
    .needs = WHERE_CUDA,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Beside an H200, on 16 cores that are all busy decoding: 4.5 with 64 samples and 12
         * blocks, which take too long to warm up. These were not measured. The step takes as long
         * as decoding on all cores. */
        { METRIC_SUBMISSION_TIME, SHRINKS, .at_least = 1.2, .where = WHERE_CUDA },
    },
    .accept = { { "oversubscribed_host", ANYWHERE } },
    .tolerated_after = { { "data_loading", ANYWHERE }, { "launch_bound", ANYWHERE } },
};
