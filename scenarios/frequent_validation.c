/* Validating every few steps.
 *
 * All held-out samples go through the model whenever it is validated, and the training waits. So
 * much that costs a hundred steps is nothing once an epoch, and half of the run every hundred
 * steps. Intervals are left as they were while the data set was small (the Trainer's eval_steps in
 * Hugging Face's Transformers, val_check_interval in Lightning), and a loop that was written for a
 * first try validates without batches, in fp32 or on the host. A share p of time for validation
 * asks for an interval of (1 - p) / p times what one takes, in steps.
 *
 * Here one evaluation of all held-out samples is some 16 forward passes, in batches of the
 * training's size, each of which the host waits for to count what is right. The losses of the
 * training are the same bits, however often that is. */
#include "scenarios/scenario.h"

const struct scenario scenario_frequent_validation = {
    .name = "frequent_validation",
    .title = "Validating every few steps",
    .also = "evaluation, validation, eval_steps, eval_strategy, val_check_interval, "
            "evaluate, torch.no_grad, rare_work",
    .group = GROUP_LOGGING,
    .symptom = "steps are fast, yet an epoch takes far longer than its steps: now and then the "
               "loop is away for a while",
    .cause = "all held-out samples are evaluated every few steps, while the training waits",
    .fix = "validate less often, on a part of the samples in between, in large batches without "
           "gradients; or in another job, from saved states",
    .look = "time between steps that belongs to none of them, and forward passes without a "
            "backward",
    .cost = "one sees later that a run goes wrong, and stops or keeps its best state later",
    .pytorch = {
        .before = "for step, (inputs, labels) in enumerate(loader):\n"
                  "    train_step(inputs, labels)\n"
                  "    if step % 2 == 0:\n"
                  "        with torch.no_grad():\n"
                  "            for x, y in loader:  # of held-out samples\n"
                  "                loss_fn(model(x.to(device)), y.to(device))\n",
        .after = "for step, (inputs, labels) in enumerate(loader):\n"
                 "    train_step(inputs, labels)\n"
                 "    if step % 20 == 0:\n"
                 "        with torch.no_grad():\n"
                 "            for x, y in loader:  # of held-out samples\n"
                 "                loss_fn(model(x.to(device)), y.to(device))\n",
    },
    .base = "model=light launch=graph",
    .knob = "validate_every",
    .before = "10",
    .after = "100",
    .is_other_work = true,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* A tenth as many forward passes; the step itself is one launch. */
        { METRIC_LAUNCHES_PER_STEP, SHRINKS, .at_least = 5, .at_most = 10 },
        /* Ten quick runs on two very busy cores of an EPYC: 4.5 to 8.4. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.3 },
    },
    /* A trace of some steps has no evaluation, or one: no finding is accepted, but `record` of a
     * whole run tells it. */
    .tolerated_after = { { "launch_bound", ANYWHERE },
                         { "host_sync", ANYWHERE },
                         { "small_kernels", ANYWHERE },
                         { "small_copies", ANYWHERE },
                         { "device_wait", WHERE_CPU_DEVICE } },
};
