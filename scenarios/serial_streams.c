/* Queueing independent work on one stream.
 *
 * A stream runs one kernel after the other, whether or not the second needs the first. The backward of a linear layer
 * is two products, the gradient of its weight and of its input, and neither needs the other. A small product leaves
 * SMs (here: cores) without work; on a second stream the other one takes them. An event says when both may begin,
 * and another when both are done. */
#include "scenarios/scenario.h"

const struct scenario scenario_serial_streams = {
    .name = "serial_streams",
    .title = "Queueing independent work on one stream",
    .group = GROUP_KERNELS,
    .symptom = "the device is busy all the time, and most of it is idle: kernels fill a part of its SMs",
    .cause = "branches that need nothing of each other are queued on one stream, which keeps its order",
    .fix = "queue one branch on a second stream, with an event where they part and one where they meet",
    .look = "one row of kernels without a gap before; two rows that overlap in backward after",
    .cost = "two records and two waits each time; memory must stay until both streams are done with it "
            "(record_stream); gains nothing where each kernel fills the device, or where launches hold it up",
    .pytorch =
        {
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
    .base = "model=heavy batch=32 tokens=37 blocks=1 launch=eager loss_every=3",
    .knob = "backward_streams",
    .before = "one",
    .after = "two",
    .needs = WHERE_TWO_CORES, /* each stream of the CPU device is computed by one */
    .loss = LOSS_IDENTICAL,
    .expect =
        {
            /* Two quiet cores of an EPYC: backward 1.31, the step 1.14. Two busy ones show nothing. Not measured on a
             * GPU, where products of 1184 rows have fewer tiles than an H100 has SMs. */
            { METRIC_BACKWARD_TIME, SHRINKS, .at_least = 1.1, .where = WHERE_CPU_DEVICE },
            { METRIC_BACKWARD_TIME, SHRINKS, .at_least = 1.02, .where = WHERE_CUDA },
            { METRIC_STEP_TIME, SHRINKS, .at_least = 1.02 },
        },
    /* No rule finds cores without work on the CPU device: each of its kernels says nothing of them. */
    .accept = { { "small_grid", WHERE_CUDA } },
    .tolerated_after = { { "small_grid", WHERE_CUDA },
                         { "launch_bound", ANYWHERE },
                         { "naive_attention", ANYWHERE },
                         { "device_wait", WHERE_CPU_DEVICE } },
};
