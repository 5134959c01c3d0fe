#include "harness/desk/analysis/summary.h"

#include "harness/desk/analysis/repeated_regions.h"
#include "harness/desk/analysis/repeated_work.h"

#include <math.h>

static double fixed_ns_of_products(struct arena *arena, const struct summary *summary)
{
    const struct span_row *forward = spans_find(&summary->spans, summary->trace, "forward", false);

    return forward == NULL ? (double)NAN
                           : products_fixed_ns(arena, &summary->timeline, (double)forward->count);
}

struct summary summary_of(struct arena *arena, struct trace_file *trace)
{
    struct summary summary = { .arena = arena, .trace = trace };
    const struct timeline *timeline = &summary.timeline;
    const struct steps *steps = &summary.steps;

    summary.timeline = sound_timeline_of(arena, trace, &summary.soundness);
    summary.steps = steps_of(arena, timeline);
    if (steps->count == 0)
        summary.steps = repeated_regions_of(arena, timeline);
    if (steps->count == 0)
        summary.steps = repeated_work_of(arena, timeline);
    if (steps->count > 0)
        summary.timeline.from_ns = steps->items[0].event->start_ns;
    summary.usage = timeline_counted_usage(timeline);
    summary.captures = captures_of(arena, timeline, steps);
    summary.launches = launches_of(arena, timeline, &summary.captures);
    summary.kernels = kernels_of(arena, timeline);
    summary.spans = spans_of(arena, timeline);
    summary.operator_kinds = operator_kinds_of(arena, timeline, NULL);
    summary.phases = phases_of(arena, timeline, steps);
    summary.first_uses = first_uses_of(arena, timeline, &summary.captures);
    summary.messages = messages_of(arena, timeline, steps);
    summary.mix = mix_of(arena, timeline, steps);
    summary.product_fixed_ns = fixed_ns_of_products(arena, &summary);
    summary.host = host_activity_of(arena, timeline, &summary.first_uses, &summary.captures);
    pauses_find(&summary.host, arena, timeline, steps);
    summary.pauses = pause_table_of(arena, timeline, &summary.host);
    summary.memory = memory_curve_of(arena, trace); /* late: others need more for a while */
    summary.idle = idle_of(arena, timeline, steps, &summary.host);
    summary.graph = graph_of(arena, timeline, steps, &summary.host, &summary.idle);
    summary.calls =
        call_tree_of(arena, timeline, &summary.host, summary.idle.start_ns, summary.idle.end_ns);
    if (timeline->host_alone)
        summary.operators =
            host_operators_of(arena, timeline, summary.idle.start_ns, summary.idle.end_ns);
    return summary;
}
