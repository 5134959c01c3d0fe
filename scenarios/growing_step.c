/* Writing a history whole at each step.
 *
 * A history is kept of the run: predictions, losses, gradients' norms. To keep its file up to date,
 * the loop writes it anew at each step, so that a step does what all steps before it have left: the
 * first hundred take no time, and nobody looks at the thousandth. Tables of loggers are written so
 * (a wandb.Table that is logged again), a JSON file that has a list in it, and metrics that are
 * computed of all predictions so far. N steps write N * N / 2 records in place of N. Records that
 * are appended, or summed up as they come, cost the same at each step.
 *
 * Here the history is a table of the epoch's predictions, 1024 rows of a label, logits and
 * probabilities, and both variants leave the same file. It begins anew with each epoch. */
#include "scenarios/scenario.h"

const struct scenario scenario_growing_step = {
    .name = "growing_step",
    .title = "Writing a history whole at each step",
    .also = "training gets slower and slower, slowdown over time, quadratic, wandb.Table, "
            "json.dump, torch.cat",
    .group = GROUP_LOGGING,
    .symptom = "training gets slower and slower, and is fast again when it is started anew",
    .cause = "each step goes through all that the steps before it have left: a history that is "
             "written, scanned or joined whole",
    .fix = "append the step's records (a line of JSON each), keep running sums, and compute of the "
           "whole once an epoch",
    .look = "the time of steps beside their number: it grows, for the same work on the device",
    .cost = "none; a reader has to take lines, and not one document",
    .pytorch = {
        .before = "import json\n"
                  "history = []\n"
                  "for inputs, labels in loader:\n"
                  "    history.append(train_step(inputs, labels).item())\n"
                  "    with open(\"history.json\", \"w\") as file:\n"
                  "        json.dump(history, file)\n",
        .after = "import json\n"
                 "with open(\"history.jsonl\", \"w\") as file:\n"
                 "    for inputs, labels in loader:\n"
                 "        loss = train_step(inputs, labels).item()\n"
                 "        print(json.dumps(loss), file=file)\n",
    },
    .base = "model=light blocks=1 tokens=4 batch=32 launch=graph accuracy=host",
    .knob = "predictions",
    .before = "rewritten",
    .after = "appended",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 32 steps write 32 * 33 / 2 of their tables. */
        { METRIC_TABLE_BYTES, SHRINKS, .at_least = 10, .at_most = 17 },
        /* Fourteen quick runs on two cores of an EPYC, on which others wanted ten times as many:
         * 4.0 to 7.2. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.3 },
    },
    .accept = { { "growing_steps", ANYWHERE } },
    /* Both variants wait for the logits in every step. */
    .tolerated_after = { { "host_sync", ANYWHERE },
                         { "host_work", ANYWHERE },
                         { "logging_gap", ANYWHERE },
                         { "launch_bound", ANYWHERE } },
};
