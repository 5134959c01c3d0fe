/* Waiting for each batch to arrive.
 *
 * A blocking copy takes its turn after the work that is queued, and the host waits for both. Only
 * then does it queue the next step, so that nothing runs beside the copy: the step costs copy and
 * compute added up. On a stream of its own the copy of the next batch runs while this one is
 * computed, and costs nothing as long as it is the shorter of the two. The device crops the images
 * of this step, so that a batch is large beside the work on it. */
#include "scenarios/scenario.h"

const struct scenario scenario_blocking_copies = {
    .name = "blocking_copies",
    .title = "Waiting for each batch to arrive",
    .also = "non_blocking, asynchronous copies, transfer overlap, cudaMemcpyAsync, double "
            "buffering, device prefetch",
    .group = GROUP_COPIES,
    .symptom = "the device computes nothing while a batch is copied, in every step",
    .cause = "the host copies each batch with a blocking call, between two steps",
    .fix = "copy the next batch asynchronously on its own stream while this one is computed "
           "(non_blocking=True, one batch ahead)",
    .look = "a long copy before each forward, with no kernel below it",
    .cost = "memory for a second batch on the device; gains nothing where other work keeps the "
            "host's cores or the link busy",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    train_step(inputs.to(device), labels.to(device))\n",
        .after = "loader = DataLoader(dataset, pin_memory=True)\n"
                 "compute = torch.cuda.current_stream()\n"
                 "copies, ahead = torch.cuda.Stream(), None\n"
                 "for batch in loader:\n"
                 "    compute.wait_stream(copies)\n"
                 "    now = ahead\n"
                 "    with torch.cuda.stream(copies):\n"
                 "        ahead = [t.to(device, non_blocking=True)\n"
                 "                 for t in batch]\n"
                 "    if now is not None:\n"
                 "        for t in now:\n"
                 "            t.record_stream(compute)\n"
                 "        train_step(*now)\n"
                 "compute.wait_stream(copies)\n"
                 "train_step(*ahead)\n",
    },
    .base = "model=light data=images batch=8 tokens=17 patch=8 crop=16 input=loaded",
    .knob = "transfer",
    .before = "blocking",
    .after = "overlapped",
    .needs = WHERE_TWO_CORES, /* one core cannot copy while it computes */
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* The wait for each copy goes; that for the loss, every 20 steps, remains. */
        { METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 20, .exact = true },
        { METRIC_TRANSFER_TIME, SHRINKS, .at_least = 10 },
        /* On the CPU device overlapping needs a free core: the fastest steps on an EPYC whose two
         * cores were busy took 1.40 ms and 0.87 ms, but most gained nothing. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.1, .where = WHERE_CUDA },
    },
    .accept = { { "exposed_copy", ANYWHERE } },
    /* Copies and compute share the host's cores. */
    .tolerated_after = { { "exposed_copy", WHERE_CPU_DEVICE },
                         { "device_wait", WHERE_CPU_DEVICE } },
};
