/* A capture lasts from the call that begins it to the one that ends it on the same thread; calls
 * are told by their names. */
#include "harness/desk/analysis/timeline/captures.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/phases.h"

#include <string.h>

/* The name of a call tells what it does. A trace has far fewer names than calls, so each name is
 * looked at once. */
enum does { DOES_OTHER, DOES_BEGIN, DOES_END, DOES_INSTANTIATE, DOES_LAUNCH };

enum { AROUND_MOST = 100000 }; /* events to look back for the operator around a capture */

struct search {
    struct captures *captures;
    const struct timeline *timeline;
    const enum does *does;           /* by name */
    const struct trace_event *begun; /* the capture under way; NULL: none */
    bool ended;                      /* a capture, since a graph was made last */
    bool launched;                   /* a graph */
};

/* The innermost operator that contains a time, which ends with the host's event of that number;
 * NULL: none does. */
static const struct trace_event *operator_around(const struct timeline *timeline, int64_t number,
                                                 int64_t start_ns)
{
    const struct trace_event *last = timeline->host[number];

    for (int64_t i = number; i-- > 0 && number - i < AROUND_MOST;) {
        const struct trace_event *event = timeline->host[i];
        if (event->track != last->track)
            break;
        if (event->kind == EVENT_KIND_OPERATOR && event->start_ns <= start_ns &&
            event->end_ns >= last->end_ns)
            return event;
    }
    return NULL;
}

/* The whole operator around a capture counts as time of the capture. */
static void add_capture(struct search *search, int64_t number, int64_t start_ns)
{
    const struct trace_event *last = search->timeline->host[number];
    const struct trace_event *around = operator_around(search->timeline, number, start_ns);
    struct intervals *taken = &search->captures->taken;

    if (around != NULL)
        intervals_add(taken, around->start_ns, around->end_ns);
    else
        intervals_add(taken, start_ns, last->end_ns);
}

/* A graph that is made of a capture which has no rows: what the operator around has launched until
 * then went into it. */
static void take_unseen(struct search *search, int64_t number)
{
    const struct trace_event *made = search->timeline->host[number];
    const struct trace_event *around = operator_around(search->timeline, number, made->start_ns);

    if (around == NULL)
        return;
    intervals_add(&search->captures->times, around->start_ns, made->end_ns);
    search->captures->count++;
}

static void take_call(struct search *search, int64_t number)
{
    const struct trace_event *event = search->timeline->host[number];
    struct captures *captures = search->captures;

    switch (search->does[event->name]) {
    case DOES_BEGIN:
        search->begun = event;
        break;
    case DOES_END:
        if (search->begun != NULL) {
            intervals_add(&captures->times, search->begun->start_ns, event->end_ns);
            add_capture(search, number, search->begun->start_ns);
            captures->count++;
            search->ended = true;
        }
        search->begun = NULL;
        break;
    case DOES_INSTANTIATE: /* of the capture that ended, or of one that was not recorded */
        if (!search->ended)
            take_unseen(search, number);
        add_capture(search, number, event->start_ns);
        captures->instantiated++;
        search->ended = false;
        break;
    case DOES_LAUNCH:
        search->launched = true;
        break;
    case DOES_OTHER:
        break;
    }
}

/* A capture is of one thread, and the host's events are sorted by thread. */
static void find_captures(struct search *search)
{
    const struct timeline *timeline = search->timeline;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (i > 0 && event->track != timeline->host[i - 1]->track) {
            search->begun = NULL;
            search->ended = false;
        }
        if (trace_event_is_call(event))
            take_call(search, i);
    }
    intervals_merge(&search->captures->times);
    intervals_merge(&search->captures->taken);
}

int64_t steps_that_have(const struct intervals *times, const struct steps *steps, bool *again)
{
    bool begun = false, paused = false;
    int64_t count = 0;

    *again = false;

    for (int64_t i = 0; i < steps->count; i++) {
        const struct trace_event *step = steps->items[i].event;
        int64_t at = intervals_after(times, step->start_ns);
        bool has = at < times->count && times->items[at].start_ns < step->end_ns;
        *again = *again || (has && paused);
        paused = begun && !has;
        begun = begun || has;
        count += has;
    }
    return count;
}

/* An engine that starts captures the pieces of its model one after the other, or a graph for each
 * batch size, and launches none of them yet. Else: in every fifth step or more often, so many times
 * that no warm-up explains it, or anew after a step without. */
static bool come_again(const struct captures *captures, const struct steps *steps)
{
    bool anew;

    if (steps->count == 0 || captures->count * 5 < steps->count)
        return false;
    steps_that_have(&captures->times, steps, &anew);
    return captures->count >= CAPTURES_REPEAT || (captures->count >= CAPTURES_ANEW && anew);
}

struct captures captures_of(struct arena *arena, const struct timeline *timeline,
                            const struct steps *steps)
{
    uint32_t names = trace_file_name_count(timeline->trace);
    SCRATCH_ARENA(scratch, arena);
    enum does *does = ARENA_NEW(scratch, enum does, names);
    struct captures captures = { .times.arena = arena, .taken.arena = arena };
    struct search search = { .captures = &captures, .timeline = timeline, .does = does };

    for (uint32_t i = 0; i < names; i++) {
        const char *name = trace_file_name(timeline->trace, i);
        does[i] = name_begins_capture(name)             ? DOES_BEGIN
                  : name_ends_capture(name)             ? DOES_END
                  : name_instantiates(name)             ? DOES_INSTANTIATE
                  : strstr(name, "GraphLaunch") != NULL ? DOES_LAUNCH
                                                        : DOES_OTHER;
    }
    find_captures(&search);
    captures.again = search.launched && come_again(&captures, steps);
    captures.idle = timeline_idle_within(arena, timeline, &captures.taken);
    return captures;
}

/* --- What launches of graphs run --- */

/* Spans are sorted, and each knows the one around it. A kernel's spans are then the last one that
 * begins before it and those around. */

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
