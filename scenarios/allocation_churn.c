/* Allocating every tensor from the device anew.
 *
 * Most tensors live for a fraction of a step, and the device's own calls are not made for that:
 * allocating maps memory, and freeing waits until the device has finished all queued work. The host
 * can therefore never run ahead of the device, and each waits for the other in turn. A caching
 * allocator asks the device in the first steps only and then hands out the same blocks again, which
 * is safe without waiting because the work of a stream runs in order. */
#include "scenarios/scenario.h"

const struct scenario scenario_allocation_churn = {
    .name = "allocation_churn",
    .title = "Allocating every tensor from the device anew",
    .also = "caching allocator, cudaMalloc, cudaMalloc per tensor, cudaFree, cudaMallocAsync, "
            "stream-ordered allocator, preallocation",
    .group = GROUP_MEMORY,
    .symptom = "the host spends the step in calls that allocate and free, and the device idles",
    .cause = "every tensor is allocated on the device and freed again, and each free waits for it",
    .fix = "use a caching or stream-ordered allocator, or allocate once before the loop",
    .look = "cudaMalloc and cudaFree among the kernels of every step, and an idle device beside "
            "them",
    .cost = "freed blocks stay reserved for the program that cached them; gains nothing where "
            "tensors are allocated once",
    .pytorch = {
        .before = "# A debugging flag that stayed: cudaMalloc and cudaFree\n"
                  "# for every tensor. It counts from torch's first use.\n"
                  "os.environ[\"PYTORCH_NO_CUDA_MEMORY_CACHING\"] = \"1\"\n"
                  "for inputs, labels in loader:\n"
                  "    train_step(inputs, labels)\n",
        .after = "os.environ.pop(\"PYTORCH_NO_CUDA_MEMORY_CACHING\", None)\n"
                 "for inputs, labels in loader:\n"
                 "    train_step(inputs, labels)\n",
    },
    .base = "model=balanced launch=eager",
    .knob = "allocation",
    .before = "direct",
    .after = "caching",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 83 per step on the CPU device, and none. */
        { METRIC_ALLOCATIONS_PER_STEP, SHRINKS, .exact = true, .before_above = 50,
          .after_below = 0.5 },
        /* Quick runs on two cores: 6.0 to 6.7 on an EPYC, 2.31 to 3.48 on a busy Xeon, measured
         * when memory came with its first access. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.7, .where = WHERE_CPU_DEVICE },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.2, .where = WHERE_CUDA },
    },
    .accept = { { "allocation_churn", ANYWHERE } },
    /* Eager launches share two cores with the products there. */
    .tolerated_after = { { "launch_bound", WHERE_CPU_DEVICE } },
};
