/* result.json: what a run measured, as Google Benchmark 1.9 writes it, and all that it has no words
 * for.
 *
 *   {"context": {...}, "benchmarks": [...],
 *    "chokepoint": {"schema": 1, "scenarios": [...], "kernels": [...]}}
 *
 * `benchmarks` has rows "item_sync/before" and "item_sync/after", one per repetition and then the
 * mean, median, stddev and cv, times always in us: Google Benchmark's own compare.py, with `filters
 * result.json /before /after`, compares them as they are. A row of time zero would make compare.py
 * drop its overall figure, so scenarios that were skipped or failed are only in `chokepoint`, which
 * holds every scenario with its verdict, effects, settings and raw samples.
 *
 * An A/A comparison has `"aa": true` in its entry and rows "item_sync/aa:1" and "item_sync/aa:2":
 * the filters /aa:1 /aa:2 pair them, and who looks for /before or /after finds none of them.
 *
 * `kernels` has the pairs of kernels (lesson_run.h). Their rows, "bank_conflicts/counts:before",
 * have counters, and neither /before nor /after finds them: their times are the host's, to execute
 * PTX.
 *
 * Results of an earlier run that are in the folder stay, if they are of this machine and build: a
 * scenario that was measured replaces its own older one.
 *
 * From the first scenario on, or the first measured one where there are older results, there is a
 * whole, valid file at every moment: each version is written beside the last one, forced to disk
 * and renamed over it. `struct result_folder` says what else is in the folder. */
#pragma once

#include "harness/base/status.h"
#include "harness/lab/experiment/result.h"
#include "harness/lab/kernel/lesson_run.h"
#include "harness/text/result_traces.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

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

struct result_file;

enum { RESULT_SCHEMA = 1 }; /* of the member `chokepoint`; grows when a reader must know */

/* Locks `folder`, which must outlive the file, and tries whether a result file can be written into
 * it; one of an earlier run stays until a scenario was measured. `device` is what will be measured
 * on; `traced` and the errors are those of result_folder_open(): ask before anything runs. */
enum status result_file_open(struct result_file **file, const char *folder, const bool *traced,
                             const struct device_properties *device,
                             const struct device_health *health);

/* The file stays, with the traces that it names, and the folder is unlocked. NULL is allowed. */
void result_file_close(struct result_file *file);

/* The folder of the file, whether or not it is written yet, with its traces and what it
 * replaces. */
const struct result_folder *result_file_folder(const struct result_file *file);

/* Scenarios and pairs of kernels of this run that are in the file on disk. */
int result_file_written(const struct result_file *file);

/* Leaves out the rows of repetitions from now on: those of aggregates are enough. */
void result_file_leave_out(struct result_file *file, bool repetitions);

/* Adds a scenario and writes the file anew. It is as it was until a scenario was measured: skipped
 * and failed ones before it are written with it. One that gave no row does not replace one that
 * did. IO when the disk is full or the
 * folder is gone: the file is then as it was before, and the next call tries to write this scenario
 * too. */
enum status result_file_add(struct result_file *file, const struct scenario_result *result);

/* The same of a pair of kernels. */
enum status result_file_add_lesson(struct result_file *file, const struct lesson_result *result);

/* The path of the file: "chokepoint-result/result.json". */
const char *result_file_path(const struct result_file *file);

/* The file's text as of now; malloc'd. */
enum status result_file_text(const struct result_file *file, char **text);
