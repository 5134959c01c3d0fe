/* Waiting for every kernel before the next is launched.
 *
 * CUDA_LAUNCH_BLOCKING=1 makes an error appear at the launch that caused it, and is easily left in
 * a job script. Every launch then returns when its kernel has ended, so the host never works ahead
 * and the device idles between any two kernels, for as long as waking the host and launching
 * take. */
#include "scenarios/scenario.h"

const struct scenario scenario_launch_blocking = {
    .name = "launch_blocking",
    .title = "Waiting for every kernel before the next is launched",
    .also = "CUDA_LAUNCH_BLOCKING, synchronous launches",
    .group = GROUP_SYNCS,
    .symptom = "the device is idle between all kernels, long ones too",
    .cause = "a debugging flag that was left on (CUDA_LAUNCH_BLOCKING=1): each launch waits for "
             "its kernel",
    .fix = "unset the variable in the job script; compute-sanitizer finds bad accesses without it",
    .look = "launch calls as long as their kernels, and no kernel that is queued before the last "
            "ends",
    .cost = "errors are reported at a later call; gains little where all kernels are long",
    .pytorch = {
        .before = "# In the environment, before CUDA is first used.\n"
                  "os.environ[\"CUDA_LAUNCH_BLOCKING\"] = \"1\"\n"
                  "for inputs, labels in loader:\n"
                  "    train_step(inputs, labels)\n",
        .after = "os.environ.pop(\"CUDA_LAUNCH_BLOCKING\", None)\n"
                 "for inputs, labels in loader:\n"
                 "    train_step(inputs, labels)\n",
    },
    .base = "model=light batch=8 tokens=4 loss_every=20",
    .knob = "launch",
    .before = "blocking",
    .after = "eager",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 201 per step, then the 0.05 of reading the loss. */
        { METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 2100 },
        /* Five quick runs on two cores of an EPYC: 1.27 and 1.31; 14 to 23 where other programs had
         * most of the cores, as each wait then loses its core. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.1, .where = WHERE_CPU_DEVICE },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.2, .where = WHERE_CUDA },
    },
    .accept = { { "host_sync", ANYWHERE } },
    /* Small kernels that are launched one by one. */
    .tolerated_after = { { "launch_bound", ANYWHERE }, { "small_kernels", ANYWHERE } },
};
