/* One sweep per thread with a stack of open events; neighbours that are alike become one segment,
 * so that a trace of deep operators costs little more than its calls. */
#include "harness/desk/analysis/host/host_activity.h"

#include "harness/base/bisect.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/launches.h"

#include <stddef.h>
#include <string.h>

/* --- Open events --- */

/* A stack: events of a thread nest, so the innermost is the first to end. */
static void show_innermost(struct open_events *open, int64_t until_ns, open_events_visit *visit,
                           void *context)
{
    int64_t start_ns = open->cursor_ns;

    if (until_ns <= start_ns)
        return;
    open->cursor_ns = until_ns;
    if (visit != NULL)
        visit(context, open->depth - 1, start_ns, until_ns);
}

void open_events_advance(struct open_events *open, const struct trace_event *next,
                         open_events_visit *visit, void *context)
{
    while (open->depth > 0) {
        const struct trace_event *top = open->items[open->depth - 1];
        if (next != NULL && next->track == top->track && next->start_ns < top->end_ns) {
            show_innermost(open, next->start_ns, visit, context);
            return;
        }
        show_innermost(open, top->end_ns, visit, context);
        open->depth--;
    }
    if (next != NULL)
        open->cursor_ns = next->start_ns;
}

int open_events_push(struct open_events *open, const struct trace_event *event)
{
    if (open->depth == OPEN_DEPTH)
        return -1;
    open->items[open->depth] = event;
    return open->depth++;
}

/* --- The sweep --- */

struct sweep {
    const struct trace_file *trace;
    struct host_activity *activity;
    const struct timeline *timeline;
    /* by event: number of the first work that a call caused, from 1 on; 0: none */
    uint32_t *work_of;
    struct host_names names;
    bool *awaits; /* by event: a copy's call that lasted while the device did other work */
    struct open_events open;
    enum host_kind kinds[OPEN_DEPTH]; /* of the open events */
};

const char *host_kind_name(enum host_kind kind)
{
    static const char *const names[] = { "outside", "operators", "loading",   "logging",
                                         "saving",  "launching", "copying",   "allocating",
                                         "waiting", "first_use", "capturing", "host_work" };

    return (unsigned)kind < ARRAY_SIZE(names) ? names[kind] : "unknown";
}

/* Both meanings of a name: as that of a call, and as that of an operator or annotation. */
static struct host_name by_name(const char *name)
{
    struct host_name named = { .is_known = true, .call = HOST_LAUNCHING, .span = HOST_OPERATOR };

    named.is_allocation = name_is_allocation(name);
    named.is_copy = strstr(name, "Memcpy") != NULL || strstr(name, "memcpy") != NULL;
    if (named.is_copy)
        named.call = HOST_COPYING;
    else if (name_is_wait(name))
        named.call = HOST_WAITING;
    else if (named.is_allocation)
        named.call = HOST_ALLOCATING;
    if (name_is_data_loading(name))
        named.span = HOST_LOADING;
    else if (name_is_logging(name))
        named.span = HOST_LOGGING;
    else if (name_is_saving(name))
        named.span = HOST_SAVING;
    return named;
}

enum host_kind host_kind_of_name(const char *name, bool is_call)
{
    struct host_name named = by_name(name);

    return is_call ? named.call : named.span;
}

struct host_names host_names_open(struct arena *arena, const struct trace_file *trace)
{
    return (struct host_names){ trace,
                                ARENA_NEW(arena, struct host_name, trace_file_name_count(trace)) };
}

const struct host_name *host_name_of(const struct host_names *names, uint32_t name)
{
    if (!names->items[name].is_known)
        names->items[name] = by_name(trace_file_name(names->trace, name));
    return &names->items[name];
}

/* --- Copies that wait --- */

/* The place of a device in the timeline. */
static int64_t device_of(const struct timeline *timeline, const struct trace_event *event)
{
    int64_t number = timeline->trace->tracks[event->track].process;
    int64_t low = 0, high = timeline->device_count;

    BISECT(low, high, i, timeline->devices[i].device < number);
    return low;
}

/* A copy may wait in its call until the device has done the work before it: a blocking copy, or one
 * that is called asynchronous and has pageable memory. It did if it began right after that work,
 * and more than half of the call was over by then. */
static bool awaited(const struct work *work, int64_t earlier_end_ns)
{
    const struct trace_event *call = work->call;

    return work->kind == WORK_COPY && call != NULL && call->end_ns > work->event->start_ns &&
           work->event->start_ns - earlier_end_ns < IDLE_DEVICE_WAIT_NS &&
           2 * (earlier_end_ns - call->start_ns) > call->end_ns - call->start_ns;
}

/* Work is sorted by start, so what a device did before a copy is known when the copy comes. */
static void find_awaited(struct sweep *sweep, struct arena *scratch)
{
    const struct timeline *timeline = sweep->timeline;
    int64_t *ends_ns = ARENA_NEW(scratch, int64_t, timeline->device_count);

    for (int64_t i = 0; i < timeline->device_count; i++) ends_ns[i] = INT64_MIN / 2;
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        int64_t *end_ns = &ends_ns[device_of(timeline, work->event)];
        if (awaited(work, *end_ns))
            sweep->awaits[work->call - sweep->trace->events] = true;
        *end_ns = interval_later(*end_ns, work->event->end_ns);
    }
}

/* A copy to the host waits for the device if it is synchronous, or if its memory is pageable: such
 * a copy goes through a staging buffer, so it returns when it is done whatever the call is named.
 * The times tell whether another copy does. */
static bool copy_waits(const struct sweep *sweep, const struct trace_event *event)
{
    uint32_t work = sweep->work_of[event - sweep->trace->events];
    const char *copy;

    if (work == 0)
        return false;
    if (sweep->awaits[event - sweep->trace->events])
        return true;
    copy = trace_file_name(sweep->trace, sweep->timeline->work[work - 1].event->name);
    return strstr(copy, "DtoH") != NULL &&
           (strstr(copy, "Pageable") != NULL ||
            strstr(trace_file_name(sweep->trace, event->name), "Async") == NULL);
}

/* --- Launches that wait --- */

/* A short kernel may end before its call returns, which says nothing. */
static bool launches_wait(const struct timeline *timeline)
{
    int64_t launched = 0, held = 0;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        launched += timeline->work[i].call != NULL;
        held += launch_is_held(&timeline->work[i]);
    }
    return held > 0 && 2 * held >= launched;
}

/* Where only some launches return late, these are long for another reason. */
static bool launch_waits(const struct sweep *sweep, const struct trace_event *event)
{
    uint32_t work = sweep->work_of[event - sweep->trace->events];

    return sweep->activity->launches_wait && work > 0 &&
           launch_is_held(&sweep->timeline->work[work - 1]);
}

/* --- The sweep --- */

static enum host_kind kind_around(const struct sweep *sweep)
{
    return sweep->open.depth > 0 ? sweep->kinds[sweep->open.depth - 1] : HOST_OUTSIDE;
}

/* A save reads the whole state, in many copies that wait: all of that is the save's time. */
static enum host_kind kind_of_call(const struct sweep *sweep, const struct trace_event *event)
{
    const struct host_name *named = host_name_of(&sweep->names, event->name);

    if (kind_around(sweep) == HOST_SAVING)
        return HOST_SAVING;
    if (named->call == HOST_LAUNCHING && launch_waits(sweep, event))
        return HOST_WAITING;
    return named->is_copy && copy_waits(sweep, event) ? HOST_WAITING : named->call;
}

/* Whatever happens inside loading, logging or saving is part of it. */
static enum host_kind kind_of_span(const struct sweep *sweep, const struct trace_event *event)
{
    enum host_kind around = kind_around(sweep);

    if (around == HOST_LOADING || around == HOST_LOGGING || around == HOST_SAVING)
        return around;
    return host_name_of(&sweep->names, event->name)->span;
}

/* Adds a time; a segment of the same activity that ends where it begins grows instead. */
static void take_time(void *context, int innermost, int64_t start_ns, int64_t end_ns)
{
    const struct sweep *sweep = context;
    struct host_activity *activity = sweep->activity;
    struct host_segment *last = activity->count > 0 ? &activity->items[activity->count - 1] : NULL;
    uint32_t track = sweep->open.items[innermost]->track;
    enum host_kind kind = sweep->kinds[innermost];

    if (last != NULL && last->track == track && last->end_ns == start_ns && last->activity == kind)
        last->end_ns = end_ns;
    else
        activity->items[activity->count++] = (struct host_segment){ start_ns, end_ns, track, kind };
}

static void sweep_over(struct sweep *sweep)
{
    for (int64_t i = 0; i < sweep->timeline->host_count; i++) {
        const struct trace_event *event = sweep->timeline->host[i];
        enum host_kind kind;
        int number;
        open_events_advance(&sweep->open, event, take_time, sweep);
        kind = trace_event_is_call(event) ? kind_of_call(sweep, event) : kind_of_span(sweep, event);
        if (kind == HOST_WAITING)
            sweep->activity->waits[sweep->activity->wait_count++] = event;
        if (kind == HOST_LOGGING)
            intervals_add(&sweep->activity->logging, event->start_ns, event->end_ns);
        number = open_events_push(&sweep->open, event);
        if (number >= 0)
            sweep->kinds[number] = kind;
    }
    open_events_advance(&sweep->open, NULL, take_time, sweep);
    intervals_merge(&sweep->activity->logging);
}

/* The loop runs on the thread that marks steps or, where nothing marks them, on the one that
 * launches most. */
static void find_loop(struct host_activity *activity, struct arena *scratch,
                      const struct timeline *timeline)
{
    const struct trace_file *trace = timeline->trace;
    int64_t most = 0, step, *launches = ARENA_NEW(scratch, int64_t, trace->track_count);

    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if ((event->kind == EVENT_KIND_ANNOTATION || event->kind == EVENT_KIND_OPERATOR) &&
            name_is_step(trace_file_name(trace, event->name), &step)) {
            activity->has_loop = true;
            activity->loop = event->track;
            return;
        }
    }
    for (int64_t i = 0; i < timeline->work_count; i++)
        if (timeline->work[i].call != NULL)
            launches[timeline->work[i].call->track]++;
    for (int64_t i = 0; timeline->host_alone && i < timeline->host_count; i++)
        launches[timeline->host[i]->track]++;
    for (int64_t i = 0; i < trace->track_count; i++)
        if (launches[i] > most) {
            most = launches[i];
            activity->has_loop = true;
            activity->loop = (uint32_t)i;
        }
}

/* The driver has one lock: a launch waits while another thread allocates, as one that pins batches
 * does (pytorch/pytorch, issue 97432). It does little else: four fifths of it or more are in such
 * calls, or something else held it, too. */
static void find_held(struct host_activity *activity, struct sweep *sweep, struct arena *scratch)
{
    const struct timeline *timeline = sweep->timeline;
    struct intervals allocating = { .arena = scratch };

    for (int pass = 0; pass < 2 && activity->has_loop; pass++) {
        for (int64_t i = 0; i < timeline->host_count; i++) {
            const struct trace_event *event = timeline->host[i];
            int64_t ns = event->end_ns - event->start_ns;
            enum host_kind kind = host_name_of(&sweep->names, event->name)->call;
            if (!trace_event_is_call(event) || ns < LAUNCH_LONG_CALL_NS)
                continue;
            if (pass == 0 && event->track != activity->loop && kind == HOST_ALLOCATING)
                intervals_add(&allocating, event->start_ns, event->end_ns);
            if (pass == 1 && event->track == activity->loop && kind == HOST_LAUNCHING &&
                10 * intervals_within_ns(&allocating, event->start_ns, event->end_ns) >= 8 * ns)
                intervals_add(&activity->held, event->start_ns, event->end_ns);
        }
        if (allocating.count == 0)
            return;
        intervals_merge(pass == 0 ? &allocating : &activity->held);
    }
}

/* First uses leave out what is in captures that come again. */
static void claim(struct host_activity *activity, const struct first_uses *uses,
                  const struct captures *captures)
{
    struct intervals once = { .arena = activity->first_uses.arena };
    const struct intervals *again[] = { captures->again ? &captures->taken : NULL, &uses->again };

    for (size_t a = 0; a < ARRAY_SIZE(again); a++)
        for (int64_t i = 0; again[a] != NULL && i < again[a]->count; i++)
            intervals_add(&activity->captures, again[a]->items[i].start_ns,
                          again[a]->items[i].end_ns);
    intervals_merge(&activity->captures);
    for (int64_t i = 0; i < uses->profiler.count; i++)
        intervals_add(&once, uses->profiler.items[i].start_ns, uses->profiler.items[i].end_ns);
    for (int64_t i = 0; i < uses->times.count; i++)
        intervals_add(&once, uses->times.items[i].start_ns, uses->times.items[i].end_ns);
    intervals_merge(&once);
    intervals_without(&activity->first_uses, &once, &activity->captures);
}

/* A host that computes itself waits for messages on its loop's thread while other threads send
 * them. */
static void find_messages(struct host_activity *activity, const struct timeline *timeline)
{
    for (int64_t i = 0; timeline->host_alone && i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (name_is_host_communication(trace_file_name(timeline->trace, event->name)))
            intervals_add(&activity->messages, event->start_ns, event->end_ns);
    }
    intervals_merge(&activity->messages);
}

struct host_activity host_activity_of(struct arena *arena, const struct timeline *timeline,
                                      const struct first_uses *uses,
                                      const struct captures *captures)
{
    const struct trace_file *trace = timeline->trace;
    SCRATCH_ARENA(scratch, arena);
    /* An event begins and ends at most one segment each. Most of this room is never touched, so it
     * costs no memory. */
    struct host_activity activity = {
        .items = ARENA_NEW(arena, struct host_segment, 2 * timeline->host_count),
        .waits = ARENA_NEW(arena, const struct trace_event *, timeline->host_count),
        .first_uses.arena = arena,
        .captures.arena = arena,
        .pauses.arena = arena,
        .messages.arena = arena,
        .held.arena = arena,
        .logging.arena = arena,
    };
    struct sweep sweep = { .trace = trace,
                           .timeline = timeline,
                           .activity = &activity,
                           .work_of = ARENA_NEW(scratch, uint32_t, trace->event_count),
                           .awaits = ARENA_NEW(scratch, bool, trace->event_count),
                           .names = host_names_open(scratch, trace) };

    for (int64_t i = timeline->work_count; i-- > 0;)
        if (timeline->work[i].call != NULL)
            sweep.work_of[timeline->work[i].call - trace->events] = (uint32_t)i + 1;
    find_awaited(&sweep, scratch);
    find_messages(&activity, timeline);
    activity.launches_wait = launches_wait(timeline);
    sweep_over(&sweep);
    find_loop(&activity, scratch, timeline);
    find_held(&activity, &sweep, scratch);
    claim(&activity, uses, captures);
    return activity;
}

/* --- Questions --- */

/* The first segment of the thread that ends after the moment, or the first of a later thread. */
static int64_t first_after(const struct host_activity *activity, uint32_t track, int64_t at_ns)
{
    /* One for the loop, one for other threads: whoever asks mostly goes through the trace. Any
     * number is right. */
    static _Thread_local int64_t near[2];
    const struct host_segment *items = activity->items;
    int64_t low = 0, high = activity->count, *last = &near[track == activity->loop];

    BISECT_NEAR(low, high, *last, i,
                items[i].track < track || (items[i].track == track && items[i].end_ns <= at_ns));
    *last = low;
    return low;
}

static void visit_events(const struct host_activity *activity, uint32_t track, int64_t start_ns,
                         int64_t end_ns, host_piece_visit *visit, void *context);

/* Time in which a thread is outside of every event. If it is not the loop's thread, the loop may be
 * busy then (PyTorch's backward thread has nothing to do while the loop loads data), so the loop is
 * asked. */
static void visit_outside(const struct host_activity *activity, uint32_t track, int64_t start_ns,
                          int64_t end_ns, host_piece_visit *visit, void *context)
{
    if (start_ns >= end_ns)
        return;
    if (activity->has_loop && activity->loop != track)
        visit_events(activity, activity->loop, start_ns, end_ns, visit, context);
    else
        visit(context, start_ns, end_ns, HOST_OUTSIDE);
}

/* The pieces that events show. */
static void visit_events(const struct host_activity *activity, uint32_t track, int64_t start_ns,
                         int64_t end_ns, host_piece_visit *visit, void *context)
{
    for (int64_t i = first_after(activity, track, start_ns); i < activity->count; i++) {
        const struct host_segment *segment = &activity->items[i];
        int64_t from = segment->start_ns > start_ns ? segment->start_ns : start_ns;
        int64_t to = segment->end_ns < end_ns ? segment->end_ns : end_ns;
        if (segment->track != track || from >= to)
            break;
        visit_outside(activity, track, start_ns, from, visit, context);
        visit(context, from, to, segment->activity);
        start_ns = to;
    }
    visit_outside(activity, track, start_ns, end_ns, visit, context);
}

struct telling_apart {
    const struct host_activity *activity;
    host_piece_visit *visit;
    void *context;
    bool has_claims; /* in all of the time that is visited */
};

/* The times that claim what seems to be overhead of launching. */
struct claims {
    struct claim {
        const struct intervals *times;
        enum host_kind kind;
    } items[5];
};

static struct claims claims_of(const struct host_activity *activity)
{
    return (struct claims){ { { &activity->first_uses, HOST_FIRST_USE },
                              { &activity->captures, HOST_CAPTURING },
                              { &activity->held, HOST_ALLOCATING },
                              { &activity->pauses, HOST_WORKING },
                              { &activity->messages, HOST_WAITING } } };
}

/* Most of the host's time has none. */
static bool has_claims(const struct host_activity *activity, int64_t start_ns, int64_t end_ns)
{
    struct claims claims = claims_of(activity);

    for (size_t i = 0; i < ARRAY_SIZE(claims.items); i++) {
        const struct intervals *times = claims.items[i].times;
        int64_t at = intervals_after(times, start_ns);
        if (at < times->count && times->items[at].start_ns < end_ns)
            return true;
    }
    return false;
}

/* The first of them from a moment on. */
static struct interval next_claim(const struct host_activity *activity, int64_t at_ns,
                                  enum host_kind *kind)
{
    struct claims claims = claims_of(activity);
    struct interval next = { INT64_MAX, INT64_MAX };
    size_t count =
        ARRAY_SIZE(claims.items) - (*kind != HOST_OUTSIDE); /* messages beside work hide nothing */

    for (size_t i = 0; i < count; i++) {
        const struct intervals *times = claims.items[i].times;
        int64_t at = intervals_after(times, at_ns);
        if (at < times->count && times->items[at].start_ns < next.start_ns) {
            next = times->items[at];
            *kind = claims.items[i].kind;
        }
    }
    return next;
}

/* Cuts a piece where claims begin and end. Time that an event shows as waiting, loading or copying
 * stays so. */
static void tell_apart(void *context, int64_t start_ns, int64_t end_ns, enum host_kind kind)
{
    const struct telling_apart *telling = context;
    bool is_told = !telling->has_claims ||
                   (kind != HOST_OUTSIDE && kind != HOST_OPERATOR && kind != HOST_LAUNCHING);

    while (!is_told && start_ns < end_ns) {
        enum host_kind claimed = kind;
        struct interval claim = next_claim(telling->activity, start_ns, &claimed);
        int64_t from_ns = interval_earlier(interval_later(start_ns, claim.start_ns), end_ns);
        int64_t to_ns = interval_earlier(claim.end_ns, end_ns);
        if (start_ns < from_ns)
            telling->visit(telling->context, start_ns, from_ns, kind);
        if (from_ns < to_ns)
            telling->visit(telling->context, from_ns, to_ns, claimed);
        start_ns = to_ns;
    }
    if (is_told)
        telling->visit(telling->context, start_ns, end_ns, kind);
}

void host_activity_visit(const struct host_activity *activity, uint32_t track, int64_t start_ns,
                         int64_t end_ns, host_piece_visit *visit, void *context)
{
    struct telling_apart telling = { activity, visit, context,
                                     has_claims(activity, start_ns, end_ns) };

    visit_events(activity, track, start_ns, end_ns, tell_apart, &telling);
}

static void add_piece(void *context, int64_t start_ns, int64_t end_ns, enum host_kind kind)
{
    int64_t *ns = context;

    ns[kind] += end_ns - start_ns;
}

struct interval host_activity_span(const struct host_activity *activity,
                                   const struct timeline *timeline)
{
    struct interval span = { timeline->all.start_ns, timeline->all.end_ns };

    for (int64_t i = 0; i < timeline->host_count; i++)
        if (timeline->host[i]->track == activity->loop) {
            span.start_ns = interval_earlier(span.start_ns, timeline->host[i]->start_ns);
            span.end_ns = interval_later(span.end_ns, timeline->host[i]->end_ns);
        }
    return span;
}

void host_activity_between(const struct host_activity *activity, uint32_t track, int64_t start_ns,
                           int64_t end_ns, int64_t ns[HOST_KIND_COUNT])
{
    host_activity_visit(activity, track, start_ns, end_ns, add_piece, ns);
}

/* Waits of a thread follow each other, so the first that ends late enough is the only candidate. */
const struct trace_event *host_activity_wait(const struct host_activity *activity, uint32_t track,
                                             int64_t at_ns)
{
    const struct trace_event *const *waits = activity->waits;
    int64_t low = 0, high = activity->wait_count;

    BISECT(low, high, i,
           waits[i]->track < track || (waits[i]->track == track && waits[i]->end_ns < at_ns));
    if (low == activity->wait_count || waits[low]->track != track || waits[low]->start_ns > at_ns)
        return NULL;
    return waits[low];
}
