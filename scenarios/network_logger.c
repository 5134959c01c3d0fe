/* Waiting in the step for the answer of a service.
 *
 * A callback posts the loss of every step to an experiment tracker and returns once that has
 * answered: some milliseconds in which the loop launches nothing. A thread can post instead: the
 * loop leaves the line in a bounded queue and goes on, and the thread posts all that are waiting in
 * one message. The service here is a socket on the loopback and a thread that answers after 3
 * ms. */
#include "scenarios/scenario.h"

const struct scenario scenario_network_logger = {
    .name = "network_logger",
    .title = "Waiting in the step for the answer of a service",
    .also = "wandb, MLflow, experiment tracking, logging overhead",
    .group = GROUP_LOGGING,
    .symptom = "the device is idle after every step, for as long as a service takes to answer",
    .cause = "a callback posts metrics to a tracker over the network, and waits for the answer",
    .fix = "leave the metrics in a bounded queue, and let a thread post all that are waiting",
    .look = "a gap behind the optimizer, as long in every step, in which the host is in a "
            "callback and on no core",
    .cost = "what is still in the queue is lost if the process is killed; gains nothing where the "
            "client of the service has a thread of its own, as most have for scalars, or where it "
            "posts seldom",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    loss = train_step(inputs, labels)\n"
                  "    tracker.log({\"loss\": loss.item()})\n",
        .after = "poster = ThreadPoolExecutor(1)  # its queue has no bound\n"
                 "for inputs, labels in loader:\n"
                 "    loss = train_step(inputs, labels)\n"
                 "    poster.submit(tracker.log, {\"loss\": loss.item()})\n",
    },
    .base = "model=light launch=graph loss_every=1",
    .knob = "log",
    .before = "posted",
    .after = "posted_queued",
    .is_other_work = true,
    .loss = LOSS_IDENTICAL,
    .expect = {
        { METRIC_LOG_SYNCS_PER_STEP, SHRINKS, .exact = true, .before_above = 0.99,
          .after_below = 0.01 },
        /* Two quick runs on two very busy cores of an EPYC: 937 and more, and 2.47 and 2.53. */
        { METRIC_LOG_PAUSE, SHRINKS, .at_least = 10 },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 },
    },
    .accept = { { "logging_gap", ANYWHERE } },
    /* The loss is still read in every step. */
    .tolerated_after = { { "host_sync", ANYWHERE } },
};
