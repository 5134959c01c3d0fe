/* Launching one small kernel after the other.
 *
 * Each launch costs the host a call and makes the device wait for it. When a kernel ends before the
 * host can launch the next one, the launches set the pace and the device idles between kernels. A
 * captured graph submits all kernels of a step in one call. */
#include "scenarios/scenario.h"

const struct scenario scenario_launch_overhead = {
    .name = "launch_overhead",
    .title = "Launching one small kernel after the other",
    .also = "kernel launch overhead, launch-bound, overhead-bound, CPU-bound, host-bound, CUDA "
            "graphs, torch.cuda.graph, torch.compile, torch.compile mode=reduce-overhead, "
            "reduce-overhead, kernel launch latency, eager mode, graph capture, "
            "cudaGraphLaunch, make_graphed_callables",
    .group = GROUP_LAUNCHES,
    .symptom = "the device is idle between kernels that are each shorter than their launch",
    .cause = "a separate call launches every kernel, and the calls take longer than the work",
    .fix = "capture the step as a graph and launch that (CUDA graphs, torch.compile with "
           "mode=\"reduce-overhead\"), or fuse kernels",
    .look = "a dense row of cudaLaunchKernel above kernels with gaps between them",
    .cost = "shapes must not change and no value may be read on the host in between; gains "
            "nothing where kernels are longer than their launches; torch.compile fuses kernels, "
            "too",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    loss = loss_fn(model(inputs), labels)\n"
                  "    loss.backward()\n",
        .after = "model = torch.compile(model, mode=\"reduce-overhead\")\n"
                 "for inputs, labels in loader:\n"
                 "    loss = loss_fn(model(inputs), labels)\n"
                 "    loss.backward()\n",
    },
    .base = "model=light batch=1 tokens=4 elementwise=unfused optimizer=unfused",
    .knob = "launch",
    .before = "eager",
    .after = "graph",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 605 per step, and 1. */
        { METRIC_LAUNCHES_PER_STEP, SHRINKS, .at_least = 310 },
        /* Ten quiet runs on two cores of an EPYC: 449 to 627; ten quick ones on another: 500 and
         * more. */
        { METRIC_SUBMISSION_TIME, SHRINKS, .at_least = 250, .where = WHERE_CPU_DEVICE },
        { METRIC_SUBMISSION_TIME, SHRINKS, .at_least = 10, .where = WHERE_CUDA },
        /* Quick runs on two cores of a Xeon: 1.39 to 2.80. The lowest came while another virtual
         * machine slowed the kernels. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.25, .where = WHERE_CPU_DEVICE },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.2, .where = WHERE_CUDA },
    },
    .accept = { { "launch_bound", ANYWHERE }, { "small_kernels", ANYWHERE } },
};
