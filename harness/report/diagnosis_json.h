/* A diagnosis for programs. Times are nanoseconds; an unknown value is null.
 *
 *   {"traces": [{"file", "partial", "span_ns", "busy_ns", "idle_ns", "compute_ns", "communication_ns",
 *     "exposed_communication_ns", "exposed_copy_ns", "idle": {"host_wait", "device_wait", "other"},
 *     "steps": {"count", "mean_ns", "min_ns", "max_ns"},
 *     "launches": {"count", "mean_host_ns", "mean_delay_ns", "max_delay_ns", "short_count", "queue_max"},
 *     "kernels": [{"name", "kind", "count", "total_ns", "mean_ns", "min_ns", "max_ns", "share",
 *       "blocks_per_sm", "occupancy_percent", "bytes", "gb_per_second", "pageable"}],
 *     "findings": [{"id", "severity", "lost_ns_per_step", "predicted_gain", "predicted_gain_at_least",
 *       "predicted_gain_at_most", "confidence", "evidence", "advice"}]}]}
 *
 * `launches` are calls that caused device work: their time on the host, how much later their work begins,
 * how many launch a kernel shorter than themselves, and how many of a stream were queued at most.
 * `kernels` is all device work by name, the longest total first; "kind" is computation, communication,
 * copy or memset, and "share" that of the time of all work. "exposed_copy_ns" is copies while no kernel
 * runs. "predicted_gain_at_least" is true where the trace tells a part of the gain only,
 * and "predicted_gain_at_most" where it bounds the gain and the lost time from above. */
#ifndef HARNESS_REPORT_DIAGNOSIS_JSON_H
#define HARNESS_REPORT_DIAGNOSIS_JSON_H

#include "harness/diagnosis/diagnosis.h"
#include "harness/text/json.h"

/* *text is malloc'd. OUT_OF_MEMORY. */
enum status diagnosis_json(const struct diagnosis *diagnosis, char **text);

/* An array of findings as above, as member `name` of `to`. */
void findings_json(struct json *json, cJSON *to, const char *name, const struct findings *findings);

#endif
