/* One sweep per thread with a stack of open events, each of which knows whose time it is. */
#include "harness/desk/analysis/host/pause_table.h"

#include "harness/base/sort.h"
#include "harness/desk/analysis/host/open_events.h"

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
    enum host_doing doing = trace_event_is_call(event) ? name->call : name->span;

    return doing == HOST_OPERATOR || doing == HOST_LAUNCHING;
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
