/* Waits in the operating system stand for a loop's waits for data, if no range says when it has
 * those. */
#include "harness/base/bisect.h"
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/read/nsys/nsys_reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timed_call {
    uint32_t track;
    int64_t start_ns;
    int64_t end_ns; /* the latest of this call and those before it on its track */
};

struct timed_calls {
    struct timed_call *items; /* by track and start */
    int64_t count, room;
};

enum { LAUNCHERS = 64 }; /* threads that launch: more are no program's */

struct waiting {
    struct nsys_reading *reading;
    struct timed_calls calls, launches;
    uint32_t launchers[LAUNCHERS];
    int launcher_count;
    int64_t loops[NSYS_PROCESSES]; /* the track that launches most; -1: none launches */
};

/* --- Calls of CUDA --- */

COMPARATOR(by_place, struct timed_call, ASCENDING(track) ?: ASCENDING(start_ns))

static void settle_calls(struct timed_calls *calls)
{
    sort_items(calls->items, calls->count, sizeof *calls->items, by_place);
    for (int64_t i = 1; i < calls->count; i++) {
        struct timed_call *call = &calls->items[i];
        if (call->track == call[-1].track && call->end_ns < call[-1].end_ns)
            call->end_ns = call[-1].end_ns;
    }
}

static enum status add_call(struct timed_calls *calls, const struct trace_event *event)
{
    TRY(rows_grow(&calls->items, calls->count + 1, &calls->room));
    calls->items[calls->count++] =
        (struct timed_call){ event->track, event->start_ns, event->end_ns };

    return STATUS_OK;
}

static enum status find_calls(struct waiting *waiting)
{
    const struct trace_file *file = waiting->reading->rows->file;

    for (int64_t i = 0; i < file->event_count; i++) {
        const struct trace_event *event = &file->events[i];
        if (!trace_event_is_call(event))
            continue;
        TRY(add_call(&waiting->calls, event));
        if (name_is_launch(trace_file_name(file, event->name)))
            TRY(add_call(&waiting->launches, event));
    }
    settle_calls(&waiting->calls);
    settle_calls(&waiting->launches);

    return STATUS_OK;
}

/* The tracks that launch, and of each process the one that launches most. */
static void find_loops(struct waiting *waiting)
{
    const struct trace_file *file = waiting->reading->rows->file;
    const struct timed_calls *launches = &waiting->launches;
    int64_t most[NSYS_PROCESSES] = { 0 }, end;

    for (int i = 0; i < NSYS_PROCESSES; i++) waiting->loops[i] = -1;
    for (int64_t first = 0; first < launches->count; first = end) {
        uint32_t track = launches->items[first].track;
        int process = nsys_process(waiting->reading, file->tracks[track].process << 24);
        for (end = first + 1; end < launches->count && launches->items[end].track == track;) end++;
        if (waiting->launcher_count < LAUNCHERS)
            waiting->launchers[waiting->launcher_count++] = track;
        if (process < NSYS_PROCESSES && end - first > most[process]) {
            most[process] = end - first;
            waiting->loops[process] = track;
        }
    }
}

/* The first call of the track, or a later one, that begins at that time or later. */
static int64_t call_from(const struct timed_calls *calls, uint32_t track, int64_t at_ns)
{
    const struct timed_call key = { .track = track, .start_ns = at_ns };
    int64_t low = 0, high = calls->count;

    BISECT(low, high, i, by_place(&calls->items[i], &key) < 0);
    return low;
}

/* --- Waits --- */

/* Within a call of CUDA the thread waits for the device. */
static bool is_in_call(const struct waiting *waiting, const struct trace_event *wait)
{
    int64_t before = call_from(&waiting->calls, wait->track, wait->start_ns + 1) - 1;

    return before >= 0 && waiting->calls.items[before].track == wait->track &&
           waiting->calls.items[before].end_ns > wait->start_ns;
}

/* While another thread of the process launches, the loop waits for that thread: PyTorch's backward
 * pass has one. */
static bool others_launch(const struct waiting *waiting, const struct trace_event *wait)
{
    const struct trace_file *file = waiting->reading->rows->file;
    const struct timed_calls *launches = &waiting->launches;

    for (int i = 0; i < waiting->launcher_count; i++) {
        uint32_t other = waiting->launchers[i];
        int64_t at = call_from(launches, other, wait->start_ns);
        if (other != wait->track &&
            file->tracks[other].process == file->tracks[wait->track].process &&
            at < launches->count && launches->items[at].track == other &&
            launches->items[at].start_ns < wait->end_ns)
            return true;
    }
    return false;
}

/* Calls that return when somebody else has something: in a pipe, a file, a lock. */
static bool is_wait(const char *name)
{
    static const char *const names[] = {
        "poll",
        "ppoll",
        "select",
        "epoll_wait",
        "read",
        "pread64",
        "readv",
        "recv",
        "recvmsg",
        "recvfrom",
        "sem_wait",
        "sem_timedwait",
        "sem_clockwait",
        "pthread_cond_wait",
        "pthread_cond_timedwait",
        "pthread_cond_clockwait",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

enum { THREAD = NSYS_END + 1, NAME, NESTING, COLUMN_COUNT };

/* The track of a row that may be a loop's wait; -1: it is none. */
static int64_t loop_of(const struct waiting *waiting, sqlite3_value **row)
{
    struct nsys_reading *reading = waiting->reading;
    int64_t global = database_integer(row[THREAD], 0);
    int process = nsys_process(reading, global);
    int64_t track = process < NSYS_PROCESSES ? waiting->loops[process] : -1;

    return track >= 0 && !reading->processes[process].has_loads &&
                   reading->rows->file->tracks[track].thread == (global & 0xffffff) &&
                   database_integer(row[NESTING], 0) == 0
               ? track
               : -1;
}

static enum status take_wait(void *context, sqlite3_value **row)
{
    struct waiting *waiting = context;
    struct nsys_reading *reading = waiting->reading;
    struct trace_rows *rows = reading->rows;
    struct trace_event event = { .kind = EVENT_KIND_ANNOTATION, .bytes = -1, .detail = NO_DETAIL };
    int64_t track = loop_of(waiting, row);
    const char *name;
    char text[64];

    rows->file->other_count++;
    if (track < 0 || !trace_rows_have_room(rows, rows->file->event_count))
        return STATUS_OK;
    event.track = (uint32_t)track;
    TRY(nsys_name(&reading->names, rows, row[NAME], NSYS_PLAIN, &event.name));
    name = trace_file_name(rows->file, event.name);
    if (!is_wait(name) || !nsys_times(reading, row, &event) || is_in_call(waiting, &event) ||
        others_launch(waiting, &event))
        return STATUS_OK;
    snprintf(text, sizeof text, NAME_OF_WAITS "%s", name);
    TRY(trace_rows_name(rows, text, strlen(text), &event.name));
    rows->file->other_count--;
    return trace_rows_event(rows, &event);
}

enum status nsys_read_waits(struct nsys_reading *reading)
{
    static const char *const columns[COLUMN_COUNT] = { "start", "end", "globalTid", "nameId",
                                                       "nestingLevel" };
    enum status status = STATUS_OK;
    struct waiting *waiting = NULL;

    TRY(rows_make(&waiting, 1));
    waiting->reading = reading;
    TRY_OUT(find_calls(waiting));
    find_loops(waiting);
    TRY_OUT(nsys_scan(reading, "OSRT_API", columns, COLUMN_COUNT, take_wait, waiting));

out:
    free(waiting->calls.items);
    free(waiting->launches.items);
    free(waiting);
    return status;
}
