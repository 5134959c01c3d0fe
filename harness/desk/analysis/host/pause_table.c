/* One sweep per thread with a stack of open events, each of which knows whose time it is. */
#include "harness/desk/analysis/host/pause_table.h"

#include "harness/base/sort.h"

enum { DEPTH = 1024 }; /* deeper ones are left out */

struct open_event {
    const struct trace_event *event, *owner; /* owner NULL: the time has another cause */
};

struct sweep {
    const struct timeline *timeline;
    struct host_names names;
    struct pause_table *table;
    int64_t *row_of; /* by name, from 1 on; 0: none */
    bool *asked;     /* by thread */
    struct open_event stack[DEPTH];
    int depth;
    int64_t cursor_ns;
    int64_t next; /* of the table's times, the first that ends after the cursor, or one before it */
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
    const struct open_event *around = sweep->depth > 0 ? &sweep->stack[sweep->depth - 1] : NULL;

    if ((around != NULL && around->owner == NULL) || !is_of_no_other_cause(sweep, event))
        return NULL;
    if (around != NULL &&
        (around->owner->kind == EVENT_KIND_OPERATOR || trace_event_is_call(event)))
        return around->owner;
    return event;
}

/* How much of the times lies between the cursor and a moment. */
static int64_t idle_ns(struct sweep *sweep, int64_t until_ns)
{
    const struct intervals *times = &sweep->table->times;
    int64_t ns = 0;

    while (sweep->next < times->count && times->items[sweep->next].end_ns <= sweep->cursor_ns)
        sweep->next++;
    for (int64_t i = sweep->next; i < times->count && times->items[i].start_ns < until_ns; i++)
        ns += interval_earlier(times->items[i].end_ns, until_ns) -
              interval_later(times->items[i].start_ns, sweep->cursor_ns);
    return ns;
}

static void emit(struct sweep *sweep, const struct open_event *open, int64_t until_ns)
{
    struct pause_table *table = sweep->table;
    int64_t ns, *row;

    if (open->owner != NULL && until_ns > sweep->cursor_ns) {
        ns = idle_ns(sweep, until_ns);
        row = &sweep->row_of[open->owner->name];
        if (ns > 0 && *row == 0) {
            table->rows[table->count] =
                (struct pause_row){ open->owner->name, open->owner->kind, 0 };
            *row = ++table->count;
        }
        if (ns > 0)
            table->rows[*row - 1].ns += ns;
    }
    sweep->cursor_ns = interval_later(sweep->cursor_ns, until_ns);
}

/* Closes events that end before `next` begins; NULL, or one of another thread, closes all. */
static void advance(struct sweep *sweep, const struct trace_event *next)
{
    while (sweep->depth > 0) {
        const struct open_event *top = &sweep->stack[sweep->depth - 1];
        if (next != NULL && next->track == top->event->track &&
            next->start_ns < top->event->end_ns) {
            emit(sweep, top, next->start_ns);
            break;
        }
        emit(sweep, top, top->event->end_ns);
        sweep->depth--;
    }
    if (next == NULL || sweep->depth > 0)
        return;
    if (next->start_ns < sweep->cursor_ns) /* of the next thread */
        sweep->next = 0;
    sweep->cursor_ns = next->start_ns;
}

static void sweep_over(struct sweep *sweep)
{
    for (int64_t i = 0; i < sweep->timeline->host_count; i++) {
        const struct trace_event *event = sweep->timeline->host[i];
        if (!sweep->asked[event->track])
            continue;
        advance(sweep, event);
        if (sweep->depth < DEPTH) {
            sweep->stack[sweep->depth] = (struct open_event){ event, owner_of(sweep, event) };
            sweep->depth++;
        }
    }
    advance(sweep, NULL);
}

static int by_time(const void *left, const void *right)
{
    const struct pause_row *a = left, *b = right;

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

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
