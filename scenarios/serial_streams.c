/* Queueing independent work on one stream.
 *
 * A stream runs one kernel after the other, whether or not the second needs the first. The backward
 * of a linear layer is two products, the gradient of its weight and of its input, and neither needs
 * the other. A small product leaves SMs (here: cores) without work; on a second stream the other
 * one takes them. An event says when both may begin, and another when both are done. */
#include "scenarios/scenario.h"

const struct scenario scenario_serial_streams = {
    .name = "serial_streams",
    .title = "Queueing independent work on one stream",
    .also = "CUDA streams, torch.cuda.Stream, multi-stream, concurrent kernels, wait_stream, "
            "record_stream",
    .group = GROUP_KERNELS,
    .symptom = "the device is busy all the time, and most of it is idle: kernels fill a part of "
               "its SMs",
    .cause = "branches that need nothing of each other are queued on one stream, which keeps its "
             "order",
    .fix = "queue one branch on a second stream, with an event where they part and one where they "
           "meet",
    .look = "one row of kernels without a gap before; two rows that overlap in backward after",
    .cost = "two records and two waits each time; memory must stay until both streams are done "
            "with it (record_stream); gains nothing where each kernel fills the device, or where "
            "launches hold it up",
    .pytorch = {
        .before = "def backward(q, k, v):  # dy, x and the weight\n"
                  "    dweight = k.transpose(-2, -1) @ q\n"
                  "    dx = q @ v.transpose(-2, -1)\n"
                  "    return dweight, dx\n",
        .after = "side = torch.cuda.Stream()\n"
                 "\n"
                 "def backward(q, k, v):\n"
                 "    main = torch.cuda.current_stream()\n"
                 "    side.wait_stream(main)\n"
                 "    with torch.cuda.stream(side):\n"
                 "        dweight = k.transpose(-2, -1) @ q\n"
                 "    dx = q @ v.transpose(-2, -1)\n"
                 "    main.wait_stream(side)\n"
                 "    return dweight, dx\n",
    },
    .base = "model=heavy precision=fp32 batch=8 width=768 tokens=17 blocks=1 launch=eager "
            "loss_every=3",
    .knob = "backward_streams",
    .before = "one",
    .after = "two",
    .needs = WHERE_TWO_CORES, /* each stream of the CPU device is computed by one */
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Two quiet cores of a Xeon: backward 1.69, the step 1.23. In bf16 its matrix units make
         * the products short, and two threads that hand over to each other take the rest. Two busy
         * cores show nothing. */
        { METRIC_BACKWARD_TIME, SHRINKS, .at_least = 1.3, .where = WHERE_CPU_DEVICE },
        { METRIC_BACKWARD_TIME, SHRINKS, .at_least = 1.02, .where = WHERE_CUDA },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.02 },
    },
    /* No rule finds cores without work on the CPU device: each of its kernels says nothing of
     * them. */
    .accept = { { "small_grid", WHERE_CUDA } },
    .tolerated_after = { { "small_grid", WHERE_CUDA },
                         { "launch_bound", ANYWHERE },
                         { "fp32_matmul", ANYWHERE },
                         { "optimizer_overhead", ANYWHERE } },
};
