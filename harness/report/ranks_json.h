/* The ranks of a run for programs, as member "run" of a diagnosis; null where the traces are no run:
 *
 *   {"world_size", "missing_ranks": [...], "step_ns", "bottleneck", "bottleneck_share", "headline",
 *    "slow_rank": {"rank", "as_slow": [...], "communication_ns", "others_communication_ns", "lost_ns",
 *      "matters"},
 *    "ranks": [{"rank", "file", "compared", "step_ns", "busy_share", "compute_ns", "communication_ns",
 *      "exposed_communication_ns", "data_loading_ns", "waits_ns", "first_finding"}],
 *    "findings": [{..., "rank", "ranks": [...], "least_lost_ns_per_step", "most_lost_ns_per_step"}]} */
#ifndef HARNESS_REPORT_RANKS_JSON_H
#define HARNESS_REPORT_RANKS_JSON_H

#include "harness/diagnosis/diagnosis.h"
#include "harness/text/json.h"

void ranks_json(struct json *json, cJSON *to, const struct diagnosis *diagnosis);

#endif
