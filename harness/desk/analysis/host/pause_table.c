/* One sweep per thread with a stack of open events, each of which knows whose time it is. */
#include "harness/desk/analysis/host/pause_table.h"

#include "harness/base/sort.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 1024 }; /* deeper ones are left out */

struct open_event {
    const struct trace_event *event, *owner; /* owner NULL: the time has another cause */
};

struct sweep {
    const struct timeline *timeline;
    struct pause_table *table;
    int64_t *row_of; /* by name, from 1 on; 0: none */
    bool *asked;     /* by thread */
    struct open_event stack[DEPTH];
    int depth;
    int64_t cursor_ns;
};

/* Whether an event is launching overhead or other work; its name tells of what else it may be. */
static bool is_of_no_other_cause(const struct sweep *sweep, const struct trace_event *event)
{
    enum host_doing doing = host_doing_of_name(trace_file_name(sweep->timeline->trace, event->name),
                                               trace_event_is_call(event));

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

static void emit(struct sweep *sweep, const struct open_event *open, int64_t until_ns)
{
    struct pause_table *table = sweep->table;
    int64_t ns, *row;

    if (open->owner != NULL && until_ns > sweep->cursor_ns) {
        ns = intervals_within_ns(&table->times, sweep->cursor_ns, until_ns);
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
    if (next != NULL && sweep->depth == 0)
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

enum status pause_table_make(struct pause_table *table, const struct timeline *timeline,
                             const struct host_activity *host)
{
    uint32_t names = trace_file_name_count(timeline->trace);
    enum status status = STATUS_OK;
    struct sweep *sweep = calloc(1, sizeof *sweep);

    memset(table, 0, sizeof *table);
    if (sweep == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for pauses");
    if (host->pauses.count == 0)
        goto out;
    TRY(timeline_idle_within(timeline, &host->pauses, &table->times));
    sweep->timeline = timeline;
    sweep->table = table;
    sweep->row_of = calloc((size_t)names + 1, sizeof *sweep->row_of);
    sweep->asked = calloc((size_t)timeline->trace->track_count + 1, sizeof *sweep->asked);
    table->rows = malloc(((size_t)names + 1) * sizeof *table->rows);
    if (sweep->row_of == NULL || sweep->asked == NULL || table->rows == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %u names", names);
    if (host->has_loop)
        sweep->asked[host->loop] = true;
    for (int64_t i = 0; i < timeline->work_count; i++)
        if (timeline->work[i].call != NULL)
            sweep->asked[timeline->work[i].call->track] = true;
    sweep_over(sweep);
    sort_items(table->rows, table->count, sizeof *table->rows, by_time);

out:
    if (sweep != NULL) {
        free(sweep->row_of);
        free(sweep->asked);
    }
    free(sweep);
    return status;
}

void pause_table_release(struct pause_table *table)
{
    free(table->rows);
    intervals_release(&table->times);
    memset(table, 0, sizeof *table);
}
