/* Timing the first steps with the others.
 *
 * The first steps do what no later one does: memory is allocated, libraries choose and load their
 * kernels, workers start, each new shape is compiled or captured. A short run that counts this says
 * how long it takes to start, and not how long it trains. */
#include "scenarios/scenario.h"

const struct scenario scenario_cold_start = {
    .name = "cold_start",
    .title = "Timing the first steps with the others",
    .also = "warm-up, warm-up iterations, first iteration, cudnn.benchmark, autotuning, "
            "lazy loading",
    .group = GROUP_MEASURING,
    .symptom = "a short run reports longer steps than a long one, and each repetition another time",
    .cause = "the timer runs from the first step on, in which everything is done for the first "
             "time",
    .fix = "warm up: time steps only when two groups of them in a row take as long",
    .look = "a few long steps at the beginning, with captures, allocations and first calls",
    .cost = "the time of some steps; what a job of few steps pays for its start is real, and a "
            "figure of its own",
    .pytorch = {
        .before = "start = time.perf_counter()\n"
                  "for _, (inputs, labels) in zip(range(8), loader):\n"
                  "    train_step(inputs, labels)\n"
                  "torch.cuda.synchronize()\n"
                  "print((time.perf_counter() - start) / 8)\n",
        .after = "batches = iter(loader)\n"
                 "for _ in range(3):  # warm up\n"
                 "    train_step(*next(batches))\n"
                 "torch.cuda.synchronize()\n"
                 "start = time.perf_counter()\n"
                 "steps = [train_step(*batch) for batch in batches]\n"
                 "torch.cuda.synchronize()\n"
                 "print((time.perf_counter() - start) / len(steps))\n",
    },
    .base = "model=light batch=1 tokens=12 elementwise=unfused optimizer=unfused launch=graph "
            "padding=longest pad_to_multiple_of=4",
    .knob = "timer",
    .before = "cold",
    .after = "end",
    .is_other_work = true,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Each length is launched kernel by kernel twice, and captured for both inputs: most of the
         * first 8 steps are of that kind. On two very busy cores of an EPYC, where others did not
         * come between: 3.3 to 3.7. */
        { METRIC_REPORTED_OVER_TRUE, SHRINKS, .at_least = 1.5, .after_below = 1.1,
          .where = WHERE_CPU_DEVICE },
        { METRIC_REPORTED_OVER_TRUE, SHRINKS, .at_least = 1.2, .after_below = 1.1,
          .where = WHERE_CUDA },
        { METRIC_REPORTED_STEP_TIME, SHRINKS, .at_least = 1.2 },
    },
    /* Traces begin when the run is warm: no finding is accepted. The kernels are small and many on
     * purpose, so that a capture takes long. */
    .tolerated_after = { { "host_sync", ANYWHERE },
                         { "unfused_ops", ANYWHERE },
                         { "device_wait", WHERE_CPU_DEVICE } },
};
