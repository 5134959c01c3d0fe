/* One pass over the host's events collects launches with their operators; sorted by time, each is
 * compared with the one before. */
#include "harness/desk/analysis/host/pauses.h"

#include "harness/base/sort.h"
#include "harness/desk/analysis/host/host_activity.h"
#include "harness/desk/analysis/names/event_names.h"

/* A launch, or an operator of a host that computes itself. */
struct launch {
    int64_t begins_ns; /* the innermost operator around it; its own start without one */
    int64_t start_ns, end_ns;
    uint32_t track;
};

struct search {
    const struct timeline *timeline;
    struct host_activity *host;
    struct intervals pauses;
    struct launch *launches;
    int64_t count;
    bool *has_work; /* by event: a call that caused device work */
    bool *launches_by_name;
    struct open_events operators;
};

COMPARATOR(by_start, struct launch, ASCENDING(start_ns) ?: DESCENDING(end_ns))

static bool is_launch(const struct search *search, const struct trace_event *event)
{
    if (search->timeline->host_alone)
        return event->kind == EVENT_KIND_OPERATOR;
    return trace_event_is_call(event) &&
           (search->has_work[event - search->timeline->trace->events] ||
            search->launches_by_name[event->name]);
}

static void collect_launches(struct search *search)
{
    const struct timeline *timeline = search->timeline;
    struct open_events *operators = &search->operators;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        open_events_advance(operators, event, NULL, NULL);
        if (is_launch(search, event)) {
            bool within = operators->depth > 0 && !timeline->host_alone;
            search->launches[search->count++] =
                (struct launch){ within ? operators->items[operators->depth - 1]->start_ns
                                        : event->start_ns,
                                 event->start_ns, event->end_ns, event->track };
        }
        if (event->kind == EVENT_KIND_OPERATOR)
            open_events_push(operators, event);
    }
    sort_items(search->launches, search->count, sizeof *search->launches, by_start);
}

/* Launches that overlap, and calls of the driver within those of the runtime, have no time between
 * them. */
static void find_border(struct search *search, struct arena *scratch)
{
    int64_t count = 0, end_ns, *lengths = ARENA_NEW(scratch, int64_t, search->count);
    int64_t border;

    end_ns = search->launches[0].end_ns;
    for (int64_t i = 1; i < search->count; i++) {
        if (search->launches[i].start_ns >= end_ns)
            lengths[count++] = search->launches[i].start_ns - end_ns;
        end_ns = interval_later(end_ns, search->launches[i].end_ns);
    }
    sort_int64(lengths, count);
    border = count > 0 ? interval_earlier(lengths[count / 2], PAUSE_SURE_NS) * PAUSE_TIMES : 0;
    search->host->pause_ns =
        interval_later(PAUSE_LEAST_NS, interval_earlier(PAUSE_SURE_NS, border));
}

/* Adds a time if it is longer than `border_ns`. */
static void add_if_pause(struct search *search, uint32_t track, int64_t start_ns, int64_t end_ns,
                         int64_t border_ns)
{
    int64_t ns[HOST_KIND_COUNT] = { 0 };

    if (end_ns - start_ns <= border_ns)
        return;
    host_activity_between(search->host, track, start_ns, end_ns, ns);
    /* Only time without a cause of its own counts. */
    if (ns[HOST_OUTSIDE] + ns[HOST_OPERATOR] + ns[HOST_LAUNCHING] > border_ns)
        intervals_add(&search->pauses, start_ns, end_ns);
}

static void find_pauses(struct search *search, const struct steps *steps)
{
    const struct trace_event *last = NULL;
    int64_t end_ns =
        steps->count > 0 ? steps->items[0].event->start_ns : search->launches[0].start_ns;

    for (int64_t i = 0; i < search->count; i++) {
        const struct launch *launch = &search->launches[i];
        int64_t begins_ns = interval_later(end_ns, launch->begins_ns);
        add_if_pause(search, launch->track, end_ns, begins_ns, search->host->pause_ns);
        add_if_pause(search, launch->track, begins_ns, launch->start_ns, PAUSE_SURE_NS);
        end_ns = interval_later(end_ns, launch->end_ns);
    }
    if (steps->count > 0) {
        last = steps->items[steps->count - 1].event;
        add_if_pause(search, last->track, end_ns, last->end_ns, search->host->pause_ns);
    }
}

/* First uses, captures and messages stay what they are. */
static void keep_unexplained(struct search *search)
{
    struct intervals rest = { .arena = search->pauses.arena },
                     left = { .arena = search->pauses.arena };

    intervals_merge(&search->pauses);
    intervals_without(&rest, &search->pauses, &search->host->first_uses);
    intervals_without(&left, &rest, &search->host->captures);
    intervals_without(&search->host->pauses, &left, &search->host->messages);
}

void pauses_find(struct host_activity *host, struct arena *arena, const struct timeline *timeline,
                 const struct steps *steps)
{
    const struct trace_file *trace = timeline->trace;
    uint32_t names = trace_file_name_count(trace);
    SCRATCH_ARENA(scratch, arena);
    struct search search = { .timeline = timeline,
                             .host = host,
                             .pauses.arena = scratch,
                             .launches = ARENA_NEW(scratch, struct launch, timeline->host_count),
                             .has_work = ARENA_NEW(scratch, bool, trace->event_count),
                             .launches_by_name = ARENA_NEW(scratch, bool, names) };

    for (uint32_t i = 0; i < names; i++)
        search.launches_by_name[i] = name_is_launch(trace_file_name(trace, i));
    for (int64_t i = 0; i < timeline->work_count; i++)
        if (timeline->work[i].call != NULL)
            search.has_work[timeline->work[i].call - trace->events] = true;
    collect_launches(&search);
    if (search.count > 0) {
        find_border(&search, scratch);
        find_pauses(&search, steps);
        keep_unexplained(&search);
    }
}

/* --- What the host did in them --- */

/* One sweep per thread with a stack of open events, each of which knows whose time it is. */

struct sweep {
    const struct timeline *timeline;
    struct host_names names;
    struct pause_table *table;
    int64_t *row_of; /* by name, from 1 on; 0: none */
    bool *asked;     /* by thread */
    struct open_events open;
    /* of the time of open events; NULL: it has another cause */
    const struct trace_event *owners[OPEN_DEPTH];
};

/* Whether an event is launching overhead or other work; its name tells of what else it may be. */
static bool is_of_no_other_cause(const struct sweep *sweep, const struct trace_event *event)
{
    const struct host_name *name = host_name_of(&sweep->names, event->name);
    enum host_kind activity = trace_event_is_call(event) ? name->call : name->span;

    return activity == HOST_OPERATOR || activity == HOST_LAUNCHING;
}

static const struct trace_event *owner_of(const struct sweep *sweep,
                                          const struct trace_event *event)
{
    bool is_outermost = sweep->open.depth == 0;
    const struct trace_event *around = is_outermost ? NULL : sweep->owners[sweep->open.depth - 1];

    if ((!is_outermost && around == NULL) || !is_of_no_other_cause(sweep, event))
        return NULL;
    return !is_outermost && (around->kind == EVENT_KIND_OPERATOR || trace_event_is_call(event))
               ? around
               : event;
}

static void take_time(void *context, int innermost, int64_t start_ns, int64_t end_ns)
{
    struct sweep *sweep = context;
    struct pause_table *table = sweep->table;
    const struct trace_event *owner = sweep->owners[innermost];
    int64_t ns = owner != NULL ? intervals_within_ns(&table->times, start_ns, end_ns) : 0, *row;

    if (ns == 0)
        return;
    row = &sweep->row_of[owner->name];
    if (*row == 0) {
        table->rows[table->count] = (struct pause_row){ owner->name, owner->kind, 0 };
        *row = ++table->count;
    }
    table->rows[*row - 1].ns += ns;
}

static void sweep_over(struct sweep *sweep)
{
    for (int64_t i = 0; i < sweep->timeline->host_count; i++) {
        const struct trace_event *event = sweep->timeline->host[i], *owner;
        int number;
        if (!sweep->asked[event->track])
            continue;
        open_events_advance(&sweep->open, event, take_time, sweep);
        owner = owner_of(sweep, event);
        number = open_events_push(&sweep->open, event);
        if (number >= 0)
            sweep->owners[number] = owner;
    }
    open_events_advance(&sweep->open, NULL, take_time, sweep);
}

COMPARATOR(by_time, struct pause_row, DESCENDING(ns) ?: ASCENDING(name))

struct pause_table pause_table_of(struct arena *arena, const struct timeline *timeline,
                                  const struct host_activity *host)
{
    uint32_t names = trace_file_name_count(timeline->trace);
    struct pause_table table = { .count = 0 };
    struct sweep sweep = { .timeline = timeline, .table = &table };
    struct arena *scratch;

    if (host->pauses.count == 0)
        return table;
    scratch = arena_scratch(arena);
    table.times = timeline_idle_within(arena, timeline, &host->pauses);
    table.rows = ARENA_NEW(arena, struct pause_row, names);
    sweep.names = host_names_open(scratch, timeline->trace);
    sweep.row_of = ARENA_NEW(scratch, int64_t, names);
    sweep.asked = ARENA_NEW(scratch, bool, timeline->trace->track_count);
    if (host->has_loop)
        sweep.asked[host->loop] = true;
    for (int64_t i = 0; i < timeline->work_count; i++)
        if (timeline->work[i].call != NULL)
            sweep.asked[timeline->work[i].call->track] = true;
    sweep_over(&sweep);
    sort_items(table.rows, table.count, sizeof *table.rows, by_time);
    arena_close(scratch);
    return table;
}
