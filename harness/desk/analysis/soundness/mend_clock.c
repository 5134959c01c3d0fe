/* The device's clock beside the host's: work begins after its launch, and a wait ends after the
 * work that it waits for. */
#include "harness/base/figures/quantity.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/soundness/mends.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A launch that found the device idle: when it was called, and how long after that its work
 * began. */
struct moment {
    int64_t called_ns, after_ns;
};

/* The time by which a device's clock may be moved: no further back than `least_ns`, or work would
 * begin before its launch, and no further on than `most_ns`, or a wait would end before its
 * work. */
struct bounds {
    int64_t *least, *most; /* of each launch, and of each wait */
    int64_t least_count, most_count;
    int64_t least_ns, most_ns;
    /* from the return of each launch to its work: a clock that is late adds to each */
    int64_t *queued;
    /* The same for launches that found the device idle, and their moments, by start of the work. */
    int64_t *delays;
    struct moment *moments;
    int64_t delay_count;
};

#define NO_BOUND_NS (INT64_C(1) << 60)

enum {
    CLOCK_NS = 5000,        /* clocks that differ by less are as good as one */
    CLOCK_CLOSE_NS = 50000, /* bounds as close as this tell the shift */
    CLOCK_LATE_NS =
        100000, /* no idle device takes as long to begin, each time: a launch takes 5 us */
    CLOCK_ALIKE_NS = 20000, /* an idle device takes the same time to begin, but for this */
    CLOCK_DRIFT_NS = 20000, /* a clock that drifts by less is as good as one that does not */
    DRIFT_PARTS = 5,
};

/* The extreme of the values but for one in 200 of them, which may be damaged themselves. */
static int64_t robust(int64_t *values, int64_t count, bool largest)
{
    sort_int64(values, count);
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
            bounds->queued[bounds->least_count] = event->start_ns - call->end_ns;
            bounds->least[bounds->least_count++] = call->start_ns - event->start_ns;
            if (busy_until_ns != INT64_MIN &&
                event->start_ns - busy_until_ns >= IDLE_DEVICE_WAIT_NS) {
                bounds->moments[bounds->delay_count] =
                    (struct moment){ call->start_ns, event->start_ns - call->start_ns };
                bounds->delays[bounds->delay_count++] = event->start_ns - call->end_ns;
            }
        }
        last_call = call;
        busy_until_ns = interval_later(busy_until_ns, event->end_ns);
    }
}

/* Whether a call returns only when its own copy is done: cudaMemcpy and its like, but none that
 * enqueues (urEnqueueUSMMemcpy of Intel GPUs). */
static bool is_blocking_copy(const char *name)
{
    size_t length = strlen(name);

    return length >= 6 && strcmp(name + length - 6, "Memcpy") == 0 &&
           strstr(name, "Enqueue") == NULL;
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

/* The end of the work that a wait of a thread waits for at least: that which the thread launched
 * last. On a device of several streams it may be another's, unless it is a copy to the host, which
 * is what threads wait for. */
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
                             .queued = ARENA_NEW(scratch, int64_t, timeline->work_count),
                             .delays = ARENA_NEW(scratch, int64_t, timeline->work_count),
                             .moments = ARENA_NEW(scratch, struct moment, timeline->work_count),
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

static bool are_alike(int64_t shorter_ns, int64_t longer_ns)
{
    return longer_ns - shorter_ns <= interval_later(CLOCK_ALIKE_NS, shorter_ns / 100);
}

/* The time that an idle device seems to take until it begins, if its clock is late. A device that
 * stalls now and then is no sign of that, but one whose stalls are alike, though nothing begins
 * sooner, is. 0: the clock is not late. */
static int64_t lateness(const struct bounds *bounds)
{
    int64_t shortest_ns, median_ns;

    if (bounds->delay_count < 2)
        return 0;
    shortest_ns = robust(bounds->delays, bounds->delay_count, false);
    median_ns = bounds->delays[bounds->delay_count / 2];
    if (shortest_ns < CLOCK_LATE_NS || !are_alike(shortest_ns, median_ns))
        return 0;
    return are_alike(robust(bounds->queued, bounds->least_count, false), shortest_ns) ? shortest_ns
                                                                                      : 0;
}

/* The time by which a clock that runs faster than the host's gets ahead: an idle device then seems
 * to begin later and later, in proportion to the time. No clock is wrong by more than a few
 * hundredths. 0: it does not. */
static int64_t drift_of(const struct bounds *bounds)
{
    const double most = 0.03;
    struct moment soonest[DRIFT_PARTS], last;
    double span_ns, ahead_ns;

    if (bounds->delay_count < 2 * DRIFT_PARTS)
        return 0;
    /* The soonest start of each part of the launches that found the device idle. */
    for (int part = 0; part < DRIFT_PARTS; part++) {
        int64_t first = bounds->delay_count * part / DRIFT_PARTS;
        int64_t end = bounds->delay_count * (part + 1) / DRIFT_PARTS;
        soonest[part] = bounds->moments[first];
        for (int64_t i = first + 1; i < end; i++)
            if (bounds->moments[i].after_ns < soonest[part].after_ns)
                soonest[part] = bounds->moments[i];
    }
    last = soonest[DRIFT_PARTS - 1];
    ahead_ns = (double)(last.after_ns - soonest[0].after_ns);
    span_ns = (double)(last.called_ns - soonest[0].called_ns);
    if (ahead_ns < CLOCK_DRIFT_NS || ahead_ns > most * span_ns)
        return 0;
    for (int part = 1; part < DRIFT_PARTS - 1; part++) {
        double passed_ns = (double)(soonest[part].called_ns - soonest[0].called_ns);
        double after_ns = (double)(soonest[part].after_ns - soonest[0].after_ns);
        if (fabs(after_ns - ahead_ns * passed_ns / span_ns) > ahead_ns / 8)
            return 0;
    }
    return (int64_t)ahead_ns;
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

/* The idle time of a device that is another one if its clock is wrong by `error_ns`: as much of
 * each time in which it does nothing. */
static int64_t idle_within_ns(const struct timeline *timeline, int64_t device, int64_t error_ns)
{
    int64_t busy_until_ns = INT64_MAX, sum_ns = 0;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        if (!is_of(timeline, work, device))
            continue;
        if (work->event->start_ns > busy_until_ns)
            sum_ns += interval_earlier(work->event->start_ns - busy_until_ns, error_ns);
        busy_until_ns = busy_until_ns == INT64_MAX
                            ? work->event->end_ns
                            : interval_later(busy_until_ns, work->event->end_ns);
    }
    return sum_ns;
}

/* By how much a clock may be wrong that is moved: bounds that are close tell the shift. Others may
 * turn what follows a wait into what does not, however long it is. */
static int64_t note_shift(struct sound_row *row, const struct bounds *bounds, int64_t device,
                          int64_t shift_ns)
{
    snprintf(row->mended, sizeof row->mended, "the clock of device %lld is taken to be %s %s",
             (long long)device, quantity_time((double)(shift_ns > 0 ? shift_ns : -shift_ns)).text,
             shift_ns > 0 ? "early" : "late");
    return bounds->most_ns - bounds->least_ns < CLOCK_CLOSE_NS ? 0 : NO_BOUND_NS;
}

/* Lowers the trust by the share of the device's idle time that is in doubt. */
static void weigh(struct sound_row *row, const struct timeline *timeline, int64_t device,
                  int64_t error_ns, bool is_moved)
{
    int64_t doubt_ns = idle_within_ns(timeline, device, error_ns);
    enum trust trust = trust_without(doubt_ns, idle_within_ns(timeline, device, NO_BOUND_NS));

    row->doubt_ns += doubt_ns;
    trust = trust == TRUST_LITTLE && is_moved ? TRUST_LESS : trust;
    row->trust = trust > row->trust ? trust : row->trust;
}

/* How far the device's clock is to be moved. */
static int64_t judge_device(struct sound_row *row, struct arena *arena,
                            const struct timeline *timeline, int64_t device)
{
    SCRATCH_ARENA(scratch, arena);
    struct bounds bounds = bounds_of(scratch, timeline, device);
    int64_t shift_ns = shift_of(&bounds), error_ns = drift_of(&bounds);
    struct beyond beyond = count_beyond(&bounds);

    if (error_ns > 0) {
        row->count++;
        snprintf(row->found, sizeof row->found,
                 "work of device %lld begins later and later after its launch, even if the device "
                 "is idle, by up to %s: its clock may run faster than the host's",
                 (long long)device, quantity_time((double)error_ns).text);
        shift_ns = 0;
    } else if (shift_ns != 0 || trust_without(beyond.launches, bounds.least_count) != TRUST_WHOLE ||
               trust_without(beyond.waits, bounds.most_count) != TRUST_WHOLE) {
        error_ns = interval_later(bounds.least_ns, -bounds.most_ns);
        row->count += beyond.launches + beyond.waits;
        snprintf(row->found, sizeof row->found,
                 "work of device %lld begins before its launch, or ends after a wait for it, %lld "
                 "time%s, by up to %s",
                 (long long)device, (long long)(beyond.launches + beyond.waits),
                 beyond.launches + beyond.waits == 1 ? "" : "s",
                 quantity_time((double)error_ns).text);
        if (shift_ns != 0)
            error_ns = note_shift(row, &bounds, device, shift_ns);
    } else if ((error_ns = lateness(&bounds)) > 0) {
        /* It may also have waited for something that the trace does not show. */
        row->count++;
        snprintf(
            row->found, sizeof row->found,
            "no work of device %lld begins sooner than %s after its launch, even if the device "
            "is idle: its clock may be late",
            (long long)device, quantity_time((double)error_ns).text);
    }
    weigh(row, timeline, device, error_ns, shift_ns != 0);
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
