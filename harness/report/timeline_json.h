/* The order of events, for programs. Times are nanoseconds on the file's clock; an unknown value is null.
 *
 *   "gaps": [{"start_ns", "duration_ns", "step", "cause", "causes": {...}, "after_wait", "before", "after",
 *     "call", "where"}]
 *
 * are the longest times in which no device worked, LONGEST_GAPS at most, the longest first. "step" is
 * the number of the step that it begins in; "causes" how its time splits (idle.h): "queued", "stalled",
 * "unknown", or what the host did: "outside", "operators", "loading", "logging", "saving", "launching",
 * "copying", "allocating", "waiting"; "cause" the longest of these. "after_wait": the host was waiting for
 * the device when it began. "before" and "after" are the work at its ends, "call" the one that launched
 * what came after, "where" the place in the program, as that of a finding (diagnosis_json.h).
 *
 *   "timeline": {"start_ns", "end_ns", "steps": [number], "tracks_left_out", "names": [...], "rows": [{"kind",
 *     "process", "thread", "is_loop", "depth", "categories": [...], "start_ns": [...], "duration_ns": [...],
 *     "name": [...], "category": [...], "count": [...], "covered_ns": [...]}]}
 *
 * are bars to draw (excerpt.h). "kind" is steps, phases, operators, calls, work or idle; "process" and
 * "thread" of work are its device and stream. The arrays of a row belong together, an element per bar: its
 * start, counted from the timeline's; its name and category as indices of "names" and "categories", null
 * where there is none; and of bars that stand for several events their number, and the sum of their
 * durations: "count" and "covered_ns" are null where every bar stands for one. */
#ifndef HARNESS_REPORT_TIMELINE_JSON_H
#define HARNESS_REPORT_TIMELINE_JSON_H

#include "harness/analysis/summary.h"
#include "harness/text/json.h"

/* OUT_OF_MEMORY. */
enum status gaps_json(struct json *json, cJSON *to, const struct summary *summary);

/* `steps` steps are drawn, at least one. OUT_OF_MEMORY. */
enum status timeline_json(struct json *json, cJSON *to, const struct summary *summary, int steps);

#endif
