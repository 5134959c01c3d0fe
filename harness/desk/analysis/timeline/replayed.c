/* Spans are sorted, and each knows the one around it. A kernel's spans are then the last one that
 * begins before it and those around. */
#include "harness/desk/analysis/timeline/replayed.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/phases.h"

static bool is_replayed(const struct trace_event *event)
{
    return event->kind == EVENT_KIND_GPU_ANNOTATION && event->correlation != 0;
}

COMPARATOR(by_place, struct replayed_span,
           ASCENDING(event->track) ?: ASCENDING(event->start_ns) ?: DESCENDING(event->end_ns)
           ?: ASCENDING(event))

static void find_parents(struct replayed *replayed)
{
    int64_t open = -1;

    for (int64_t i = 0; i < replayed->count; i++) {
        const struct trace_event *event = replayed->items[i].event;
        while (open >= 0 && (replayed->items[open].event->track != event->track ||
                             replayed->items[open].event->correlation != event->correlation ||
                             replayed->items[open].event->end_ns <= event->start_ns))
            open = replayed->items[open].parent;
        replayed->items[i].parent = open;
        open = i;
    }
}

/* The last span that begins on the work's stream, at its start or before; -1. */
static int64_t last_before(const struct replayed *replayed, const struct trace_event *work)
{
    int64_t low = 0, high = replayed->count;

    BISECT(low, high, i, trace_event_begins_by(replayed->items[i].event, work));
    return low > 0 && replayed->items[low - 1].event->track == work->track ? low - 1 : -1;
}

static bool is_in(const struct work *work, const struct replayed_span *span)
{
    return span->event->correlation == work->call->correlation &&
           span->event->end_ns >= work->event->end_ns;
}

const struct replayed_span *replayed_find(const struct replayed *replayed, const struct work *work)
{
    if (work->call == NULL)
        return NULL;
    for (int64_t at = last_before(replayed, work->event); at >= 0; at = replayed->items[at].parent)
        if (is_in(work, &replayed->items[at]))
            return &replayed->items[at];
    return NULL;
}

static void take_work(struct replayed *replayed, const struct trace_file *trace,
                      const struct work *work)
{
    int64_t ns = work->event->end_ns - work->event->start_ns;
    bool innermost = true;

    for (int64_t at = last_before(replayed, work->event); at >= 0;
         at = replayed->items[at].parent) {
        struct replayed_span *span = &replayed->items[at];
        if (!is_in(work, span))
            continue;
        span->total_ns = intervals_sum_ns(span->total_ns, ns);
        if (innermost)
            span->self_ns = intervals_sum_ns(span->self_ns, ns);
        innermost = false;
    }
    if (!innermost) {
        int64_t *of_launch = &replayed->work_ns[work->call - trace->events];
        *of_launch = intervals_sum_ns(*of_launch, ns);
    }
}

struct replayed replayed_of(struct arena *arena, const struct timeline *timeline)
{
    struct replayed replayed = { .count = 0 };
    const struct trace_file *trace = timeline->trace;
    int64_t count = 0;

    for (int64_t i = 0; i < trace->event_count; i++) count += is_replayed(&trace->events[i]);
    if (count == 0)
        return replayed;
    replayed.items = ARENA_NEW(arena, struct replayed_span, count);
    replayed.work_ns = ARENA_NEW(arena, int64_t, trace->event_count);
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        enum phase phase;
        if (is_replayed(event))
            replayed.items[replayed.count++] = (struct replayed_span){
                .event = event,
                .is_phase = phase_of_name(trace_file_name(trace, event->name), &phase)
            };
    }
    sort_items(replayed.items, replayed.count, sizeof *replayed.items, by_place);
    find_parents(&replayed);
    for (int64_t i = 0; i < timeline->work_count; i++)
        if (timeline->work[i].call != NULL)
            take_work(&replayed, trace, &timeline->work[i]);
    return replayed;
}
