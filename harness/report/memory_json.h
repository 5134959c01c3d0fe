/* Memory over time, for programs. Bytes; times are nanoseconds; an unknown value is null.
 *
 *   [{"device", "stated", "limit_bytes", "peak_bytes", "peak_at_ns", "reserved_at_peak_bytes",
 *     "reserved_peak_bytes", "first_bytes", "last_bytes",
 *     "categories": [{"name", "at_peak_bytes", "peak_bytes", "bytes": [...]}],
 *     "curve": {"point_count", "start_ns", "at_ns": [...], "allocated_bytes": [...], "reserved_bytes": [...]}}]
 *
 * "device" -1 is the host, where no device states its memory. "stated" is false where totals are changes
 * since the trace began. "limit_bytes" is what the step may reserve of the device's memory. The arrays of
 * "curve" and of the categories belong together: a point each, at "start_ns" + "at_ns", whose values hold
 * until the next. They are MEMORY_JSON_POINTS at most, chosen of "point_count" as memory_samples.h says. */
#ifndef HARNESS_REPORT_MEMORY_JSON_H
#define HARNESS_REPORT_MEMORY_JSON_H

#include "harness/analysis/summary.h"
#include "harness/text/json.h"

enum { MEMORY_JSON_POINTS = 400 };

/* OUT_OF_MEMORY. */
enum status memory_json(struct json *json, cJSON *to, const struct summary *summary);

#endif
