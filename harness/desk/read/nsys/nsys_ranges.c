/* NVTX ranges. PyTorch's emit_nvtx() makes one of every operator, whose text goes on with what is
 * known of it: "aten::addmm, seq = 12, op_id = 30, sizes = [[2, 3], []]". If several ranges are
 * named like steps and repeat, those that take most time become the steps. */
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/read/nsys/nsys_names.h"
#include "harness/desk/read/nsys/nsys_reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A range that may be a step. */
struct candidate {
    int process;
    uint32_t track;
    uint64_t name; /* a hash, without digits */
    int64_t start_ns, end_ns;
    int64_t number; /* -1: it has none */
    int64_t event;
};

struct ranges {
    struct nsys_reading *reading;
    struct candidate *candidates;
    int64_t count, room;
    bool has_marks; /* PyTorch's profiler ran too, and marks the steps */
};

enum { TYPE = NSYS_END + 1, TEXT, TEXT_ID, THREAD, END_THREAD, COLUMN_COUNT };

/* --- Rows --- */

/* Ranges that threads push and pop, and others that end on the thread that began them: the latter
 * may overlap. */
static bool is_range(sqlite3_value **row)
{
    enum { PUSHED = 59, STARTED = 60, TEXT_PUSHED = 70, TEXT_STARTED = 71 };
    int64_t type = database_integer(row[TYPE], 0);
    int64_t thread = database_integer(row[THREAD], 0);

    return type == PUSHED || type == TEXT_PUSHED ||
           ((type == STARTED || type == TEXT_STARTED) &&
            database_integer(row[END_THREAD], thread) == thread);
}

enum { TEXT_MOST = 1 << 16 }; /* bytes of a range's text that are looked at */

/* The text is in the row, or one of the strings. It lives as long as the row. */
static enum status take_text(struct ranges *ranges, sqlite3_value **row,
                             struct nsys_range_name *name)
{
    struct nsys_reading *reading = ranges->reading;
    size_t length;
    const char *text = database_text(row[TEXT], &length);
    uint32_t number;

    if (text != NULL) {
        nsys_range_name(name, text, length < TEXT_MOST ? length : TEXT_MOST);
        return STATUS_OK;
    }
    TRY(nsys_name(&reading->names, reading->rows, row[TEXT_ID], NSYS_PLAIN, &number));
    nsys_range_name(name, trace_file_name(reading->rows->file, number),
                    strlen(trace_file_name(reading->rows->file, number)));
    return STATUS_OK;
}

static enum status add_operator(struct ranges *ranges, const struct nsys_range_name *name,
                                struct trace_event *event)
{
    struct trace_rows *rows = ranges->reading->rows;
    struct event_operator stated = { .sequence = name->sequence,
                                     .forward_thread = name->is_backward ? 1 : 0 };

    event->kind = EVENT_KIND_OPERATOR;
    if (name->sequence < 0 && name->dims_length == 0)
        return STATUS_OK;
    TRY(trace_rows_name(rows, name->dims, name->dims_length, &stated.dims));
    return trace_rows_operator(rows, &stated, &event->detail);
}

static enum status add_candidate(struct ranges *ranges, const struct nsys_range_name *name,
                                 const struct trace_event *event, int process)
{
    struct candidate candidate = { .process = process,
                                   .track = event->track,
                                   .name = nsys_range_kind(name),
                                   .start_ns = event->start_ns,
                                   .end_ns = event->end_ns,
                                   .event = ranges->reading->rows->file->event_count };

    if (name->is_operator || !nsys_range_is_step(name, &candidate.number))
        return STATUS_OK;
    TRY(rows_grow(&ranges->candidates, ranges->count + 1, &ranges->room));
    ranges->candidates[ranges->count++] = candidate;

    return STATUS_OK;
}

static enum status take_range(void *context, sqlite3_value **row)
{
    struct ranges *ranges = context;
    struct nsys_reading *reading = ranges->reading;
    struct trace_rows *rows = reading->rows;
    int64_t global = database_integer(row[THREAD], 0), number;
    int process = nsys_process(reading, global);
    struct trace_event event = { .kind = EVENT_KIND_ANNOTATION, .bytes = -1, .detail = NO_DETAIL };
    struct nsys_range_name name;

    if (!is_range(row) || !nsys_is_wanted(reading, process) ||
        sqlite3_value_type(row[NSYS_END]) == SQLITE_NULL) {
        rows->file->other_count++;
        return STATUS_OK;
    }
    if (!trace_rows_have_room(rows, rows->file->event_count) || !nsys_times(reading, row, &event))
        return STATUS_OK;
    TRY(take_text(ranges, row, &name));
    TRY(nsys_thread(reading, global, &event.track));
    TRY(trace_rows_name(rows, name.text, name.length, &event.name));
    if (name.is_operator)
        TRY(add_operator(ranges, &name, &event));
    if (name_is_data_loading(trace_file_name(rows->file, event.name)))
        reading->processes[process].has_loads = true;
    ranges->has_marks =
        ranges->has_marks || name_is_step(trace_file_name(rows->file, event.name), &number);
    TRY(add_candidate(ranges, &name, &event, process));
    return trace_rows_event(rows, &event);
}

/* --- Steps --- */

enum { STEPS_LEAST = 3 };

COMPARATOR(by_place, struct candidate,
           ASCENDING(process) ?: ASCENDING(track) ?: ASCENDING(name) ?: ASCENDING(start_ns))

/* Candidates of one name on one thread, and the time that they take; 0: one is within another, or
 * they are few. */
struct range_group {
    int64_t first, end, ns;
};

static struct range_group group_at(const struct ranges *ranges, int64_t first)
{
    const struct candidate *items = ranges->candidates;
    struct range_group group = { .first = first, .end = first };
    bool apart = true;

    do {
        const struct candidate *item = &items[group.end];
        apart = apart && (group.end == first || item->start_ns >= item[-1].end_ns);
        group.ns += item->end_ns - item->start_ns;
        group.end++;
    } while (group.end < ranges->count && items[group.end].process == items[first].process &&
             items[group.end].track == items[first].track &&
             items[group.end].name == items[first].name);
    if (!apart || group.end - first < STEPS_LEAST)
        group.ns = 0;
    return group;
}

static bool counts_up(const struct ranges *ranges, const struct range_group *group)
{
    for (int64_t i = group->first; i < group->end; i++)
        if (ranges->candidates[i].number < 0 ||
            (i > group->first && ranges->candidates[i].number <= ranges->candidates[i - 1].number))
            return false;
    return true;
}

static enum status mark(struct ranges *ranges, const struct range_group *group)
{
    struct trace_rows *rows = ranges->reading->rows;
    bool numbered = counts_up(ranges, group);

    if (group->ns == 0)
        return STATUS_OK;
    rows->file->step_range = rows->file->events[ranges->candidates[group->first].event].name;
    for (int64_t i = group->first; i < group->end; i++) {
        char text[40];
        snprintf(text, sizeof text, "ProfilerStep#%lld",
                 (long long)(numbered ? ranges->candidates[i].number : i - group->first));
        TRY(trace_rows_name(rows, text, strlen(text),
                            &rows->file->events[ranges->candidates[i].event].name));
    }
    return STATUS_OK;
}

static enum status mark_steps(struct ranges *ranges)
{
    struct range_group group, best = { 0 };

    sort_items(ranges->candidates, ranges->count, sizeof *ranges->candidates, by_place);
    for (int64_t first = 0; first < ranges->count; first = group.end) {
        group = group_at(ranges, first);
        if (first > 0 &&
            ranges->candidates[first].process != ranges->candidates[first - 1].process) {
            TRY(mark(ranges, &best));
            best = (struct range_group){ 0 };
        }
        if (group.ns > best.ns)
            best = group;
    }
    return ranges->count > 0 ? mark(ranges, &best) : STATUS_OK;
}

enum status nsys_read_ranges(struct nsys_reading *reading)
{
    static const char *const columns[COLUMN_COUNT] = { "start",  "end",       "eventType",   "text",
                                                       "textId", "globalTid", "endGlobalTid" };
    enum status status = STATUS_OK;
    struct ranges ranges = { .reading = reading };

    TRY_OUT(nsys_scan(reading, "NVTX_EVENTS", columns, COLUMN_COUNT, take_range, &ranges));
    if (!ranges.has_marks)
        TRY_OUT(mark_steps(&ranges));

out:
    free(ranges.candidates);
    return status;
}
