/* Writing the log while the step waits.
 *
 * Both variants read the loss in every step and write a line with it, and both force the line to
 * disk, so that the last lines are there even if the machine fails. In the loop that makes every
 * step as much longer as the disk takes. A thread can do it instead: the loop leaves the line in a
 * queue and goes on, and the thread forces all lines that are waiting to disk at once. The queue is
 * bounded, so that a disk that cannot keep up is noticed and memory does not fill. */
#include "scenarios/scenario.h"

const struct scenario scenario_blocking_logger = {
    .name = "blocking_logger",
    .title = "Writing the log while the step waits",
    .also = "synchronous logging, print, tensorboard, logging_steps, log_every_n_steps",
    .group = GROUP_LOGGING,
    .symptom = "the device is idle after every step, for as long as the disk takes for a line",
    .cause = "the loop writes a line of the log and forces it to disk (flush and fsync)",
    .fix = "leave the line in a bounded queue, and let a thread write it",
    .look = "the log phase after each step: it goes on long after the copy of the loss has ended",
    .cost = "the lines that are still in the queue are lost if the process is killed; gains "
            "little where lines are few, the disk takes microseconds, or nothing forces lines to "
            "it",
    .pytorch = {
        .before = "log = open(\"log.txt\", \"w\")\n"
                  "for step, (inputs, labels) in enumerate(loader):\n"
                  "    loss = train_step(inputs, labels)\n"
                  "    log.write(f\"{step} {loss.item()}\\n\")\n"
                  "    log.flush()\n"
                  "    os.fsync(log.fileno())\n",
        .after = "def write(line):\n"
                 "    log.write(line)\n"
                 "    log.flush()\n"
                 "    os.fsync(log.fileno())\n"
                 "\n"
                 "log = open(\"log.txt\", \"w\")\n"
                 "writer = ThreadPoolExecutor(1)  # its queue has no bound\n"
                 "for step, (inputs, labels) in enumerate(loader):\n"
                 "    loss = train_step(inputs, labels)\n"
                 "    writer.submit(write, f\"{step} {loss.item()}\\n\")\n",
    },
    .base = "model=light launch=graph loss_every=1",
    .knob = "log",
    .before = "synced",
    .after = "queued",
    /* Disks that take microseconds exist. This much of a step is a gain of 1.16. */
    .least_cost = { METRIC_LOG_PAUSE, .share = 0.14 },
    .loss = LOSS_IDENTICAL,
    .expect = {
        { METRIC_LOG_SYNCS_PER_STEP, SHRINKS, .exact = true, .before_above = 0.99,
          .after_below = 0.01 },
        /* Fourteen quick runs on two very busy cores of an EPYC, whose disk takes 0.17 ms for a
         * line when it is quiet: 265 to 1852, and 1.26 to 5.27. */
        { METRIC_LOG_PAUSE, SHRINKS, .at_least = 10 },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.1 },
    },
    .accept = { { "logging_gap", ANYWHERE } },
    /* The loss is still read in every step. */
    .tolerated_after = { { "host_sync", ANYWHERE } },
};
