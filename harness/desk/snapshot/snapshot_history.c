/* Reads the history of a snapshot: the curve of memory and its peak, and whether memory grows from
 * step to step. It is gone through once for each, and once more for who holds what
 * (snapshot_holders.c). */
#include "harness/base/bisect.h"
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/desk/snapshot/snapshot_parts.h"

#include <stdlib.h>
#include <string.h>

static enum memory_action action_of(const struct pickle *pickle, uint32_t value)
{
    static const enum snapshot_word words[] = {
        [ALLOC] = WORD_ALLOC,
        [FREE] = WORD_FREE_COMPLETED,
        [SEGMENT_ALLOC] = WORD_SEGMENT_ALLOC,
        [SEGMENT_FREE] = WORD_SEGMENT_FREE,
        [MAP] = WORD_SEGMENT_MAP,
        [UNMAP] = WORD_SEGMENT_UNMAP,
        [OOM] = WORD_OOM,
    };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (pickle_is(pickle, value, words[i]))
            return (enum memory_action)i;
    return OTHER;
}

static int64_t number_of(const struct pickle *pickle, uint32_t dict, enum snapshot_word name)
{
    return pickle_integer(pickle, pickle_member(pickle, dict, name), 0);
}

/* Only allocations need their stack: what is released is known by its address. */
static enum status take_event(struct memory_history *history, uint32_t entry)
{
    struct snapshot_reading *reading = history->reading;
    const struct pickle *pickle = &reading->pickle;
    struct memory_event *event = &history->events[history->count];

    *event = (struct memory_event){
        .action = action_of(pickle, pickle_member(pickle, entry, WORD_ACTION)),
        .size = snapshot_size(pickle, entry, WORD_SIZE),
        .time_us = number_of(pickle, entry, WORD_TIME_US),
    };
    event->address = number_of(pickle, entry, event->action == OOM ? WORD_DEVICE_FREE : WORD_ADDR);
    if (event->action == ALLOC)
        TRY(snapshot_stack_number(reading, pickle_member(pickle, entry, WORD_FRAMES),
                                  &event->stack));
    history->count++;

    return STATUS_OK;
}

/* --- Sums --- */

static int64_t live_change(const struct memory_event *event)
{
    return event->action == ALLOC ? event->size : event->action == FREE ? -event->size : 0;
}

static int64_t reserved_change(const struct memory_event *event)
{
    return event->action == SEGMENT_ALLOC || event->action == MAP    ? event->size
           : event->action == SEGMENT_FREE || event->action == UNMAP ? -event->size
                                                                     : 0;
}

/* All are counted, and the first ones kept. */
static void take_oom(struct memory_history *history, int64_t number, int64_t live, int64_t reserved)
{
    struct snapshot_device *device = history->device;
    const struct memory_event *event = &history->events[number];

    if (device->oom_count < SNAPSHOT_OOMS)
        device->ooms[device->oom_count] =
            (struct snapshot_oom){ number,         event->time_us, event->size,
                                   event->address, live,           reserved };
    device->oom_count++;
}

/* Live and reserved memory at the start, from that at the end. */
static void find_start(const struct memory_history *history, int64_t *live, int64_t *reserved)
{
    *live = history->device->live_end;
    *reserved = history->device->reserved;
    for (int64_t i = 0; i < history->count; i++) {
        *live -= live_change(&history->events[i]);
        *reserved -= reserved_change(&history->events[i]);
    }
    /* A history that lacks events does not add up. */
    *live = *live > 0 ? *live : 0;
    *reserved = *reserved > 0 ? *reserved : 0;
}

/* Fills the curve and its peak. The live and reserved bytes at the end come from the segments
 * instead. */
static void follow(struct memory_history *history)
{
    struct snapshot_device *device = history->device;
    int64_t live, reserved;

    find_start(history, &live, &reserved);
    device->live_start = device->live_peak = live;
    device->reserved_at_peak = reserved;
    device->peak_event = -1;
    for (int64_t i = 0; i < history->count; i++) {
        const struct memory_event *event = &history->events[i];
        int64_t piece = i * device->point_count / history->count;
        struct snapshot_point *point = &device->points[piece];
        bool first = i == 0 || (i - 1) * device->point_count / history->count < piece;
        live += live_change(event);
        reserved += reserved_change(event);
        if (event->action == OOM)
            take_oom(history, i, live, reserved);
        device->alloc_count += event->action == ALLOC;
        device->segment_alloc_count += event->action == SEGMENT_ALLOC;
        device->segment_free_count += event->action == SEGMENT_FREE;
        if (first || live > point->live)
            *point = (struct snapshot_point){ i, event->time_us, live, reserved, { 0 } };
        if (live > device->live_peak) {
            device->live_peak = live;
            device->reserved_at_peak = reserved;
            device->peak_event = i;
        }
    }
}

/* --- Steps --- */

/* Marks that begin steps: annotations of a profiler or an optimizer, as far as they are within the
 * history. */
static enum status add_mark(struct memory_history *history, int64_t time_us)
{
    int64_t low = 0, high = history->count;

    BISECT(low, high, i, history->events[i].time_us < time_us);
    if (low == 0 || low == history->count)
        return STATUS_OK;
    TRY(rows_grow(&history->marks, history->mark_count + 1, &history->mark_room));
    history->marks[history->mark_count++] = low;

    return STATUS_OK;
}

static bool begins_step(const struct memory_history *history, uint32_t annotation, const char *name)
{
    const struct pickle *pickle = &history->reading->pickle;
    const char *text = pickle_text(pickle, pickle_member(pickle, annotation, WORD_NAME));
    uint32_t device = pickle_member(pickle, annotation, WORD_DEVICE);

    return pickle_is(pickle, pickle_member(pickle, annotation, WORD_STAGE), WORD_START) &&
           pickle_integer(pickle, device, -1) == history->device->device &&
           strncmp(text, name, strlen(name)) == 0;
}

static enum status find_marks(struct memory_history *history, const char *name)
{
    const struct pickle *pickle = &history->reading->pickle;
    uint32_t list = pickle_member(pickle, pickle->root, WORD_EXTERNAL_ANNOTATIONS);

    history->mark_count = 0;
    for (int64_t i = 0; i < pickle_length(pickle, list); i++) {
        uint32_t one = pickle_item(pickle, list, i);
        if (begins_step(history, one, name))
            TRY(add_mark(history, number_of(pickle, one, WORD_TIME_US)));
    }
    sort_int64(history->marks, history->mark_count);
    return STATUS_OK;
}

enum { STEPS_LEAST = 4 };

/* Without marks, a step has ended where live memory has fallen by this share of the peak, and rises
 * as much again: what a step needs comes and goes. Layers within a step keep most of theirs. */
#define FALL_LEAST 0.2

/* Marks the lowest points. */
static enum status find_falls(struct memory_history *history)
{
    int64_t least = (int64_t)(FALL_LEAST * (double)history->device->live_peak) + 1;
    int64_t live = history->device->live_start, turn = live, at = 0;
    bool falls = false;

    history->mark_count = 0;
    for (int64_t i = 0; i < history->count; i++) {
        live += live_change(&history->events[i]);
        if (falls ? live < turn : live > turn || turn - live >= least) {
            falls = live < turn;
            turn = live;
            at = i;
        } else if (falls && (live - turn >= least || i + 1 == history->count)) {
            TRY(rows_grow(&history->marks, history->mark_count + 1, &history->mark_room));
            history->marks[history->mark_count++] = at;
            falls = false;
            turn = live;
        }
    }
    return STATUS_OK;
}

/* Steps by the profiler or by the optimizer, or else falls of live memory. */
static enum status choose_marks(struct memory_history *history)
{
    struct snapshot_device *device = history->device;
    static const char *const names[] = { "ProfilerStep#", "Optimizer.step#" };

    for (size_t i = 0; i < ARRAY_SIZE(names) && history->mark_count < STEPS_LEAST; i++)
        TRY(find_marks(history, names[i]));
    device->has_steps = history->mark_count >= STEPS_LEAST;
    if (!device->has_steps)
        TRY(find_falls(history));
    device->mark_count = history->mark_count;
    return STATUS_OK;
}

/* Compares the bytes live at each mark. */
static void compare_marks(struct memory_history *history)
{
    struct snapshot_device *device = history->device;
    int64_t live = device->live_start, before = 0, first = 0, at = 0, segments = 0;

    for (int64_t i = 0; i < history->count && at < history->mark_count; i++) {
        live += live_change(&history->events[i]);
        /* In the second half only: the first steps take what all others use again. */
        segments += 2 * at >= history->mark_count && history->events[i].action == SEGMENT_ALLOC;
        for (; at < history->mark_count && history->marks[at] <= i; at++) {
            first = at == 0 ? live : first;
            device->grows += at > 0 && live > before;
            device->grown = live - first;
            before = live;
        }
    }
    if (device->has_steps)
        device->churn_per_step = segments / (history->mark_count - history->mark_count / 2);
}

static enum status take_events(struct memory_history *history, uint32_t trace)
{
    const struct pickle *pickle = &history->reading->pickle;
    struct snapshot_device *device = history->device;
    int64_t count = pickle_length(pickle, trace);

    history->reading->events_left -= count;
    if (count > SNAPSHOT_COUNT_MOST)
        FAIL(STATUS_BAD_INPUT, "its history has more than %d events", SNAPSHOT_COUNT_MOST);
    if (history->reading->events_left < 0)
        FAIL(STATUS_BAD_INPUT, "it has more events than the file has room for");
    TRY(rows_make(&history->events, count));
    for (int64_t i = 0; i < count; i++) TRY(take_event(history, pickle_item(pickle, trace, i)));
    device->event_count = count;
    device->point_count = count < SNAPSHOT_POINTS ? count : SNAPSHOT_POINTS;
    TRY(rows_make(&device->points, device->point_count));
    if (count > 0) {
        device->start_us = history->events[0].time_us;
        device->end_us = history->events[count - 1].time_us;
    }
    return STATUS_OK;
}

enum status snapshot_history(struct snapshot_reading *reading, struct snapshot_device *device,
                             uint32_t trace)
{
    enum status status = STATUS_OK;
    struct memory_history history = { .reading = reading, .device = device };

    TRY_OUT(take_events(&history, trace));
    follow(&history);
    TRY_OUT(choose_marks(&history));
    compare_marks(&history);
    TRY_OUT(snapshot_holders(&history));
    TRY_OUT(snapshot_flame(&history));

out:
    free(history.events);
    free(history.marks);
    free(history.at_peak);
    return status;
}
