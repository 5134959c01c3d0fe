/* A diagnosis for programs. Times are nanoseconds; an unknown value is null.
 *
 *   {"schema": 1, "is_run", "run": {...}, "traces": [{"file", "partial", "partial_reason", "events", "text_bytes",
 *     "damaged_events", "damaged_at_byte", "damaged_reason", "stray_events", "dropped_records", "rank", "world_size", "device": {"name", "count"},
 *     "span_ns", "busy_ns", "idle_ns", "compute_ns", "communication_ns", "exposed_communication_ns",
 *     "exposed_copy_ns", "idle": {"host_wait", "device_wait", "other"},
 *     "window": {"start_ns", "end_ns", "busy_ns", "idle_ns", "busy_share", "causes": {...},
 *       "after_wait_ns"},
 *     "steps": {"count", "mean_ns", "min_ns", "max_ns", "median_ns", "untraced_ns", "parts": {...},
 *       "duration_ns": [...]},
 *     "phases": [{"name", "host_ns", "device_ns", "work_count"}],
 *     "launches": {"count", "mean_host_ns", "mean_delay_ns", "max_delay_ns", "short_count", "queue_max"},
 *     "kernels": [{"name", "kind", "count", "total_ns", "mean_ns", "min_ns", "max_ns", "share",
 *       "blocks_per_sm", "occupancy_percent", "bytes", "gb_per_second", "pageable", "grid", "block"}],
 *     "operator_count",
 *     "operators": [{"name", "is_call", "count", "replayed_count", "host_total_ns", "host_self_ns",
 *       "device_total_ns", "device_self_ns", "host_bytes", "host_self_bytes", "device_bytes", "device_self_bytes", "flops"}],
 *     "annotation_count", "annotations": [as "operators"],
 *     "operator_kind_count", "operator_kinds": [{"name", "input_dims", "count", "device_ns", "host_ns",
 *       "flops", "bytes"}],
 *     "memory": [...], "gaps": [...], "timeline": {...}, "bottleneck",
 *     "bottleneck_share", "headline", "healthy",
 *     "findings": [{"id", "bottleneck", "severity", "lost_ns_per_step", "predicted_gain",
 *       "predicted_gain_at_least", "predicted_gain_at_most", "confidence", "evidence", "advice", "title",
 *       "of_whole", "scenarios",
 *       "where": {"kind", "file", "line", "last_line", "function", "call", "share"}}]}]}
 *
 * "is_run": the traces are ranks of one run, which were judged together; ranks_json.h has "run". "idle" and what is before it are
 * from the device's first work to its last, as HolisticTraceAnalysis has it (usage.h). "window" is what
 * findings are judged by (idle.h): busy and idle time sum to it, and the causes to its idle time; their
 * names are those of gaps; "busy_share" is that of `run` (diagnosis.h), and "after_wait_ns" the part of the
 * host's causes after it had waited for the device. "parts" are means per step, which sum to "mean_ns"
 * (steps.h); "untraced_ns" is a step without a tracer, where the trace states it. "phases" are means per
 * step (phases.h). `launches` are calls that caused device work: their time on the host, how much later
 * their work begins, how many launch a kernel shorter than themselves, and how many of a stream were queued
 * at most. `kernels` is all device work by name, the longest total first; "kind" is computation,
 * communication, copy or memset, "share" that of the time of all work, and "grid" and "block" those of the
 * longest launch. "exposed_copy_ns" is copies while no kernel runs. `operators`, with
 * calls of the runtime among them, and "annotations" are the first of "operator_count" and "annotation_count" in
 * the order and number of diagnosis.tables, else the 100 with the most device time (spans.h); "operator_kinds"
 * groups them by what kind of layer they are, "linear backward" (operator_kinds.h); bytes of memory
 * are null where the trace states none, "flops" where no call does. memory_json.h has "memory", timeline_json.h has
 * "gaps" and "timeline". "bottleneck" is a word of headline.h, "bottleneck_share" the part of a step that it
 * explains, and "headline" a sentence; of a finding "bottleneck" is "none" if it says nothing of what limits
 * the run. "healthy" says why nothing is wrong. "of_whole": the trace marks no steps, and the lost time is of
 * all of it. "scenarios": those of this suite that show the finding, the best one first. "where": the
 * place in the program that most of the cost comes from, and its share; its "kind" is line, annotation or operator
 * (call_place.h); null where the trace does not tell. "predicted_gain_at_least" is true where the trace tells a
 * part of the gain only, and "predicted_gain_at_most" where it bounds the gain and the lost time from above. */
#ifndef HARNESS_REPORT_DIAGNOSIS_JSON_H
#define HARNESS_REPORT_DIAGNOSIS_JSON_H

#include "harness/diagnosis/diagnosis.h"
#include "harness/text/json.h"

/* `only`: the trace that is written, -1 for all. With the timeline of `timeline_steps` steps; 0: without one.
 * *text is malloc'd. OUT_OF_MEMORY. */
enum status diagnosis_json(const struct diagnosis *diagnosis, int only, int timeline_steps,
                           char **text);

/* A place in the program as above, as member `name` of `to`; null where it is unknown. */
void place_json(struct json *json, cJSON *to, const char *name, const struct call_place *place);

/* An array of findings as above, as member `name` of `to`. */
void findings_json(struct json *json, cJSON *to, const char *name, const struct findings *findings);

/* One of them, added to such an array; returns it. */
cJSON *finding_json(struct json *json, cJSON *array, const struct finding *finding);

void headline_json(struct json *json, cJSON *object, const struct headline *headline);

#endif
