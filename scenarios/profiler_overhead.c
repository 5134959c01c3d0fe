/* Taking times from a run that a profiler records.
 *
 * A profiler that keeps the call stack of every operator works in the loop that it watches: it
 * makes the host slower, not the device. A step that waits for its host becomes longer, and the
 * profile shows waits that are shorter without it. A trace tells shares, order and causes; how long
 * a step takes, a run without it tells. */
#include "scenarios/scenario.h"

const struct scenario scenario_profiler_overhead = {
    .name = "profiler_overhead",
    .title = "Taking times from a run that a profiler records",
    .also = "torch.profiler, with_stack, record_shapes, profile_memory, observer effect, "
            "debugging APIs, detect_anomaly, emit_nvtx",
    .group = GROUP_MEASURING,
    .symptom = "steps take longer in the trace than without it, and the device waits for launches "
               "more",
    .cause = "the profiler records each operator with its call stack (with_stack=True), in the "
             "thread that launches",
    .fix = "time steps without the profiler, and use traces for shares; stacks only to find a line",
    .look = "the step in the trace beside the step without it; gaps between short kernels",
    .cost = "one more run; where the device sets the pace the profiler costs little, and times "
            "from a trace are nearly right",
    .pytorch = {
        .before = "with torch.profiler.profile(with_stack=True):\n"
                  "    start = time.perf_counter()\n"
                  "    for inputs, labels in loader:\n"
                  "        loss = train_step(inputs, labels)\n"
                  "    loss.item()\n"
                  "    print((time.perf_counter() - start) / len(loader))\n",
        .after = "start = time.perf_counter()\n"
                 "for inputs, labels in loader:\n"
                 "    loss = train_step(inputs, labels)\n"
                 "loss.item()\n"
                 "print((time.perf_counter() - start) / len(loader))\n",
    },
    .base = "model=light batch=1 tokens=4 elementwise=unfused optimizer=unfused launch=eager",
    .knob = "profiler",
    .before = "stacks",
    .after = "none",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Quick runs on two very busy cores of an EPYC: 2.4 to 2.8, either of both. */
        { METRIC_SUBMISSION_TIME, SHRINKS, .at_least = 1.2 },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.2, .where = WHERE_CPU_DEVICE },
    },
    /* In the trace the device waits for launches, which the profiler made slow. No row says so, as
     * in traces of PyTorch: no finding is accepted. */
    .tolerated_after = { { "launch_bound", ANYWHERE },
                         { "unfused_ops", ANYWHERE },
                         { "device_wait", WHERE_CPU_DEVICE } },
};
