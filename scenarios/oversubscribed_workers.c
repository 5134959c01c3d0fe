/* Threads of libraries in loader workers.
 *
 * OpenCV, BLAS and what else is built with OpenMP divide every call among as many threads as the
 * machine has cores. In a loader that has a worker per core already, each worker does so: cores^2
 * threads take turns, and in a container the library may count the cores of the whole machine. The
 * threads of a call wait for each other, so that a call ends when the last of them has had its
 * turn. PyTorch sets its own threads to one in a worker (torch/utils/data/_utils/worker.py), and no
 * other library's.
 *
 * Here a library divides the resizing of each image among sixteen threads of OpenMP, whatever the
 * machine has: too many for any call that takes microseconds. */
#include "scenarios/scenario.h"

const struct scenario scenario_oversubscribed_workers = {
    .name = "oversubscribed_workers",
    .title = "Threads of libraries in loader workers",
    .also = "oversubscription, CPU contention, OMP_NUM_THREADS, cv2.setNumThreads, "
            "set_num_threads, worker_init_fn, OpenMP threads, thread oversubscription",
    .group = GROUP_DATA,
    .symptom = "all cores are busy, and workers load less than one of them alone promises",
    .cause = "each worker's library (OpenCV, OpenMP) starts threads for all cores",
    .fix = "one thread per worker: cv2.setNumThreads(0) in worker_init_fn, OMP_NUM_THREADS=1",
    .look = "many times as many threads as cores (top -H), and context switches by the ten "
            "thousand a second (vmstat, pidstat -w)",
    .cost = "none with a worker per core; a single worker may want the threads for large images",
    .pytorch = {
        .before = "cores = len(os.sched_getaffinity(0))\n"
                  "loader = DataLoader(\n"
                  "    dataset, batch_size=8, num_workers=cores,\n"
                  "    worker_init_fn=lambda i: torch.set_num_threads(16))\n",
        .after = "cores = len(os.sched_getaffinity(0))\n"
                 "loader = DataLoader(\n"
                 "    dataset, batch_size=8, num_workers=cores,\n"
                 "    worker_init_fn=lambda i: torch.set_num_threads(1))\n",
    },
    .base = "model=balanced blocks=1 tokens=5 patch=16 input=decoded workers=cores launch=eager "
            "jpeg_scaling=after_decoding loss_every=5",
    .knob = "resize_threads",
    .before = "16",
    .after = "1",
    .needs = WHERE_TWO_CORES,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Ten quick runs on two cores of an EPYC, busy with other work: 16 to 37, and 2.3 to 3.1.
         * The step is not promised: workers give way to other programs, so that it was too noisy
         * there. */
        { METRIC_HOST_SWITCHES, SHRINKS, .at_least = 5 },
        { METRIC_CPU_TIME, SHRINKS, .at_least = 1.3 },
    },
    /* If loading is found, the advice is about threads all the same. */
    .accept = { { "oversubscribed_host", ANYWHERE },
                { "data_loading", ANYWHERE },
                { "data_jitter", ANYWHERE } },
    .tolerated_after = { { "data_loading", ANYWHERE }, { "launch_bound", ANYWHERE } },
};
