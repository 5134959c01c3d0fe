#include "harness/desk/analysis/summary.h"

#include <malloc.h>
#include <math.h>
#include <string.h>

static enum status make_products(struct summary *summary)
{
    const struct span_row *forward = spans_find(&summary->spans, summary->trace, "forward", false);

    summary->product_fixed_ns = NAN;
    return forward == NULL ? STATUS_OK
                           : products_fixed_ns(&summary->product_fixed_ns, &summary->timeline,
                                               (double)forward->count);
}

/* What passes release stays in the heap, and larger tables never go there: glibc maps those. Without this, a trace of
 * 1 GB needs 1.56 times the memory of its events, and one of 200 MB 1.87 times. */
static void give_back_memory(void)
{
    malloc_trim(0);
}

enum status summary_make(struct summary *summary, const struct trace_file *trace)
{
    enum status status = STATUS_OK;

    memset(summary, 0, sizeof *summary);
    summary->trace = trace;
    TRY(timeline_make(&summary->timeline, trace));
    TRY(steps_make(&summary->steps, &summary->timeline));
    TRY(captures_make(&summary->captures, &summary->timeline, &summary->steps));
    TRY(launches_make(&summary->launches, &summary->timeline, &summary->captures));
    TRY(kernels_make(&summary->kernels, &summary->timeline));
    TRY(spans_make(&summary->spans, &summary->timeline));
    TRY(operator_kinds_make(&summary->operator_kinds, &summary->timeline, NULL));
    TRY(phases_make(&summary->phases, &summary->timeline, &summary->steps));
    TRY(first_uses_make(&summary->first_uses, &summary->timeline, &summary->captures));
    TRY(messages_make(&summary->messages, &summary->timeline, &summary->steps));
    TRY(make_products(summary));
    give_back_memory();
    TRY(host_activity_make(&summary->host, &summary->timeline, &summary->first_uses,
                           &summary->captures));
    give_back_memory();
    TRY(pauses_find(&summary->host, &summary->timeline, &summary->steps));
    TRY(pause_table_make(&summary->pauses, &summary->timeline, &summary->host));
    TRY(memory_curve_make(&summary->memory, trace)); /* late: others need more memory for a while */
    give_back_memory();
    TRY(idle_make(&summary->idle, &summary->timeline, &summary->steps, &summary->host));
    TRY(call_tree_make(&summary->calls, &summary->timeline, &summary->host, summary->idle.start_ns,
                       summary->idle.end_ns));
    if (summary->timeline.host_alone)
        TRY(host_operators_make(&summary->operators, &summary->timeline, summary->idle.start_ns,
                                summary->idle.end_ns));
    give_back_memory();

out:
    return status;
}

void summary_release(struct summary *summary)
{
    call_tree_release(&summary->calls);
    idle_release(&summary->idle);
    pause_table_release(&summary->pauses);
    host_activity_release(&summary->host);
    memory_curve_release(&summary->memory);
    first_uses_release(&summary->first_uses);
    phases_release(&summary->phases);
    operator_kinds_release(&summary->operator_kinds);
    spans_release(&summary->spans);
    kernels_release(&summary->kernels);
    captures_release(&summary->captures);
    steps_release(&summary->steps);
    timeline_release(&summary->timeline);
}
