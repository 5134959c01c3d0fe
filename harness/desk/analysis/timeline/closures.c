/* One pass over the events of each optimizer's step, which are those that begin in it on its
 * thread. Operators under autograd have a sequence number, which those of an optimizer lack, as
 * it computes without gradients (torch/csrc/autograd/profiler_kineto.cpp, "Sequence number"). */
#include "harness/desk/analysis/timeline/phases.h"

#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/trace/trace_file.h"

#include <string.h>

enum kind { OTHER, OPTIMIZER, CLOSURE, ENGINE };

struct sweep {
    const struct timeline *timeline;
    const enum kind *kinds;    /* by name */
    struct intervals backward; /* merged: the engine's nodes, on any thread */
    struct intervals *times;
    bool has_sequences;
};

static const enum kind *kinds_by_name(struct arena *scratch, const struct trace_file *trace)
{
    uint32_t count = trace_file_name_count(trace);
    enum kind *kinds = ARENA_NEW(scratch, enum kind, count);

    for (uint32_t i = 0; i < count; i++) {
        const char *name = trace_file_name(trace, i);
        kinds[i] = name_begins(name, "Optimizer.step#")    ? OPTIMIZER
                   : strcmp(name, NAME_OF_CLOSURE) == 0    ? CLOSURE
                   : name_begins(name, "autograd::engine") ? ENGINE
                                                           : OTHER;
    }
    return kinds;
}

static bool is_under_autograd(const struct sweep *sweep, const struct trace_event *event)
{
    const struct trace_file *trace = sweep->timeline->trace;

    return sweep->kinds[event->name] == ENGINE ||
           (event->kind == EVENT_KIND_OPERATOR && event->detail != NO_DETAIL &&
            trace->operators[event->detail].sequence >= 0);
}

/* The end of the last node of backward that begins before a moment; at least `least_ns`. */
static int64_t backward_end(const struct sweep *sweep, int64_t least_ns, int64_t before_ns)
{
    const struct intervals *backward = &sweep->backward;

    for (int64_t i = intervals_after(backward, least_ns);
         i < backward->count && backward->items[i].start_ns < before_ns; i++)
        least_ns = interval_later(least_ns, interval_earlier(backward->items[i].end_ns, before_ns));
    return least_ns;
}

/* Adds the marks in the step number `at` of the host's events; false: there are none. */
static bool take_marks(struct sweep *sweep, int64_t at)
{
    const struct timeline *timeline = sweep->timeline;
    const struct trace_event *step = timeline->host[at];
    bool marked = false;

    for (int64_t i = at + 1; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (event->track != step->track || event->start_ns >= step->end_ns)
            break;
        if (sweep->kinds[event->name] != CLOSURE)
            continue;
        intervals_add(sweep->times, event->start_ns, interval_earlier(event->end_ns, step->end_ns));
        marked = true;
    }
    return marked;
}

/* Adds what the step's events tell. The closure is open from the step's begin, as an optimizer
 * calls it before it does anything; an operator of the optimizer's own closes it, and the next one
 * under autograd opens it again. */
static void take_events(struct sweep *sweep, int64_t at)
{
    const struct timeline *timeline = sweep->timeline;
    const struct trace_event *step = timeline->host[at];
    int64_t first = intervals_after(&sweep->backward, step->start_ns);
    int64_t first_ns =
        first < sweep->backward.count ? sweep->backward.items[first].start_ns : INT64_MAX;
    int64_t open_ns = step->start_ns, end_ns = step->start_ns, next_ns = step->start_ns;
    bool is_open = true;

    if (first_ns >= step->end_ns)
        return;
    for (int64_t i = at + 1; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        bool is_closure;
        if (event->track != step->track || event->start_ns >= step->end_ns)
            break;
        if (event->kind != EVENT_KIND_OPERATOR || event->start_ns < next_ns)
            continue;
        next_ns = event->end_ns; /* operators in it are a part of it */
        is_closure =
            event->start_ns < first_ns || !sweep->has_sequences || is_under_autograd(sweep, event);
        if (!is_closure && is_open)
            intervals_add(sweep->times, open_ns, backward_end(sweep, end_ns, event->start_ns));
        else if (is_closure && !is_open)
            open_ns = end_ns;
        is_open = is_closure;
        end_ns = interval_earlier(event->end_ns, step->end_ns);
    }
    if (is_open)
        intervals_add(sweep->times, open_ns, backward_end(sweep, end_ns, step->end_ns));
}

static void find_backward(struct sweep *sweep)
{
    const struct timeline *timeline = sweep->timeline;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (sweep->kinds[event->name] == ENGINE)
            intervals_add(&sweep->backward, event->start_ns, event->end_ns);
        else
            sweep->has_sequences = sweep->has_sequences || is_under_autograd(sweep, event);
    }
    intervals_merge(&sweep->backward);
}

/* The work that the optimizer's thread launched in closures. */
static int64_t launched_ns(struct arena *scratch, const struct timeline *timeline, uint32_t track,
                           const struct intervals *times)
{
    struct caused_time caused = timeline_caused_time(scratch, timeline);
    int64_t ns = 0;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (event->track == track && trace_event_is_call(event) &&
            timeline_counts(timeline, event) && intervals_contain(times, event->start_ns))
            ns = intervals_sum_ns(ns, caused_ns(&caused, event - timeline->trace->events));
    }
    return ns;
}

struct closures closures_of(struct arena *arena, const struct timeline *timeline)
{
    struct closures closures = { .times.arena = arena };
    SCRATCH_ARENA(scratch, arena);
    struct sweep sweep = { .timeline = timeline,
                           .kinds = kinds_by_name(scratch, timeline->trace),
                           .backward.arena = scratch,
                           .times = &closures.times };
    int64_t end_ns = INT64_MIN;
    uint32_t track = 0;

    find_backward(&sweep);
    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        bool is_inner = event->track == track && event->start_ns < end_ns;
        if (sweep.kinds[event->name] != OPTIMIZER || !timeline_counts(timeline, event) || is_inner)
            continue;
        track = event->track;
        end_ns = event->end_ns;
        if (!take_marks(&sweep, i))
            take_events(&sweep, i);
    }
    intervals_merge(&closures.times);
    closures.host_ns = intervals_within_ns(&closures.times, INT64_MIN, INT64_MAX);
    if (closures.times.count > 0)
        closures.device_ns = launched_ns(scratch, timeline, track, &closures.times);
    return closures;
}
