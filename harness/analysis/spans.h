/* Operators and phases by name: their time on the host, and that of the device work they launched.
 *
 * Spans of a thread nest. A launch belongs to the innermost span that its call begins in (self) and to
 * every span around (total). Self time on the host is a span's own less that of the spans directly in it.
 * If a name is nested in itself, totals count the outermost only. Steps are not rows: steps.h has them. */
#ifndef HARNESS_ANALYSIS_SPANS_H
#define HARNESS_ANALYSIS_SPANS_H

#include "harness/analysis/timeline.h"

enum { SPANS_DEPTH = 1024 }; /* deeper ones are left out */

struct span_row {
    uint32_t name;
    bool is_phase; /* an annotation, not an operator */
    int64_t count;
    int64_t host_total_ns, host_self_ns;
    int64_t device_total_ns, device_self_ns; /* sums of durations */
};

struct spans {
    struct span_row *rows; /* longest device total first, then host total */
    int64_t count;
};

/* OUT_OF_MEMORY. Release in every case. */
enum status spans_make(struct spans *spans, const struct timeline *timeline);
void spans_release(struct spans *spans);

/* The row of that name; NULL: none. `begins`: the first row, thus the longest, whose name begins so. */
const struct span_row *spans_find(const struct spans *spans, const struct trace_file *trace,
                                  const char *name, bool begins);

#endif
