/* Timing what has just been read, again.
 *
 * A benchmark repeats what it times, to get rid of noise, and mostly with the same input. From the
 * second time on that is in a cache: files in the host's memory (the page cache), a kernel's
 * tensors in the device's L2. A training reads another batch in each step, and has used the cache
 * for all that a step does in between. So the benchmark's figure is one that no training gets, and
 * often one that the hardware could not reach without the cache: more bytes per second than the
 * disk or the memory has. MLPerf Storage asks for a data set of five times the host's memory for
 * this reason, and triton.testing.do_bench() overwrites the L2 cache before each call.
 *
 * Here both variants read the same files in the same order, 1024 of them in each epoch, which are
 * in the page cache from the first epoch on; or each is dropped from there before it is read
 * (posix_fadvise(2)), as if the data set were larger than the host's memory. */
#include "scenarios/scenario.h"

const struct scenario scenario_warm_cache = {
    .name = "warm_cache",
    .title = "Timing what has just been read, again",
    .also = "warm cache, cold cache, L2 flush, cache clearing, do_bench, drop_caches, "
            "KernelBench, MLPerf Storage",
    .group = GROUP_MEASURING,
    .symptom = "a loader or a kernel is several times as fast in its benchmark as in the training, "
               "or faster than the disk or the memory can be",
    .cause = "each repetition has the same input, which is in a cache from the second one on",
    .fix = "repeat with other inputs, of more bytes than the cache has, or clear it before each "
           "repetition: drop the files' pages, overwrite as many bytes as the L2 has",
    .look = "bytes per second beside the peak of where they come from; the first repetition beside "
            "the others",
    .cost = "cold readings are less alike, so it takes more of them; if the training's input stays "
            "in the cache, the warm figure is the right one",
    .pytorch = {
        .before = "for i in range(16):\n"
                  "    torch.save(dataset[i], f\"{i}.pt\")\n"
                  "\n"
                  "start = time.perf_counter()\n"
                  "for i in range(16):\n"
                  "    torch.load(f\"{i}.pt\")  # was just written\n"
                  "print((time.perf_counter() - start) / 16)\n",
        .after = "for i in range(16):\n"
                 "    with open(f\"{i}.pt\", \"wb\") as file:\n"
                 "        torch.save(dataset[i], file)\n"
                 "        file.flush()\n"
                 "        os.fsync(file.fileno())\n"
                 "\n"
                 "start = time.perf_counter()\n"
                 "for i in range(16):\n"
                 "    with open(f\"{i}.pt\", \"rb\") as file:\n"
                 "        os.posix_fadvise(file.fileno(), 0, 0,\n"
                 "                         os.POSIX_FADV_DONTNEED)\n"
                 "        torch.load(file)\n"
                 "print((time.perf_counter() - start) / 16)\n",
    },
    .base = "model=light blocks=1 data=images tokens=5 batch=32 input=decoded workers=0 "
            "launch=graph",
    .knob = "page_cache",
    .before = "kept",
    .after = "dropped",
    .needs = WHERE_TWO_CORES, /* as all that waits for its input */
    .least_cost = { METRIC_READ_TIME, 0.15, VARIANT_AFTER },
    .is_other_work = true,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Ten quick runs on two very busy cores of an EPYC: 14.7 to 24.2, and steps take 2.8 to
         * 4.0 times as long. */
        { METRIC_READ_TIME, GROWS, .at_least = 2 },
        /* No ladder brings in what is slower. */
        { METRIC_STEP_TIME, GROWS, .is_cost = true },
    },
    /* Nothing is wrong with the files: no finding is accepted. */
    .tolerated_after = { { "data_loading", ANYWHERE },
                         { "device_wait", WHERE_CPU_DEVICE },
                         { "data_jitter", ANYWHERE },
                         { "epoch_gap", ANYWHERE },
                         { "host_sync", ANYWHERE } },
};
