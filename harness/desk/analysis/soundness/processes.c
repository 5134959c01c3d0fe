#include "harness/desk/analysis/soundness/processes.h"

#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"

#include <stdlib.h>

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

static int by_id(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static void find_processes(struct processes *processes, struct arena *arena,
                           const struct trace_file *trace)
{
    int64_t room = 0, step;

    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        int64_t id = trace->tracks[event->track].process;
        if ((event->kind != EVENT_KIND_ANNOTATION && event->kind != EVENT_KIND_OPERATOR) ||
            !name_is_step(trace_file_name(trace, event->name), &step) ||
            number_of(processes, id) >= 0 || processes->count == PROCESSES_MOST)
            continue;
        ARENA_ROOM(arena, processes->ids, processes->count, room);
        processes->ids[processes->count++] = id;
    }
    sort_items(processes->ids, processes->count, sizeof *processes->ids, by_id);
}

/* --- Work and the process that launched it --- */

struct launch_call {
    int64_t correlation, start_ns;
    int part;
};

static int by_correlation(const void *left, const void *right)
{
    const struct launch_call *a = left, *b = right;

    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

struct calls {
    struct launch_call *items;
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

/* Processes count their launches by themselves, so numbers may be the same: the last call before the work is its own. */
static int launcher_of(const struct calls *calls, const struct trace_event *work)
{
    struct launch_call key = { work->correlation, work->start_ns, 0 };
    int64_t low = 0, high = calls->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (by_correlation(&calls->items[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && calls->items[low - 1].correlation == work->correlation)
        return calls->items[low - 1].part;
    return low < calls->count && calls->items[low].correlation == work->correlation
               ? calls->items[low].part
               : -1;
}

/* --- Tracks --- */

/* Most of a stream's work is of one process, unless several share a device: then each piece is of its own. */
struct votes {
    int64_t *counts; /* [tracks][processes] */
    int *part;    /* [tracks] of the most; -1: none has work there, or there is no such process */
    bool *shared; /* [tracks] */
};

#define SHARED_LEAST 0.1

static void settle_votes(struct votes *votes, const struct trace_file *trace, int64_t processes)
{
    for (int64_t track = 0; track < trace->track_count; track++) {
        const int64_t *counts = &votes->counts[track * processes];
        int64_t all = 0;
        for (int64_t i = 0; i < processes; i++) {
            all += counts[i];
            if (counts[i] > (votes->part[track] >= 0 ? counts[votes->part[track]] : 0))
                votes->part[track] = (int)i;
        }
        votes->shared[track] =
            all > 0 && (double)(all - counts[votes->part[track]]) >= SHARED_LEAST * (double)all;
    }
}

/* A stream without work, of waits or annotations alone, goes with the others of its device. */
static void settle_others(struct votes *votes, const struct trace_file *trace)
{
    for (int64_t i = 0; trace->track_count <= TRACKS_MOST && i < trace->track_count; i++)
        for (int64_t j = 0;
             votes->part[i] < 0 && trace->tracks[i].on_device && j < trace->track_count; j++)
            if (trace->tracks[j].on_device && trace->tracks[j].process == trace->tracks[i].process)
                votes->part[i] = votes->part[j];
}

static struct votes vote(struct arena *scratch, const struct trace_file *trace,
                         const struct processes *processes, struct calls *calls)
{
    struct votes votes = {
        .counts = ARENA_NEW(scratch, int64_t, trace->track_count * processes->count),
        .part = ARENA_NEW(scratch, int, trace->track_count),
        .shared = ARENA_NEW(scratch, bool, trace->track_count),
    };

    for (int64_t i = 0; i < trace->track_count; i++)
        votes.part[i] =
            trace->tracks[i].on_device ? -1 : number_of(processes, trace->tracks[i].process);
    *calls = calls_of(scratch, trace, votes.part);
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        int part = trace_event_is_device_work(event) ? launcher_of(calls, event) : -1;
        if (part >= 0)
            votes.counts[(int64_t)event->track * processes->count + part]++;
    }
    settle_votes(&votes, trace, processes->count);
    settle_others(&votes, trace);
    return votes;
}

/* What is neither of a process that marks steps nor launched by one stays with the first. */
static int32_t part_of(const struct trace_file *trace, const struct votes *votes,
                       const struct calls *calls, const struct trace_event *event)
{
    int part = votes->part[event->track];

    if (votes->shared[event->track] && trace_event_is_device_work(event) &&
        trace->tracks[event->track].on_device)
        part = launcher_of(calls, event);
    return part >= 0 ? part : 0;
}

struct processes processes_of(struct arena *arena, const struct trace_file *trace)
{
    struct processes processes = { .count = 0 };
    struct arena *scratch;
    struct calls calls;
    struct votes votes;

    find_processes(&processes, arena, trace);
    if (processes.count < 2 || processes.count * trace->track_count > COUNTS_MOST)
        return (struct processes){ .count = 0 };
    scratch = arena_scratch(arena);
    votes = vote(scratch, trace, &processes, &calls);
    processes.event_part = ARENA_NEW(arena, int32_t, trace->event_count);
    processes.frame_part = ARENA_NEW(arena, int32_t, trace->frame_count);
    for (int64_t i = 0; i < trace->event_count; i++)
        processes.event_part[i] = part_of(trace, &votes, &calls, &trace->events[i]);
    for (int64_t i = 0; i < trace->frame_count; i++) {
        int part = votes.part[trace->frames[i].track];
        processes.frame_part[i] = part >= 0 ? part : 0;
    }
    arena_close(scratch);
    return processes;
}
