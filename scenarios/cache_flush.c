/* Emptying the allocator's cache in every step.
 *
 * A caching allocator keeps freed memory so that the next step need not ask the device for it.
 * Calling empty_cache() in the loop "to save memory" gives all of it back: every release waits for
 * the device, and the next step allocates the same segments again. The peak, which decides whether
 * a step fits, stays where it was, because within a step nothing is released. */
#include "scenarios/scenario.h"

const struct scenario scenario_cache_flush = {
    .name = "cache_flush",
    .title = "Emptying the allocator's cache in every step",
    .also = "empty_cache, torch.cuda.empty_cache",
    .group = GROUP_MEMORY,
    .symptom = "every step ends in releases of device memory and begins with allocations of as "
               "much",
    .cause = "empty_cache() in the loop gives back what the next step allocates again",
    .fix = "leave out empty_cache(): the cache is reused, and the peak is the same without it",
    .look = "cudaFree after every step and cudaMalloc in the next one, and an idle device beside "
            "them",
    .cost = "the cache keeps memory that another program on the device could use; emptying it "
            "once, after a phase that needed much more, is right",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    train_step(inputs, labels)\n"
                  "    if device.type == \"cuda\":\n"
                  "        torch.cuda.empty_cache()\n",
        .after = "for inputs, labels in loader:\n"
                 "    train_step(inputs, labels)\n",
    },
    .base = "model=balanced batch=32 launch=eager",
    .knob = "empty_cache_every",
    .before = "1",
    .after = "never",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 3 per step on the CPU device before the fix, and none after it. */
        { METRIC_ALLOCATIONS_PER_STEP, SHRINKS, .exact = true, .before_above = 2,
          .after_below = 0.5 },
        /* Eleven quick runs on two busy cores of an EPYC: 1.46 to 1.80; 18 on two cores of a Xeon:
         * 1.27 to 1.45, with intervals that begin at 1.13 to 1.25. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.1, .where = WHERE_CPU_DEVICE },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.05, .where = WHERE_CUDA },
    },
    .accept = { { "allocation_churn", ANYWHERE } },
    /* Eager launches share two cores with the products there. */
    .tolerated_after = { { "launch_bound", WHERE_CPU_DEVICE } },
};
