/* The host and the tables need the timeline, the steps and the captures, and nothing of each other:
 * two threads find them. */
#include "harness/desk/analysis/summary.h"

#include "harness/desk/analysis/timeline/unmarked_steps.h"

#include <math.h>

/* The host: what it did, what the device waited for, and what a step would be without. */
static void find_host(struct arena *arena, void *context)
{
    struct summary *summary = context;
    const struct timeline *timeline = &summary->timeline;
    const struct steps *steps = &summary->steps;

    summary->first_uses = first_uses_of(arena, timeline, &summary->captures, steps);
    summary->host = host_activity_of(arena, timeline, &summary->first_uses, &summary->captures);
    pauses_find(&summary->host, arena, timeline, steps);
    summary->pauses = pause_table_of(arena, timeline, &summary->host);
    summary->idle = idle_of(arena, timeline, steps, &summary->host);
    summary->graph = graph_of(arena, timeline, steps, &summary->host, &summary->idle);
    summary->calls =
        call_tree_of(arena, timeline, &summary->host, summary->idle.start_ns, summary->idle.end_ns);
    if (timeline->host_alone)
        summary->operators =
            host_operators_of(arena, timeline, summary->idle.start_ns, summary->idle.end_ns);
}

/* The tables of kernels, operators, phases, messages and memory. */
static void find_tables(struct arena *arena, void *context)
{
    struct summary *summary = context;
    const struct timeline *timeline = &summary->timeline;
    const struct span_row *forward;

    summary->launches = launches_of(arena, timeline, &summary->captures);
    summary->kernels = kernels_of(arena, timeline);
    summary->spans = spans_of(arena, timeline);
    summary->operator_kinds = operator_kinds_of(arena, timeline, NULL);
    summary->phases = phases_of(arena, timeline, &summary->steps);
    summary->messages = messages_of(arena, timeline, &summary->steps, &summary->phases);
    summary->mix = mix_of(arena, timeline, &summary->phases);
    forward = spans_find(&summary->spans, summary->trace, "forward", false);
    summary->product_fixed_ns =
        forward == NULL ? (double)NAN
                        : products_fixed_ns(arena, &summary->timeline, (double)forward->count);
    summary->memory =
        memory_curve_of(arena, summary->trace); /* late: others need more for a while */
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
    summary.timeline.from_ns =
        steps->count > 0 ? steps->items[0].event->start_ns : timeline_cut_ns(timeline);
    summary.usage = timeline_counted_usage(timeline);
    summary.captures = captures_of(arena, timeline, steps);
    arena_run_both(arena, find_host, find_tables, &summary);
    return summary;
}
