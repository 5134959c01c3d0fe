#include "harness/analysis/summary.h"

#include <string.h>

enum status summary_make(struct summary *summary, const struct trace_file *trace)
{
    enum status status = STATUS_OK;

    memset(summary, 0, sizeof *summary);
    summary->trace = trace;
    TRY(timeline_make(&summary->timeline, trace));
    TRY(steps_make(&summary->steps, &summary->timeline));
    TRY(launches_make(&summary->launches, &summary->timeline));
    TRY(kernels_make(&summary->kernels, &summary->timeline));
    TRY(spans_make(&summary->spans, &summary->timeline));
    TRY(host_activity_make(&summary->host, &summary->timeline));
    TRY(memory_curve_make(&summary->memory, trace)); /* late: others need more memory for a while */
    TRY(idle_make(&summary->idle, &summary->timeline, &summary->steps, &summary->host));

out:
    return status;
}

void summary_release(struct summary *summary)
{
    idle_release(&summary->idle);
    host_activity_release(&summary->host);
    memory_curve_release(&summary->memory);
    spans_release(&summary->spans);
    kernels_release(&summary->kernels);
    steps_release(&summary->steps);
    timeline_release(&summary->timeline);
}
