/* The folder that a run writes into: for one run at a time, and without a moment at which its
 * result file and the traces in it do not belong together.
 *
 *   result.json          of the last run that completed a scenario
 *   traces, traces-2 ... the traces that result.json names
 *   run.lock             while a run is under way; if it is killed, until the next run has begun
 *
 * A run puts its traces into a folder that did not exist, so that the rename of result.json, which
 * names that folder, replaces the older results together with their traces, which are removed after
 * it. Before a run makes anything it writes to run.lock which folders it will leave behind if it is
 * killed: its own, as long as result.json does not name it, and the older one after that. The next
 * run removes them.
 *
 * Removed are only files that a run names so: SCENARIO.VARIANT.json.gz, and what becomes one
 * (atomic_file.h). A folder in which a user put something stays. */
#pragma once

#include "harness/base/status.h"
#include "harness/text/result_traces.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct result_folder {
    const char *path; /* borrowed */
    int descriptor;   /* of the folder */
    int lock;         /* the descriptor of run.lock; whoever has it open keeps the folder locked */
    char unlocked[128]; /* why the file system cannot lock; "": it can */
    char date[64]; /* of the results that are there, until they are replaced; "": there are none */
    char older[RESULT_TRACES_NAME];  /* the folder of their traces; "": none */
    char traces[RESULT_TRACES_NAME]; /* of this run's traces, below `path`; "": it makes none */
};

/* Makes the folder where it is missing, locks it, removes what a killed run left, and makes a
 * folder for the traces if `traced`. IO: it cannot be written, another run is under way in it, or
 * its result.json is not that of a run. Close it in any case. */
enum status result_folder_open(struct result_folder *folder, const char *path, bool traced);

/* After result.json was written: removes the traces of the older results. */
void result_folder_replaced(struct result_folder *folder);

/* Removes this run's traces that none of the first `count` scenarios in `all` names, those of
 * result.json, and unlocks the folder. `all` may be NULL where there are none. */
void result_folder_close(struct result_folder *folder, const cJSON *all, int count);
