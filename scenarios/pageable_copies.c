/* Copying batches from pageable memory.
 *
 * The device can read pinned memory by itself. Pageable memory may move, so the driver stages it:
 * the host copies every byte into a pinned buffer, piece by piece, and the device copies it from
 * there. An asynchronous copy then keeps the host in its call, and the batch arrives at the pace of
 * both copies together. The device crops the images of this step, so that a batch is large beside
 * the work on it. */
#include "scenarios/scenario.h"

const struct scenario scenario_pageable_copies = {
    .name = "pageable_copies",
    .title = "Copying batches from pageable memory",
    .also = "pin_memory, pinned memory, page-locked memory, H2D bandwidth, H2D, host-to-device "
            "copy, host-to-device transfer",
    .group = GROUP_COPIES,
    .symptom = "the host is held up in copies that should be asynchronous, and the device waits "
               "for them",
    .cause = "batches are in pageable host memory, so every copy is staged through a pinned buffer",
    .fix = "load batches into pinned memory (pin_memory=True) and copy asynchronously",
    .look = "copies named Pageable, each with a call of cudaMemcpyAsync that is as long as the "
            "copy",
    .cost = "pinned memory cannot be swapped out, and allocating it takes long: allocate it once; "
            "gains little where copies are a small part of the step",
    .pytorch = {
        .before = "loader = DataLoader(dataset)\n"
                  "for inputs, labels in loader:\n"
                  "    inputs = inputs.to(device, non_blocking=True)\n"
                  "    labels = labels.to(device, non_blocking=True)\n"
                  "    train_step(inputs, labels)\n",
        .after = "loader = DataLoader(dataset, pin_memory=True)\n"
                 "for inputs, labels in loader:\n"
                 "    inputs = inputs.to(device, non_blocking=True)\n"
                 "    labels = labels.to(device, non_blocking=True)\n"
                 "    train_step(inputs, labels)\n",
    },
    .base = "model=light data=images batch=8 tokens=17 patch=8 crop=16 input=loaded "
            "transfer=overlapped",
    .knob = "host_memory",
    .before = "pageable",
    .after = "pinned",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Quick runs on two cores of an EPYC: 52 to 335; and 1.29 to 1.47. An H200: 214 and 1.19,
         * an H100: 124 and 1.53. */
        { METRIC_TRANSFER_TIME, SHRINKS, .at_least = 10 },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.15, .where = WHERE_CPU_DEVICE },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.05, .where = WHERE_CUDA },
    },
    .accept = { { "pageable_copy", ANYWHERE } },
    /* Copies and compute share the host's cores. */
    .tolerated_after = { { "exposed_copy", WHERE_CPU_DEVICE },
                         { "device_wait", WHERE_CPU_DEVICE } },
};
