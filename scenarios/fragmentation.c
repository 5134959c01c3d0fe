/* A cache of memory in pieces that do not fit.
 *
 * A caching allocator gives out a freed block again if it is large enough. Where lengths vary, the
 * next step asks for other sizes: what was freed is a little too small, so the device is asked for
 * more, and the old pieces stay in the cache, or are cut into smaller ones still. In the end much
 * more is reserved than is ever in use, and the step runs out of memory that it does not need.
 * Rounding sizes makes blocks of different requests alike, small blocks share segments, and a limit
 * on cutting keeps large blocks large. */
#include "scenarios/scenario.h"

const struct scenario scenario_fragmentation = {
    .name = "fragmentation",
    .title = "A cache of memory in pieces that do not fit",
    .also = "memory fragmentation, PYTORCH_ALLOC_CONF, PYTORCH_CUDA_ALLOC_CONF, "
            "expandable_segments, max_split_size_mb, reserved memory, variable input length",
    .group = GROUP_MEMORY,
    .symptom = "much more device memory is reserved than is ever allocated, and large batches fail",
    .cause = "sizes vary from step to step, and blocks freed by one step are too small for the "
             "next",
    .fix = "round sizes and limit splitting (PYTORCH_CUDA_ALLOC_CONF, since PyTorch 2.9 also "
           "PYTORCH_ALLOC_CONF), or pad lengths to few sizes",
    .look = "total reserved against total allocated in the memory curve",
    .cost = "what is rounded up is lost within blocks, and padding is computed on; gains nothing "
            "where every step asks for the same sizes",
    .pytorch = {
        .before = "# Each length asks for sizes of its own.\n"
                  "for inputs, labels in loader:\n"
                  "    train_step(inputs, labels)\n",
        .after = "# Before torch's first use; or expandable_segments:True.\n"
                 "os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = (\n"
                 "    \"roundup_power2_divisions:4,max_split_size_mb:256\")\n"
                 "for inputs, labels in loader:\n"
                 "    train_step(inputs, labels)\n",
    },
    .base = "model=balanced data=sequences tokens=512 width=32 blocks=2 batch=4 accumulate=4 "
            "precision=fp32 input=cached padding=longest launch=eager "
            "memory_budget=40MiB",
    .knob = "segments",
    .before = "exact",
    .after = "rounded",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 3.83 and 1.14 on the CPU device, in ten quick runs. */
        { METRIC_RESERVED_RATIO, SHRINKS, .at_least = 1.7, .before_above = 2, .after_below = 1.5 },
        { METRIC_MEMORY_RESERVED, SHRINKS, .at_least = 1.7 },
    },
    .accept = { { "fragmentation", ANYWHERE } },
    /* A length that comes for the first time has products that do, too; and samples are few per
     * launch. */
    /* A model 32 wide is small for a GPU. */
    .tolerated_after = { { "initialisation", ANYWHERE }, { "launch_bound", ANYWHERE },
                         { "small_kernels", WHERE_CUDA } },
};
