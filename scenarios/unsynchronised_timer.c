/* Reading the clock before the device has done the work.
 *
 * A launch returns at once: the step is queued, and the device has hardly begun. Two readings of
 * the clock around it are the time that queueing took, which says nothing about the step. The flops
 * of the step over that time are often more than the device can do: a time that is faster than the
 * hardware is one that nobody waited for. */
#include "scenarios/scenario.h"

const struct scenario scenario_unsynchronised_timer = {
    .name = "unsynchronised_timer",
    .title = "Reading the clock before the device has done the work",
    .also = "torch.cuda.synchronize, CUDA events, asynchronous execution, "
            "torch.utils.benchmark, torch.cuda.Event, time.time(), perf_counter, benchmarking",
    .group = GROUP_MEASURING,
    .symptom = "a step is reported as faster than the hardware: more FLOP/s than the peak, and "
               "epochs that take longer than their steps",
    .cause = "the clock is read when the step is queued, not when the device has done it",
    .fix = "wait for the device before each reading (torch.cuda.synchronize()), or let it time "
           "itself (torch.cuda.Event)",
    .look = "kernels that begin when the reading is over",
    .cost = "each wait drains the queue: wait once before and once after many steps, and not at "
            "all where nobody looks; readings over many steps that end with loss.item() are right "
            "anyway",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    start = time.perf_counter()\n"
                  "    train_step(inputs, labels)\n"
                  "    print(time.perf_counter() - start)  # to queue it\n",
        .after = "for inputs, labels in loader:\n"
                 "    start = time.perf_counter()\n"
                 "    train_step(inputs, labels)\n"
                 "    torch.cuda.synchronize()\n"
                 "    print(time.perf_counter() - start)\n",
    },
    .base = "model=balanced input=resident launch=graph",
    .knob = "timer",
    .before = "queue",
    .after = "end",
    .is_other_work = true,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Queueing a graph takes some us on the host, however long it runs. On two very busy cores
         * of an EPYC: 75 to 1466. A window of many steps may fill a GPU's queue, and then queueing
         * waits. */
        { METRIC_REPORTED_OVER_TRUE, GROWS, .at_least = 5, .after_below = 1.1 },
        { METRIC_REPORTED_STEP_TIME, GROWS, .at_least = 5 },
    },
    /* Nothing is wrong with the step before: no finding is accepted. */
    .tolerated_after = { { "host_sync", ANYWHERE }, { "device_wait", WHERE_CPU_DEVICE } },
};
