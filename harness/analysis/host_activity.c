/* One sweep per thread with a stack of open events; neighbours that are alike become one segment, so that
 * a trace of deep operators costs little more than its calls. */
#include "harness/analysis/host_activity.h"

#include "harness/analysis/event_names.h"
#include "harness/analysis/host_events.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 1024 }; /* deeper ones are left out */

struct open_event {
    const struct event *event;
    enum host_doing doing;
};

struct sweep {
    const struct trace_file *trace;
    struct host_activity *activity;
    const struct work **work_of; /* by event: the first work that a call caused */
    const struct event **events;
    int64_t event_count, room;
    struct open_event stack[DEPTH];
    int depth;
    int64_t cursor_ns;
};

const char *host_doing_name(enum host_doing doing)
{
    static const char *const names[] = { "outside", "operators",  "loading",
                                         "logging", "saving",     "launching",
                                         "copying", "allocating", "waiting" };

    return (unsigned)doing < ARRAY_SIZE(names) ? names[doing] : "unknown";
}

static enum host_doing doing_of_call(const struct sweep *sweep, const struct event *event)
{
    const struct work *work = sweep->work_of[event - sweep->trace->events];
    const char *name = trace_file_name(sweep->trace, event->name);
    bool is_copy = strstr(name, "Memcpy") != NULL || strstr(name, "memcpy") != NULL;

    if (is_copy && work != NULL) {
        const char *copy = trace_file_name(sweep->trace, work->event->name);
        bool to_host = strstr(copy, "DtoH") != NULL;
        bool pageable = strstr(copy, "Pageable") != NULL;
        if (to_host && (pageable || strstr(name, "Async") == NULL))
            return HOST_WAITING;
        return HOST_COPYING;
    }
    if (is_copy)
        return HOST_COPYING;
    return name_is_wait(name)         ? HOST_WAITING
           : name_is_allocation(name) ? HOST_ALLOCATING
                                      : HOST_LAUNCHING;
}

static enum host_doing doing_of_span(const struct sweep *sweep, const struct event *event)
{
    const char *name = trace_file_name(sweep->trace, event->name);
    enum host_doing around = sweep->depth > 0 ? sweep->stack[sweep->depth - 1].doing : HOST_OUTSIDE;

    if (around == HOST_LOADING || around == HOST_LOGGING || around == HOST_SAVING)
        return around;
    return name_is_data_loading(name) ? HOST_LOADING
           : name_is_logging(name)    ? HOST_LOGGING
           : name_is_saving(name)     ? HOST_SAVING
                                      : HOST_OPERATOR;
}

static enum status emit(struct sweep *sweep, const struct open_event *open, int64_t until_ns)
{
    struct host_activity *activity = sweep->activity;
    struct host_segment *last = activity->count > 0 ? &activity->items[activity->count - 1] : NULL;
    enum status status = STATUS_OK;

    if (until_ns <= sweep->cursor_ns)
        goto out;
    if (last != NULL && last->track == open->event->track && last->end_ns == sweep->cursor_ns &&
        last->doing == open->doing) {
        last->end_ns = until_ns;
    } else {
        if (activity->count == sweep->room) {
            int64_t room = sweep->room > 0 ? 2 * sweep->room : 1024;
            struct host_segment *items = realloc(activity->items, (size_t)room * sizeof *items);
            if (items == NULL)
                FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld stretches of the host",
                     (long long)room);
            activity->items = items;
            sweep->room = room;
        }
        activity->items[activity->count++] =
            (struct host_segment){ sweep->cursor_ns, until_ns, open->event->track, open->doing };
    }
    sweep->cursor_ns = until_ns;

out:
    return status;
}

/* Closes what ends before the next event, which may be of another thread, and fills up to it. */
static enum status advance(struct sweep *sweep, const struct event *next)
{
    enum status status = STATUS_OK;

    while (sweep->depth > 0) {
        struct open_event *top = &sweep->stack[sweep->depth - 1];
        if (next != NULL && next->track == top->event->track &&
            next->start_ns < top->event->end_ns) {
            TRY(emit(sweep, top, next->start_ns));
            break;
        }
        TRY(emit(sweep, top, top->event->end_ns));
        sweep->depth--;
    }
    if (next != NULL && (sweep->depth == 0 || next->start_ns > sweep->cursor_ns))
        sweep->cursor_ns = next->start_ns;

out:
    return status;
}

static enum status sweep_over(struct sweep *sweep)
{
    enum status status = STATUS_OK;

    for (int64_t i = 0; i < sweep->event_count; i++) {
        const struct event *event = sweep->events[i];
        enum host_doing doing;
        TRY(advance(sweep, event));
        doing = event_is_call(event) ? doing_of_call(sweep, event) : doing_of_span(sweep, event);
        if (doing == HOST_WAITING)
            sweep->activity->waits[sweep->activity->wait_count++] = event;
        if (sweep->depth < DEPTH)
            sweep->stack[sweep->depth++] = (struct open_event){ event, doing };
    }
    TRY(advance(sweep, NULL));

out:
    return status;
}

/* The thread that runs the loop. */
static enum status find_loop(struct host_activity *activity, const struct timeline *timeline)
{
    const struct trace_file *trace = timeline->trace;
    enum status status = STATUS_OK;
    int64_t most = 0, step, *launches = calloc((size_t)trace->track_count + 1, sizeof *launches);

    if (launches == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld threads", (long long)trace->track_count);
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct event *event = &trace->events[i];
        if ((event->kind == EVENT_KIND_ANNOTATION || event->kind == EVENT_KIND_OPERATOR) &&
            name_is_step(trace_file_name(trace, event->name), &step)) {
            activity->has_loop = true;
            activity->loop = event->track;
            goto out;
        }
    }
    for (int64_t i = 0; i < timeline->work_count; i++)
        if (timeline->work[i].call != NULL)
            launches[timeline->work[i].call->track]++;
    for (int64_t i = 0; i < trace->track_count; i++)
        if (launches[i] > most) {
            most = launches[i];
            activity->has_loop = true;
            activity->loop = (uint32_t)i;
        }

out:
    free(launches);
    return status;
}

enum status host_activity_make(struct host_activity *activity, const struct timeline *timeline)
{
    const struct trace_file *trace = timeline->trace;
    size_t room = (size_t)trace->event_count + 1;
    enum status status = STATUS_OK;
    struct sweep *sweep = calloc(1, sizeof *sweep);

    memset(activity, 0, sizeof *activity);
    if (sweep == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the host's activity");
    *sweep = (struct sweep){ .trace = trace,
                             .activity = activity,
                             .work_of = calloc(room, sizeof *sweep->work_of) };
    TRY(host_events_make(&sweep->events, &sweep->event_count, trace));
    activity->waits = malloc(((size_t)sweep->event_count + 1) * sizeof *activity->waits);
    if (sweep->work_of == NULL || activity->waits == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld events of the host",
             (long long)sweep->event_count);
    for (int64_t i = timeline->work_count; i-- > 0;)
        if (timeline->work[i].call != NULL)
            sweep->work_of[timeline->work[i].call - trace->events] = &timeline->work[i];
    TRY(sweep_over(sweep));
    TRY(find_loop(activity, timeline));

out:
    if (sweep != NULL) {
        free(sweep->work_of);
        free(sweep->events);
    }
    free(sweep);
    return status;
}

void host_activity_release(struct host_activity *activity)
{
    free(activity->items);
    free(activity->waits);
    memset(activity, 0, sizeof *activity);
}

/* --- Questions ----------------------------------------------------------------------------------- */

/* The first segment of the thread that ends after the moment, or the first of a later thread. */
static int64_t first_after(const struct host_activity *activity, uint32_t track, int64_t at_ns)
{
    int64_t low = 0, high = activity->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const struct host_segment *segment = &activity->items[middle];
        if (segment->track < track || (segment->track == track && segment->end_ns <= at_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void fill_outside(const struct host_activity *activity, uint32_t track, int64_t start_ns,
                         int64_t end_ns, int64_t ns[HOST_DOING_COUNT])
{
    if (start_ns >= end_ns)
        return;
    if (activity->has_loop && activity->loop != track)
        host_activity_between(activity, activity->loop, start_ns, end_ns, ns);
    else
        ns[HOST_OUTSIDE] += end_ns - start_ns;
}

void host_activity_between(const struct host_activity *activity, uint32_t track, int64_t start_ns,
                           int64_t end_ns, int64_t ns[HOST_DOING_COUNT])
{
    for (int64_t i = first_after(activity, track, start_ns); i < activity->count; i++) {
        const struct host_segment *segment = &activity->items[i];
        int64_t from = segment->start_ns > start_ns ? segment->start_ns : start_ns;
        int64_t to = segment->end_ns < end_ns ? segment->end_ns : end_ns;
        if (segment->track != track || from >= to)
            break;
        fill_outside(activity, track, start_ns, from, ns);
        ns[segment->doing] += to - from;
        start_ns = to;
    }
    fill_outside(activity, track, start_ns, end_ns, ns);
}

const struct event *host_activity_wait(const struct host_activity *activity, uint32_t track,
                                       int64_t at_ns)
{
    int64_t low = 0, high = activity->wait_count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const struct event *wait = activity->waits[middle];
        if (wait->track < track || (wait->track == track && wait->end_ns < at_ns))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == activity->wait_count || activity->waits[low]->track != track ||
        activity->waits[low]->start_ns > at_ns)
        return NULL;
    return activity->waits[low];
}
