/* Work is sorted by start, so a call is first seen at the first work that it caused. */
#include "harness/desk/analysis/timeline/launches.h"

#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/intervals.h"

/* When a launch was issued. */
struct issue {
    int64_t at_ns;
    uint32_t stream; /* track */
};

/* How far a stream has come: the issues that it has seen, and the launches that have begun. */
struct stream_sweep {
    int64_t next; /* in the sorted issues */
    int64_t issued, begun;
};

COMPARATOR(by_stream_and_time, struct issue, ASCENDING(stream) ?: ASCENDING(at_ns))

/* False if the work starts before its call. A broken trace has such work, which was in no queue. */
static bool was_queued(const struct work *work)
{
    return work->call->start_ns <= work->event->start_ns;
}

/* A launch is in its stream's queue from its call until its work begins, so a queue is longest just
 * before work begins. Issues and work are both sorted by time, so one cursor per stream is enough.
 * `seen` marks the calls that have work; each mark is removed at the call's first work, because a
 * graph is one launch. */
static void find_deepest(struct launches *launches, struct arena *scratch,
                         const struct timeline *timeline, struct issue *issues, int64_t count,
                         bool *seen)
{
    struct stream_sweep *progress =
        ARENA_NEW(scratch, struct stream_sweep, timeline->trace->track_count);

    sort_items(issues, count, sizeof *issues, by_stream_and_time);
    for (int64_t i = count; i-- > 0;) progress[issues[i].stream].next = i;
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        struct stream_sweep *now = &progress[work->event->track];
        bool *is_first = work->call != NULL ? &seen[work->call - timeline->trace->events] : NULL;
        if (is_first == NULL || !*is_first)
            continue;
        *is_first = false;
        if (!was_queued(work))
            continue;
        for (; now->next < count && issues[now->next].stream == work->event->track &&
               issues[now->next].at_ns <= work->event->start_ns;
             now->next++)
            now->issued++;
        if (now->issued - now->begun > launches->queue_max)
            launches->queue_max = now->issued - now->begun;
        now->begun++;
    }
}

static void count_launch(struct launches *launches, const struct work *work)
{
    int64_t call_ns = work->call->end_ns - work->call->start_ns;
    int64_t delay_ns = work->event->start_ns - work->call->end_ns;
    bool is_kernel = work->event->kind == EVENT_KIND_KERNEL;

    delay_ns = delay_ns > 0 ? delay_ns : 0;
    launches->count++;
    launches->kernel_count += is_kernel;
    launches->host_ns = intervals_sum_ns(launches->host_ns, call_ns);
    launches->delay_ns = intervals_sum_ns(launches->delay_ns, delay_ns);
    if (delay_ns > launches->delay_max_ns)
        launches->delay_max_ns = delay_ns;
    launches->long_call_count += call_ns > LAUNCH_LONG_CALL_NS;
    launches->short_count += is_kernel && call_ns <= LAUNCH_LONG_CALL_NS &&
                             work->event->end_ns - work->event->start_ns < call_ns;
}

bool launch_is_held(const struct work *work)
{
    const struct trace_event *event = work->event, *call = work->call;

    return event->kind == EVENT_KIND_KERNEL && call != NULL && call->end_ns >= event->end_ns &&
           call->end_ns - event->end_ns < IDLE_DEVICE_WAIT_NS &&
           2 * (event->end_ns - event->start_ns) > call->end_ns - call->start_ns;
}

/* True if the call is an outlier, and the device had nothing else to do: the work began as soon as
 * it was launched. A graph may well take long to launch, and so does a kernel whose code has to be
 * loaded. */
static bool is_late(const struct trace_file *trace, const struct work *work, bool *known)
{
    int64_t call_ns = work->call->end_ns - work->call->start_ns;
    bool is_first = !known[work->event->name];

    known[work->event->name] = true;
    return !is_first && work->event->kind == EVENT_KIND_KERNEL && call_ns > LAUNCH_LONG_CALL_NS &&
           !launch_is_held(work) &&
           (work->event->detail == NO_DETAIL || trace->kernels[work->event->detail].graph == 0) &&
           work->event->start_ns - work->call->end_ns < call_ns;
}

/* The time of late calls beyond the mean of the calls that are no outliers. */
static int64_t beyond_mean(const struct launches *launches, int64_t late_ns, int64_t long_ns)
{
    int64_t count = launches->count - launches->long_call_count;
    double mean = count > 0 ? (double)(launches->host_ns - long_ns) / (double)count : 0;
    double beyond = (double)late_ns - mean * (double)launches->late_call_count;

    return beyond > 0 ? (int64_t)beyond : 0;
}

/* Counts launches without work; `seen` marks the calls that have work. A driver call inside a
 * runtime call is the same launch, and its work may name either of them; the outer call comes
 * first. Launches into a graph that is being captured are left out: they cause no work
 * themselves. */
static void count_lost(struct launches *launches, struct arena *scratch,
                       const struct timeline *timeline, const struct captures *captures,
                       const bool *seen)
{
    const struct trace_file *trace = timeline->trace;
    uint32_t names = trace_file_name_count(trace);
    bool *launches_work = ARENA_NEW(scratch, bool, names);
    const struct trace_event *outer = NULL;
    bool has_work = true;

    for (uint32_t i = 0; i < names; i++)
        launches_work[i] = name_is_launch(trace_file_name(trace, i));
    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (!trace_event_is_call(event) || !timeline_counts(timeline, event) ||
            !launches_work[event->name] || event->correlation == 0 ||
            intervals_contain(&captures->times, event->start_ns))
            continue;
        if (outer != NULL && event->track == outer->track && event->end_ns <= outer->end_ns) {
            has_work |= seen[event - trace->events];
            continue;
        }
        launches->lost_count += !has_work;
        outer = event;
        has_work = seen[event - trace->events];
    }
    launches->lost_count += !has_work;
}

struct launches launches_of(struct arena *arena, const struct timeline *timeline,
                            const struct captures *captures)
{
    const struct trace_file *trace = timeline->trace;
    SCRATCH_ARENA(scratch, arena);
    bool *seen = ARENA_NEW(scratch, bool, trace->event_count);
    struct issue *issues = ARENA_NEW(scratch, struct issue, timeline->work_count);
    int64_t *calls = ARENA_NEW(scratch, int64_t, timeline->work_count);
    bool *known = ARENA_NEW(scratch, bool, trace_file_name_count(trace));
    struct launches launches = { .count = 0 };
    int64_t count = 0, late_ns = 0, long_ns = 0;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        int64_t call_ns;
        if (!timeline_counts(timeline, work->event)) {
            known[work->event->name] = true;
            continue;
        }
        if (work->call == NULL) {
            launches.orphan_count++;
            continue;
        }
        launches.work_count++;
        if (seen[work->call - trace->events])
            continue;
        seen[work->call - trace->events] = true;
        count_launch(&launches, work);
        call_ns = work->call->end_ns - work->call->start_ns;
        calls[launches.count - 1] = call_ns;
        if (call_ns > LAUNCH_LONG_CALL_NS)
            long_ns = intervals_sum_ns(long_ns, call_ns);
        if (is_late(trace, work, known)) {
            launches.late_call_count++;
            late_ns = intervals_sum_ns(late_ns, call_ns);
        }
        if (was_queued(work))
            issues[count++] = (struct issue){ work->call->start_ns, work->event->track };
    }
    sort_int64(calls, launches.count);
    launches.call_median_ns = launches.count > 0 ? calls[launches.count / 2] : 0;
    launches.late_call_ns = beyond_mean(&launches, late_ns, long_ns);
    count_lost(&launches, scratch, timeline, captures, seen);
    find_deepest(&launches, scratch, timeline, issues, count, seen);
    return launches;
}
