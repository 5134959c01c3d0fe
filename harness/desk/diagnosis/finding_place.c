/* A finding's rule sums up time by kind; here the same time is gathered piece by piece and put to
 * the tree of calls (call_sites.h). */
#include "harness/desk/diagnosis/finding_place.h"

#include "harness/desk/analysis/host/call_sites.h"
#include "harness/desk/analysis/names/event_names.h"

#include <string.h>

/* --- Costs --- */

struct gathering {
    const struct summary *summary;
    struct costly_times *times;
    unsigned activities;   /* bits of enum host_kind */
    const char *copies[2]; /* what their names contain: the one or the other */
    bool pageable;         /* only these copies */
    bool all;              /* of an operator's time */
};

/* Idle time while the host did one of these things. Pieces that touch are one time, of which there
 * may be many. */
static void take_piece(void *context, int64_t start_ns, int64_t end_ns, enum host_kind activity)
{
    struct gathering *gathering = context;
    struct costly_times *times = gathering->times;
    struct costly_time *last = times->count > 0 ? &times->items[times->count - 1] : NULL;

    if ((gathering->activities >> activity & 1) == 0)
        return;
    if (last == NULL || last->end_ns != start_ns) {
        costly_times_add(times, start_ns, end_ns, (double)(end_ns - start_ns));
    } else {
        last->end_ns = end_ns;
        last->cost_ns = (double)(end_ns - last->start_ns);
    }
}

/* Only the part of a gap that is the host's is split (idle.h). */
static void take_gap(void *context, const struct idle_gap *gap)
{
    struct gathering *gathering = context;
    const struct host_activity *host = &gathering->summary->host;
    const struct trace_event *call = gap->after != NULL ? gap->after->call : NULL;

    if (gap->time.queued_ns == gap->time.idle_ns || gap->time.unknown_ns > 0)
        return;
    host_activity_visit(host, call != NULL ? call->track : host->loop, gap->start_ns,
                        gap->end_ns - gap->time.queued_ns, take_piece, gathering);
}

/* A wait costs the idle time after it. */
static void take_wait(void *context, const struct idle_gap *gap)
{
    struct gathering *gathering = context;
    struct costly_times *times = gathering->times;
    const struct host_activity *host = &gathering->summary->host;
    const struct trace_event *call = gap->after != NULL ? gap->after->call : NULL, *wait = NULL;

    if (gap->time.drained_count == 0)
        return;
    if (call != NULL)
        wait = host_activity_wait(host, call->track, gap->start_ns);
    if (wait == NULL && host->has_loop)
        wait = host_activity_wait(host, host->loop, gap->start_ns);
    if (wait == NULL)
        return;
    if (times->count > 0 && times->items[times->count - 1].start_ns == wait->start_ns) {
        times->items[times->count - 1].cost_ns += (double)gap->time.idle_ns;
        return;
    }
    costly_times_add(times, wait->start_ns, wait->end_ns, (double)gap->time.idle_ns);
}

static void gather_allocations(struct gathering *gathering)
{
    const struct timeline *timeline = &gathering->summary->timeline;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (trace_event_is_call(event) &&
            name_is_allocation(trace_file_name(timeline->trace, event->name)))
            costly_times_add(gathering->times, event->start_ns, event->end_ns,
                             (double)(event->end_ns - event->start_ns));
    }
}

/* Copies cost their own time, at the place of their calls. */
static void gather_copies(struct gathering *gathering)
{
    const struct timeline *timeline = &gathering->summary->timeline;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        const char *name = trace_file_name(timeline->trace, work->event->name);
        if (work->kind != WORK_COPY || work->call == NULL ||
            (strstr(name, gathering->copies[0]) == NULL &&
             strstr(name, gathering->copies[1]) == NULL) ||
            (gathering->pageable && strstr(name, "Pageable") == NULL))
            continue;
        costly_times_add(gathering->times, work->call->start_ns, work->call->end_ns,
                         (double)(work->event->end_ns - work->event->start_ns));
    }
}

static void gather_intervals(struct gathering *gathering, const struct intervals *intervals)
{
    for (int64_t i = 0; i < intervals->count; i++) {
        const struct interval *item = &intervals->items[i];
        costly_times_add(gathering->times, item->start_ns, item->end_ns,
                         (double)(item->end_ns - item->start_ns));
    }
}

static void gather_first_uses(struct gathering *gathering)
{
    gather_intervals(gathering, &gathering->summary->first_uses.idle);
}

static void gather_captures(struct gathering *gathering)
{
    gather_intervals(gathering, &gathering->summary->first_uses.idle_again);
    gather_intervals(gathering, &gathering->summary->captures.idle);
}

/* Outermost operators of the loop's thread, each with the cost that it and those in it have beside
 * their work, or with all of its time. Not those of loading (host_operators.h). */
static void gather_operators(struct gathering *gathering)
{
    const struct timeline *timeline = &gathering->summary->timeline;
    const struct host_activity *host = &gathering->summary->host;
    int64_t loading_until_ns = INT64_MIN;
    enum phase phase;

    for (int64_t i = 0, next; i < timeline->host_count; i = next) {
        const struct trace_event *event = timeline->host[i];
        int64_t own_ns = OPERATOR_OWN_NS;
        next = i + 1;
        if (event->track != host->loop)
            continue;
        if (event->kind == EVENT_KIND_ANNOTATION &&
            phase_of_name(trace_file_name(timeline->trace, event->name), &phase) &&
            phase == PHASE_DATA)
            loading_until_ns = interval_later(loading_until_ns, event->end_ns);
        if (event->kind != EVENT_KIND_OPERATOR || event->start_ns < loading_until_ns)
            continue;
        for (; next < timeline->host_count && timeline->host[next]->track == event->track &&
               timeline->host[next]->start_ns < event->end_ns;
             next++)
            own_ns += OPERATOR_OWN_NS;
        if (gathering->all)
            own_ns = event->end_ns - event->start_ns;
        costly_times_add(gathering->times, event->start_ns, event->end_ns,
                         (double)interval_earlier(own_ns, event->end_ns - event->start_ns));
    }
}

/* --- Findings --- */

static const struct {
    idle_gap_visit *take; /* gathers from each gap; NULL: not from gaps */
    void (*gather)(struct gathering *gathering);
    struct gathering what;
} sites[SITE_COUNT] = {
    [SITE_LOADING] = { .take = take_gap, .what.activities = 1 << HOST_LOADING },
    [SITE_LOGGING] = { .take = take_gap, .what.activities = 1 << HOST_LOGGING },
    [SITE_SAVING] = { .take = take_gap, .what.activities = 1 << HOST_SAVING },
    [SITE_LAUNCHING] = { .take = take_gap,
                         .what.activities =
                             1 << HOST_OUTSIDE | 1 << HOST_OPERATOR | 1 << HOST_LAUNCHING },
    [SITE_WORKING] = { .take = take_gap, .what.activities = 1 << HOST_WORKING },
    [SITE_WAITS] = { .take = take_wait },
    [SITE_OPERATORS] = { .gather = gather_operators },
    [SITE_COMPUTING] = { .gather = gather_operators, .what.all = true },
    [SITE_ALLOCATIONS] = { .gather = gather_allocations },
    [SITE_COPIES] = { .gather = gather_copies, .what.copies = { "HtoD", "DtoH" } },
    [SITE_PAGEABLE_COPIES] = { .gather = gather_copies,
                               .what = { .copies = { "HtoD", "DtoH" }, .pageable = true } },
    [SITE_DEVICE_COPIES] = { .gather = gather_copies, .what.copies = { "DtoD", "DtoD" } },
    [SITE_FIRST_USES] = { .gather = gather_first_uses },
    [SITE_CAPTURES] = { .gather = gather_captures },
};

/* The loop's thread, beyond the window that the tree of calls usually has. */
static void place_outside(struct arena *scratch, struct finding *finding,
                          const struct summary *summary)
{
    const struct usage *all = &summary->timeline.all;
    struct costly_times times = { .arena = scratch };
    struct interval span = host_activity_span(&summary->host, &summary->timeline);
    struct call_tree tree;

    costly_times_add(&times, span.start_ns, all->start_ns, (double)(all->start_ns - span.start_ns));
    costly_times_add(&times, all->end_ns, span.end_ns, (double)(span.end_ns - all->end_ns));
    tree = call_tree_of(scratch, &summary->timeline, &summary->host, span.start_ns, span.end_ns);
    finding->where = call_site_of(&tree, &times, &finding->library);
}

void finding_place_of(struct arena *arena, struct finding *finding, enum finding_site site,
                      const struct facts *facts)
{
    const struct summary *summary = facts->summary;
    SCRATCH_ARENA(scratch, arena);
    struct costly_times times = { .arena = scratch };
    struct gathering gathering = sites[site].what;

    gathering.summary = summary;
    gathering.times = &times;
    /* Operators of a host that computes itself are its work. */
    if (summary->timeline.host_alone)
        gathering.activities &= ~(unsigned)(1 << HOST_OPERATOR);
    if (site == SITE_OUTSIDE)
        place_outside(scratch, finding, summary);
    else if (sites[site].take != NULL)
        idle_visit(scratch, &summary->timeline, &summary->steps, &summary->host, sites[site].take,
                   &gathering);
    else if (sites[site].gather != NULL)
        sites[site].gather(&gathering);
    if (times.count > 0)
        finding->where = call_site_of(&summary->calls, &times, &finding->library);
}

struct call_place finding_place_of_gap(struct arena *arena, const struct summary *summary,
                                       const struct idle_gap *gap)
{
    SCRATCH_ARENA(scratch, arena);
    struct costly_times times = { .arena = scratch };
    struct call_place library;

    costly_times_add(&times, gap->start_ns, gap->end_ns, (double)gap->time.idle_ns);
    return call_site_of(&summary->calls, &times, &library);
}
