/* Looking samples up in an index of objects that workers share.
 *
 * A worker of a loader is forked, and so begins with all of its parent's memory. The two share each
 * page until one of them writes to it, and then the writer gets a copy. CPython writes to whatever
 * it looks at: each object counts the references to it. So an index of a data set that is a list of
 * tuples or dicts is copied page by page by each worker, the first epoch long or longer, and in the
 * end it is in memory once for each worker and once for the parent. It looks like a leak, and
 * ends a run that has many workers or a large index after some thousand steps (PyTorch's manual of
 * torch.utils.data, "Multi-process data loading", which advises Pandas, NumPy or PyArrow; issue
 * 13246 of pytorch/pytorch). Arrays are one object each, however many samples are in them.
 *
 * Here the index has 64 notes on each of 1024 samples: as objects with a counter they are 4 MiB, a
 * page for each sample. Workers are threads, each with a view of the index that is mapped
 * copy-on-write, and the kernel's page table says how much of it they have copies of. */
#include "scenarios/scenario.h"

const struct scenario scenario_host_leak = {
    .name = "host_leak",
    .title = "Looking samples up in a list of objects",
    .also = "DataLoader memory leak, host memory leak, RAM usage grows, copy-on-write, "
            "copy-on-read, fork, reference counting, OOM killer, host_memory_growth",
    .group = GROUP_DATA,
    .symptom = "the host's memory grows for an epoch or more, the faster the more workers there "
               "are, until the loader's workers are killed",
    .cause = "each worker copies each page of the parent's objects that it looks at, as that "
             "counts references",
    .fix = "keep what is known of the samples in arrays (a tensor, NumPy, PyArrow, Pandas), or in "
           "a file that is mapped",
    .look = "the sum of the workers' private memory (Private_Dirty in /proc/PID/smaps_rollup), "
            "step by step",
    .cost = "strings need an array of bytes and one of their offsets; gains nothing where the "
            "index is small, or workers are threads",
    .pytorch = {
        .before = "boxes = [[i, i, i + 9, i + 9] for i in range(64)]\n"
                  "for box in DataLoader(boxes, batch_size=8, num_workers=2):\n"
                  "    pass  # each worker copies what it looks at\n",
        .after = "boxes = torch.tensor(\n"
                 "    [[i, i, i + 9, i + 9] for i in range(64)])\n"
                 "for box in DataLoader(boxes, batch_size=8, num_workers=2):\n"
                 "    pass  # both read the same memory\n",
    },
    .base = "model=light batch=32 input=decoded workers=2 launch=graph",
    .knob = "index",
    .before = "objects",
    .after = "arrays",
    .needs = WHERE_TWO_CORES, /* as all that loads beside the steps */
    .is_other_work = true,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 8 MiB, once both workers have loaded all samples; the bound is what four steps copy.
         * Ten quick runs on two very busy cores of an EPYC: 4.4 to 6.3 MiB. */
        { METRIC_INDEX_COPIES, SHRINKS, .before_above = 1 << 19, .after_below = 1 },
    },
    /* No trace says what the workers' memory is: no finding is accepted, but `record` tells it. */
    .tolerated_after = { { "launch_bound", ANYWHERE },
                         { "data_loading", ANYWHERE },
                         { "data_jitter", ANYWHERE },
                         { "device_wait", WHERE_CPU_DEVICE },
                         { "host_sync", ANYWHERE } },
};
