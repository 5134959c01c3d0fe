/* Whether less or more of a metric is better, by its name. */
#pragma once

enum metric_says { METRIC_SAYS_NOTHING, METRIC_IS_COST, METRIC_IS_RATE };

/* A rate ends in "_per_second": more is better. A name with a word of a cost in it ("step_time",
 * "bytesUsed") is one: less is better. All others say nothing: of a share or a score, either may be
 * better, and "Throughput" or "ops" may be what a benchmark was asked to do. */
enum metric_says metric_name_says(const char *metric);
