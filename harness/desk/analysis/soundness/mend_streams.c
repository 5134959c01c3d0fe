/* Device work beside its stream and its calls: its times cannot contradict the order in which things happen. */
#include "harness/base/figures/quantity.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/soundness/mends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Durations --- */

/* Recorders of whole microseconds round a short kernel to nothing: in traces of a V100 of 2021, 7 of 100. */
#define ROUNDED_MOST 0.2

void mend_durations(struct sound_row *row, const struct timeline *timeline)
{
    int64_t kernels = 0;
    bool rounded = true;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct trace_event *event = timeline->work[i].event;
        if (event->kind != EVENT_KIND_KERNEL)
            continue;
        kernels++;
        row->count += event->end_ns == event->start_ns;
        rounded = rounded && event->start_ns % 1000 == 0 && event->end_ns % 1000 == 0;
    }
    if (rounded && (double)row->count <= ROUNDED_MOST * (double)kernels)
        row->count = 0;
    if (row->count == 0)
        return;
    snprintf(row->found, sizeof row->found, "%lld of %lld kernels take no time",
             (long long)row->count, (long long)kernels);
    row->trust = trust_without(row->count, kernels);
}

/* --- Streams --- */

/* Launches that overlap on purpose (programmatic dependent launch) do so for less. */
enum { OVERLAP_NS = 5000 };

/* Work of one graph may run side by side, whatever stream its rows name. */
static bool same_launch(const struct work *a, const struct work *b)
{
    return a->event->correlation != 0 && a->event->correlation == b->event->correlation;
}

/* The event, whose row is to be changed. */
static struct trace_event *row_of(struct trace_file *trace, const struct trace_event *event)
{
    return &trace->events[event - trace->events];
}

/* Work on a stream, and the next piece there if the first runs over it. */
struct overlap {
    const struct work *work, *next;
};

static int64_t find_overlaps(struct overlap *overlaps, struct arena *scratch,
                             const struct timeline *timeline, int64_t *longest_ns)
{
    const struct work **last =
        ARENA_NEW(scratch, const struct work *, timeline->trace->track_count);
    int64_t count = 0;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i], *before = last[work->event->track];
        last[work->event->track] = work;
        if (before == NULL || same_launch(before, work) ||
            before->event->end_ns - work->event->start_ns <= OVERLAP_NS)
            continue;
        overlaps[count++] = (struct overlap){ before, work };
        *longest_ns = interval_later(*longest_ns, before->event->end_ns - work->event->start_ns);
    }
    return count;
}

/* The longest that work of each name takes if it does not overlap; 0: all of it does. */
static int64_t *find_longest(struct arena *scratch, const struct timeline *timeline,
                             const struct overlap *overlaps, int64_t count)
{
    int64_t *longest_ns = ARENA_NEW(scratch, int64_t, trace_file_name_count(timeline->trace));
    bool *overlaps_next = ARENA_NEW(scratch, bool, timeline->work_count);

    for (int64_t i = 0; i < count; i++) overlaps_next[overlaps[i].work - timeline->work] = true;
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct trace_event *event = timeline->work[i].event;
        if (!overlaps_next[i])
            longest_ns[event->name] =
                interval_later(longest_ns[event->name], event->end_ns - event->start_ns);
    }
    return longest_ns;
}

bool mend_streams(struct sound_row *row, struct arena *arena, struct trace_file *trace,
                  const struct timeline *timeline)
{
    struct arena *scratch = arena_scratch(arena);
    struct overlap *overlaps = ARENA_NEW(scratch, struct overlap, timeline->work_count);
    int64_t longest_ns = 0, *usual_ns;

    row->count = find_overlaps(overlaps, scratch, timeline, &longest_ns);
    usual_ns = row->count > 0 ? find_longest(scratch, timeline, overlaps, row->count) : NULL;
    for (int64_t i = 0; i < row->count; i++) {
        struct trace_event *event = row_of(trace, overlaps[i].work->event);
        int64_t usual = usual_ns[event->name];
        event->end_ns = overlaps[i].next->event->start_ns;
        if (usual > 0)
            event->end_ns = interval_earlier(event->end_ns, event->start_ns + usual);
    }
    arena_close(scratch);
    if (row->count == 0)
        return false;
    snprintf(row->found, sizeof row->found,
             "%lld of %lld pieces of device work end after the next one on their stream began, by "
             "up to %s",
             (long long)row->count, (long long)timeline->work_count,
             quantity_time((double)longest_ns).text);
    snprintf(row->mended, sizeof row->mended,
             "each takes as long as others of its name, and ends before the next");
    row->trust = trust_without(row->count, timeline->work_count);
    row->trust = row->trust == TRUST_WHOLE ? TRUST_LESS : row->trust;
    return true;
}

/* --- The device's clock --- */

/* The time by which a device's clock may be moved: no further back than `least_ns`, or work would begin before its
 * launch, and no further on than `most_ns`, or a wait would end before its work. */
struct bounds {
    int64_t *least, *most; /* of each launch, and of each wait */
    int64_t least_count, most_count;
    int64_t least_ns, most_ns;
    /* From the return of a launch to its work on an idle device: a clock that is late adds to each. */
    int64_t *delays;
    int64_t delay_count;
};

#define NO_BOUND_NS (INT64_C(1) << 60)

enum {
    CLOCK_NS = 5000,        /* clocks that differ by less are as good as one */
    CLOCK_CLOSE_NS = 50000, /* bounds as close as this tell the shift */
    CLOCK_LATE_NS =
        200000, /* no idle device takes longer to begin, each time: a launch takes 5 us */
    LAUNCHES_LEAST = 10,
};

/* The extreme of the values but for one in 200 of them, which may be damaged themselves. */
static int64_t robust(int64_t *values, int64_t count, bool largest)
{
    qsort(values, (size_t)count, sizeof *values, sort_by_int64);
    return values[largest ? count - 1 - count / 200 : count / 200];
}

static bool is_of(const struct timeline *timeline, const struct work *work, int64_t device)
{
    return timeline->trace->tracks[work->event->track].process == device;
}

static void take_launches(struct bounds *bounds, const struct timeline *timeline, int64_t device)
{
    const struct trace_event *last_call = NULL;
    int64_t busy_until_ns = INT64_MIN;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        const struct trace_event *event = work->event, *call = work->call;
        if (!is_of(timeline, work, device))
            continue;
        if (call != NULL && call != last_call) {
            bounds->least[bounds->least_count++] = call->start_ns - event->start_ns;
            if (busy_until_ns != INT64_MIN &&
                event->start_ns - busy_until_ns >= IDLE_DEVICE_WAIT_NS)
                bounds->delays[bounds->delay_count++] = event->start_ns - call->end_ns;
        }
        last_call = call;
        busy_until_ns = interval_later(busy_until_ns, event->end_ns);
    }
}

/* Whether a call returns only when its own copy is done: cudaMemcpy and its like. */
static bool is_blocking_copy(const char *name)
{
    size_t length = strlen(name);

    return length >= 6 && strcmp(name + length - 6, "Memcpy") == 0;
}

enum call_sort { CALL_OTHER, CALL_WAIT, CALL_BLOCKING_COPY };

/* By name. A wait for an event waits for less than all that was launched. */
static const enum call_sort *sorts_of(struct arena *scratch, const struct trace_file *trace)
{
    uint32_t names = trace_file_name_count(trace);
    enum call_sort *sorts = ARENA_NEW(scratch, enum call_sort, names);

    for (uint32_t i = 0; i < names; i++) {
        const char *name = trace_file_name(trace, i);
        if (name_is_wait(name) && strstr(name, "Event") == NULL)
            sorts[i] = CALL_WAIT;
        else if (is_blocking_copy(name))
            sorts[i] = CALL_BLOCKING_COPY;
    }
    return sorts;
}

/* The end of the work that a wait of a thread waits for at least: that which the thread launched last. On a device of
 * several streams it may be another's, unless it is a copy to the host, which is what threads wait for. */
static void take_waits(struct bounds *bounds, struct arena *scratch,
                       const struct timeline *timeline, int64_t device, bool one_stream)
{
    const struct trace_file *trace = timeline->trace;
    const struct work **caused = ARENA_NEW(scratch, const struct work *, trace->event_count);
    const struct work *last = NULL;
    const enum call_sort *sorts = sorts_of(scratch, trace);
    uint32_t track = UINT32_MAX;

    for (int64_t i = 0; i < timeline->work_count; i++)
        if (timeline->work[i].call != NULL && is_of(timeline, &timeline->work[i], device))
            caused[timeline->work[i].call - trace->events] = &timeline->work[i];
    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (!trace_event_is_call(event))
            continue;
        last = event->track == track ? last : NULL;
        track = event->track;
        if (caused[event - trace->events] != NULL) {
            last = caused[event - trace->events];
            if (sorts[event->name] == CALL_BLOCKING_COPY)
                bounds->most[bounds->most_count++] = event->end_ns - last->event->end_ns;
        } else if (last != NULL && sorts[event->name] == CALL_WAIT &&
                   (one_stream || last->kind == WORK_COPY)) {
            bounds->most[bounds->most_count++] = event->end_ns - last->event->end_ns;
            last = NULL;
        }
    }
}

static struct bounds bounds_of(struct arena *scratch, const struct timeline *timeline,
                               int64_t device)
{
    struct bounds bounds = { .least = ARENA_NEW(scratch, int64_t, timeline->work_count),
                             .most = ARENA_NEW(scratch, int64_t, timeline->host_count),
                             .delays = ARENA_NEW(scratch, int64_t, timeline->work_count),
                             .least_ns = -NO_BOUND_NS,
                             .most_ns = NO_BOUND_NS };
    int64_t streams = 0;

    for (int64_t i = 0; i < timeline->stream_count; i++)
        streams += timeline->streams[i].device == device;
    take_launches(&bounds, timeline, device);
    take_waits(&bounds, scratch, timeline, device, streams == 1 && timeline->device_count == 1);
    if (bounds.least_count > 0)
        bounds.least_ns = robust(bounds.least, bounds.least_count, true);
    if (bounds.most_count > 0)
        bounds.most_ns = robust(bounds.most, bounds.most_count, false);
    return bounds;
}

/* How far the device's clock is to be moved. 0: not at all, or no shift would do. */
static int64_t shift_of(struct bounds *bounds)
{
    int64_t least = bounds->least_ns, most = bounds->most_ns, room, inside;

    if (least > most + CLOCK_NS)
        return 0;
    room = interval_later(0, most - least);
    inside = room / 2 < CLOCK_NS ? room / 2 : CLOCK_NS;
    if (least > CLOCK_NS)
        return least + inside;
    if (most < -CLOCK_NS)
        return most - inside;
    return 0;
}

/* The least time from a launch to its work if that found the device idle. 0: too few launches did to tell; a device that
 * stalls now and then is no sign of a late clock, but one that seems to stall before each third piece of its work is. */
static int64_t shortest_delay(const struct bounds *bounds)
{
    return bounds->delay_count >= LAUNCHES_LEAST && 3 * bounds->delay_count >= bounds->least_count
               ? robust(bounds->delays, bounds->delay_count, false)
               : 0;
}

/* The launches and waits that contradict the clock. */
struct beyond {
    int64_t launches, waits;
};

static struct beyond count_beyond(const struct bounds *bounds)
{
    struct beyond beyond = { 0, 0 };

    for (int64_t i = 0; i < bounds->least_count; i++)
        beyond.launches += bounds->least[i] > CLOCK_NS;
    for (int64_t i = 0; i < bounds->most_count; i++) beyond.waits += bounds->most[i] < -CLOCK_NS;
    return beyond;
}

static void move_device(struct trace_file *trace, int64_t device, int64_t shift_ns)
{
    for (int64_t i = 0; i < trace->event_count; i++) {
        struct trace_event *event = &trace->events[i];
        if (!trace->tracks[event->track].on_device || event->kind == EVENT_KIND_SYNC ||
            trace->tracks[event->track].process != device)
            continue;
        event->start_ns += shift_ns;
        event->end_ns += shift_ns;
    }
}

/* Everything seems to be late if the clock is: then no work begins soon after its launch. It may also have waited for
 * something that the trace does not show, so this is only a doubt. */
static void doubt_delays(struct sound_row *row, const struct bounds *bounds, int64_t device)
{
    int64_t shortest_ns = shortest_delay(bounds);

    if (shortest_ns < CLOCK_LATE_NS)
        return;
    row->count++;
    row->trust = TRUST_LITTLE;
    snprintf(row->found, sizeof row->found,
             "no work of device %lld begins sooner than %s after its launch, even if the device is "
             "idle: its clock may be late",
             (long long)device, quantity_time((double)shortest_ns).text);
}

static void note_shift(struct sound_row *row, const struct bounds *bounds, int64_t device,
                       int64_t shift_ns)
{
    enum trust trust =
        bounds->most_ns - bounds->least_ns < CLOCK_CLOSE_NS ? TRUST_WHOLE : TRUST_LESS;

    snprintf(row->mended, sizeof row->mended, "the clock of device %lld is taken to be %s %s",
             (long long)device, quantity_time((double)(shift_ns > 0 ? shift_ns : -shift_ns)).text,
             shift_ns > 0 ? "early" : "late");
    row->trust = trust > row->trust ? trust : row->trust;
}

/* How far the device's clock is to be moved. */
static int64_t judge_device(struct sound_row *row, struct arena *arena,
                            const struct timeline *timeline, int64_t device)
{
    struct arena *scratch = arena_scratch(arena);
    struct bounds bounds = bounds_of(scratch, timeline, device);
    int64_t shift_ns = shift_of(&bounds), count;
    struct beyond beyond = count_beyond(&bounds);

    count = beyond.launches + beyond.waits;
    if (shift_ns != 0 || trust_without(beyond.launches, bounds.least_count) != TRUST_WHOLE ||
        trust_without(beyond.waits, bounds.most_count) != TRUST_WHOLE) {
        row->count += count;
        snprintf(row->found, sizeof row->found,
                 "work of device %lld begins before its launch, or ends after a wait for it, %lld "
                 "times, by up to %s",
                 (long long)device, (long long)count,
                 quantity_time((double)interval_later(bounds.least_ns, -bounds.most_ns)).text);
        if (shift_ns != 0)
            note_shift(row, &bounds, device, shift_ns);
        else
            row->trust = TRUST_LITTLE;
    } else {
        doubt_delays(row, &bounds, device);
    }
    arena_close(scratch);
    return shift_ns;
}

bool mend_clock(struct sound_row *row, struct arena *arena, struct trace_file *trace,
                const struct timeline *timeline)
{
    bool moved = false;

    for (int64_t i = 0; i < timeline->device_count; i++) {
        int64_t device = timeline->devices[i].device;
        int64_t shift_ns = judge_device(row, arena, timeline, device);
        if (shift_ns != 0)
            move_device(trace, device, shift_ns);
        moved = moved || shift_ns != 0;
    }
    return moved;
}
