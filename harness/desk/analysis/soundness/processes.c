/* A process that marks steps is a rank. Streams name a device and not a process, so each goes to
 * the process whose calls fit its work best, unless labels of a merging script say it. */
#include "harness/desk/analysis/soundness/soundness.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/timeline/steps.h"

#include <string.h>

/* More than any file has; memory stays bounded. */
enum { PROCESSES_MOST = 1024, COUNTS_MOST = 1 << 24, TRACKS_MOST = 1 << 12 };

/* --- Processes --- */

static int number_of(const struct processes *processes, int64_t id)
{
    for (int64_t i = 0; i < processes->count; i++)
        if (processes->ids[i] == id)
            return (int)i;
    return -1;
}

/* Whether the process of that event is a rank: of the host's events, row_process is their
 * process. */
static bool tells_rank(const struct trace_file *trace, const struct trace_event *event)
{
    int64_t step;

    return trace->ranks_by_process ? trace_event_is_device_work(event)
                                   : step_is_marked(trace, event, &step);
}

static void find_processes(struct processes *processes, struct arena *arena,
                           const struct trace_file *trace)
{
    int64_t room = 0;

    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        int64_t id = trace->tracks[event->track].row_process;
        if (!tells_rank(trace, event) || number_of(processes, id) >= 0 ||
            processes->count == PROCESSES_MOST)
            continue;
        ARENA_ROOM(arena, processes->ids, processes->count, room);
        processes->ids[processes->count++] = id;
    }
    sort_int64(processes->ids, processes->count);
}

/* --- Work and the process that launched it --- */

struct launch_call {
    int64_t correlation, start_ns;
    int part;
};

COMPARATOR(by_correlation, struct launch_call, ASCENDING(correlation) ?: ASCENDING(start_ns))

struct calls {
    struct launch_call *items; /* by correlation */
    int64_t count;
};

static struct calls calls_of(struct arena *scratch, const struct trace_file *trace,
                             const int *part_of_track)
{
    struct calls calls = { .items = ARENA_NEW(scratch, struct launch_call, trace->event_count) };

    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (trace_event_is_call(event) && event->correlation != 0 &&
            part_of_track[event->track] >= 0)
            calls.items[calls.count++] = (struct launch_call){ event->correlation, event->start_ns,
                                                               part_of_track[event->track] };
    }
    sort_items(calls.items, calls.count, sizeof *calls.items, by_correlation);
    return calls;
}

static int64_t first_call(const struct calls *calls, int64_t correlation)
{
    int64_t low = 0, high = calls->count;

    BISECT(low, high, i, calls->items[i].correlation < correlation);
    return low;
}

/* --- Labels --- */

/* Scripts that merge ranks put a label before each number: "[TP1] 4242" and, for its device, "[TP1]
 * 0". The text of a number that was none (kineto_events.c); NULL: it was one, or has no label. */
static const char *label_of(const struct trace_file *trace, int64_t process)
{
    const char *text = process < -1 ? trace_file_name(trace, (uint32_t)(-2 - process)) : NULL;

    return text != NULL && strchr(text, ']') != NULL ? text : NULL;
}

static bool same_label(const char *a, const char *b)
{
    size_t length = a != NULL ? strcspn(a, "]") : 0;

    return a != NULL && b != NULL && strcspn(b, "]") == length && strncmp(a, b, length) == 0;
}

static int labelled_part(const struct trace_file *trace, const struct processes *processes,
                         int64_t row_process)
{
    const char *label = label_of(trace, row_process);

    if (trace->ranks_by_process)
        return number_of(processes, row_process);
    for (int i = 0; i < processes->count; i++)
        if (same_label(label, label_of(trace, processes->ids[i])))
            return i;
    return -1;
}

/* --- Streams --- */

/* How well a stream's work fits the calls of a process. Processes count their launches by
 * themselves, so the same number may be a call of each: work cannot begin before its own call, and
 * where the device was idle it begins right after it. */
struct fit {
    int64_t after,
        before; /* pieces of work that begin after and before the process' call of their number */
    int64_t least_ns; /* the shortest time from a call to its work */
};

static void take_fit(struct fit *fit, const struct launch_call *call,
                     const struct trace_event *work)
{
    int64_t delay_ns = work->start_ns - call->start_ns;

    if (delay_ns < 0) {
        fit->before++;
        return;
    }
    if (fit->after++ == 0 || delay_ns < fit->least_ns)
        fit->least_ns = delay_ns;
}

static bool fits(const struct fit *fit)
{
    return fit->after > 0 && 50 * fit->before <= fit->after;
}

static bool fits_better(const struct fit *a, const struct fit *b)
{
    if (fits(a) != fits(b))
        return fits(a);
    if (!fits(a))
        return a->after > b->after;
    if (a->least_ns != b->least_ns)
        return a->least_ns < b->least_ns;
    return a->after > b->after;
}

/* Streams without a label are of processes without one, if there are such. */
static int best_of(const struct fit *fits_of_track, const struct trace_file *trace,
                   const struct processes *processes)
{
    bool all_labelled = true;
    int best = -1;

    for (int64_t i = 0; i < processes->count; i++)
        all_labelled = all_labelled && label_of(trace, processes->ids[i]) != NULL;
    for (int i = 0; i < processes->count; i++)
        if (fits_of_track[i].after > 0 &&
            (all_labelled || label_of(trace, processes->ids[i]) == NULL) &&
            (best < 0 || fits_better(&fits_of_track[i], &fits_of_track[best])))
            best = i;
    return best;
}

/* A stream without work, of waits or annotations alone, goes with the others of its device. */
static void settle_others(int *parts, const struct trace_file *trace)
{
    for (int64_t i = 0; trace->track_count <= TRACKS_MOST && i < trace->track_count; i++)
        for (int64_t j = 0; parts[i] < 0 && trace->tracks[i].on_device && j < trace->track_count;
             j++)
            if (trace->tracks[j].on_device &&
                trace->tracks[j].process == trace->tracks[i].process &&
                trace->tracks[j].row_process == trace->tracks[i].row_process)
                parts[i] = parts[j];
}

/* --- Devices --- */

/* The devices in order: a device is what has the same number and the same pid in its rows. */
static int devices_in_order(const struct event_track **devices, const struct trace_file *trace,
                            int64_t most)
{
    int count = 0;

    for (int64_t i = 0; i < trace->track_count; i++) {
        const struct event_track *track = &trace->tracks[i];
        int at = count;
        bool known = !track->on_device;
        for (int j = 0; j < count && !known; j++)
            known = devices[j]->process == track->process &&
                    devices[j]->row_process == track->row_process;
        if (known)
            continue;
        if (count == most)
            return count + 1;
        for (; at > 0 && (devices[at - 1]->process > track->process ||
                          (devices[at - 1]->process == track->process &&
                           devices[at - 1]->row_process < track->row_process));
             at--)
            devices[at] = devices[at - 1];
        devices[at] = track;
        count++;
    }
    return count;
}

/* If calls of two processes fit the same work, one seems to have none. Where there is a device for
 * each process, they are taken in their order then, as launchers start them. */
static void settle_by_order(int *parts, struct arena *scratch, const struct trace_file *trace,
                            const struct processes *processes)
{
    const struct event_track **devices =
        ARENA_NEW(scratch, const struct event_track *, processes->count);
    bool *works = ARENA_NEW(scratch, bool, processes->count);
    int64_t working = 0;

    for (int64_t i = 0; i < trace->track_count; i++)
        if (trace->tracks[i].on_device && parts[i] >= 0 && !works[parts[i]]) {
            works[parts[i]] = true;
            working++;
        }
    if (working == processes->count ||
        devices_in_order(devices, trace, processes->count) != processes->count)
        return;
    for (int64_t i = 0; i < trace->track_count; i++)
        for (int j = 0; trace->tracks[i].on_device && j < processes->count; j++)
            if (devices[j]->process == trace->tracks[i].process &&
                devices[j]->row_process == trace->tracks[i].row_process)
                parts[i] = j;
}

/* --- Streams that processes share --- */

struct shared_work {
    uint32_t track;
    int64_t correlation, start_ns, event;
};

COMPARATOR(by_stream, struct shared_work,
           ASCENDING(track) ?: ASCENDING(correlation) ?: ASCENDING(start_ns) ?: ASCENDING(event))

static int64_t count_alike(const struct shared_work *work, int64_t left)
{
    int64_t count = 1;

    while (count < left && work[count].track == work[0].track &&
           work[count].correlation == work[0].correlation)
        count++;
    return count;
}

static int64_t count_calls(const struct calls *calls, int64_t first, int64_t correlation)
{
    int64_t count = 0;

    while (first + count < calls->count && calls->items[first + count].correlation == correlation)
        count++;
    return count;
}

/* A script that renames the processes of ranks, and not their devices, leaves the work of all on
 * one stream. If each number then has as many pieces of work there as calls, they are each other's,
 * in their order. */
static void share_streams(int32_t *event_part, struct arena *scratch,
                          const struct trace_file *trace, const struct calls *calls)
{
    struct shared_work *work = ARENA_NEW(scratch, struct shared_work, trace->event_count);
    int64_t count = 0;

    for (int64_t i = 0; i < trace->event_count; i++)
        if (trace_event_is_device_work(&trace->events[i]) && trace->events[i].correlation != 0)
            work[count++] =
                (struct shared_work){ trace->events[i].track, trace->events[i].correlation,
                                      trace->events[i].start_ns, i };
    sort_items(work, count, sizeof *work, by_stream);
    for (int64_t i = 0, alike; i < count; i += alike) {
        int64_t first = first_call(calls, work[i].correlation);
        alike = count_alike(&work[i], count - i);
        if (alike > 1 && alike == count_calls(calls, first, work[i].correlation))
            for (int64_t j = 0; j < alike; j++)
                event_part[work[i + j].event] = calls->items[first + j].part;
    }
}

/* The process of each track; -1: of none that marks steps. */
static int *parts_of_tracks(struct arena *scratch, const struct trace_file *trace,
                            const struct processes *processes, struct calls *called)
{
    int *parts = ARENA_NEW(scratch, int, trace->track_count);
    struct fit *fits_of = ARENA_NEW(scratch, struct fit, trace->track_count * processes->count);
    struct calls calls;

    for (int64_t i = 0; i < trace->track_count; i++)
        parts[i] = trace->tracks[i].on_device ? -1 : number_of(processes, trace->tracks[i].process);
    calls = calls_of(scratch, trace, parts);
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (!trace_event_is_device_work(event) || event->correlation == 0)
            continue;
        for (int64_t j = first_call(&calls, event->correlation);
             j < calls.count && calls.items[j].correlation == event->correlation; j++)
            take_fit(&fits_of[(int64_t)event->track * processes->count + calls.items[j].part],
                     &calls.items[j], event);
    }
    for (int64_t i = 0; i < trace->track_count; i++)
        if (trace->tracks[i].on_device &&
            (parts[i] = labelled_part(trace, processes, trace->tracks[i].row_process)) < 0)
            parts[i] = best_of(&fits_of[i * processes->count], trace, processes);
    settle_by_order(parts, scratch, trace, processes);
    settle_others(parts, trace);
    *called = calls;
    return parts;
}

/* A row stays with the first process if its own marks no steps. */
static int32_t or_first(int part)
{
    return part >= 0 ? part : 0;
}

struct processes processes_of(struct arena *arena, const struct trace_file *trace)
{
    struct processes processes = { .count = 0 };
    struct arena *scratch;
    struct calls calls;
    const int *parts;

    find_processes(&processes, arena, trace);
    if (processes.count < 2 || processes.count * trace->track_count > COUNTS_MOST)
        return (struct processes){ .count = 0 };
    scratch = arena_scratch(arena);
    parts = parts_of_tracks(scratch, trace, &processes, &calls);
    processes.event_part = ARENA_NEW(arena, int32_t, trace->event_count);
    processes.frame_part = ARENA_NEW(arena, int32_t, trace->frame_count);
    for (int64_t i = 0; i < trace->event_count; i++)
        processes.event_part[i] = or_first(parts[trace->events[i].track]);
    share_streams(processes.event_part, scratch, trace, &calls);
    for (int64_t i = 0; i < trace->frame_count; i++)
        processes.frame_part[i] = or_first(parts[trace->frames[i].track]);
    arena_close(scratch);
    return processes;
}
