/* The folder that a run writes into: for one run at a time, and without a moment at which its
 * result file and the traces in it do not belong together.
 *
 *   result.json          what the last run of each scenario measured
 *   traces, traces-2 ... the traces that result.json names
 *   run.lock             while a run is under way; if it is killed, until the next run has begun
 *
 * Nothing that was measured is lost. Results of this machine and build stay, but for those of the
 * scenarios that are measured anew; others are set aside, with their whole folder: FOLDER.1.
 *
 * A run puts its traces where none of its scenarios has one, so that the rename of result.json,
 * which names them, replaces a scenario together with its traces. Traces that it does not name are
 * removed at the end. Before a run makes anything it writes to run.lock in which folders it may
 * leave something behind if it is killed. The next run removes that.
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
    char date[64]; /* of the results that are there or were moved aside, until one of this run is;
                      "": there were none */
    cJSON *older;  /* their document, for the result file to take over; NULL: there is none */
    char aside[PATH_MAX + 16];       /* where others were moved; "": there were none */
    struct result_traces listed;     /* folders of traces in which something may be left behind */
    char traces[RESULT_TRACES_NAME]; /* of this run's traces, below `path`; "": it makes none */
};

/* Makes the folder where it is missing, locks it, removes what a killed run left, sets aside
 * results whose context is of another machine or build than `context`, and makes a folder for the
 * traces of the scenarios that `traced` marks, one for each of `scenarios`; NULL: none. IO: it
 * cannot be written, another run is under way in it, or its result.json is not that of a run. Close
 * it in any case. */
enum status result_folder_open(struct result_folder *folder, const char *path, const bool *traced,
                               const cJSON *context);

/* Removes traces that result.json does not name, and unlocks the folder. Where there is none, what
 * was set aside comes back. */
void result_folder_close(struct result_folder *folder);
