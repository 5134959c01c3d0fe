/* Pinning memory in the training loop.
 *
 * Only a copy from pinned memory is asynchronous, so a loop pins each batch before it copies it. To
 * allocate pinned memory is a call to the driver that locks every page, and to free it waits until
 * the device has done all of its work ("CUDA C++ Programming Guide", "Implicit Synchronization" and
 * "Page-Locked Host Memory"). So the copy no longer waits, and everything else does. Pinned memory
 * that is allocated once and loaded into, by a loader with pin_memory=True, costs neither.
 * PyTorch's own allocator keeps what it has pinned, but the copy into it is left, and batches of
 * new sizes are allocated anew (PyTorch, "A guide on good usage of non_blocking and pin_memory()").
 */
#include "scenarios/scenario.h"

const struct scenario scenario_pinned_in_loop = {
    .name = "pinned_in_loop",
    .title = "Pinning memory in the training loop",
    .also = "cudaHostAlloc, cudaMallocHost, cudaFreeHost, cudaHostRegister, tensor.pin_memory()",
    .group = GROUP_COPIES,
    .symptom = "copies are asynchronous, and the device still idles between two steps",
    .cause = "each batch is pinned by the loop: an allocation that locks pages, and a free that "
             "waits for the device",
    .fix = "have the loader pin batches (DataLoader(pin_memory=True)), or keep pinned memory and "
           "copy into it",
    .look = "cudaHostAlloc and cudaFreeHost in every step; in PyTorch, which keeps what it pinned, "
            "a copy on the host before each one to the device, and cudaHostAlloc for new sizes",
    .cost = "the pinned memory stays, and what is pinned cannot be swapped",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    if torch.cuda.is_available():\n"
                  "        inputs = inputs.pin_memory()\n"
                  "    inputs = inputs.to(device, non_blocking=True)\n"
                  "    train_step(inputs, labels.to(device))\n",
        .after = "loader = DataLoader(dataset, batch_size=8,\n"
                 "                    pin_memory=torch.cuda.is_available())\n"
                 "for inputs, labels in loader:\n"
                 "    inputs = inputs.to(device, non_blocking=True)\n"
                 "    train_step(inputs, labels.to(device))\n",
    },
    .base = "model=light data=images batch=8 tokens=17 patch=8 crop=16 input=loaded "
            "transfer=overlapped",
    .knob = "pinning",
    .before = "loop",
    .after = "loader",
    .loss = LOSS_IDENTICAL,
    .expect = {
        { METRIC_HOST_ALLOCATIONS, SHRINKS, .before_above = 0.9, .after_below = 0.01 },
        /* Ten quick runs on two cores of an EPYC, busy with other work: 1.8 to 3.3. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.15 },
    },
    .accept = { { "allocation_churn", ANYWHERE } },
    /* Copies and compute share the host's cores. */
    .tolerated_after = { { "exposed_copy", WHERE_CPU_DEVICE },
                         { "device_wait", WHERE_CPU_DEVICE } },
};
