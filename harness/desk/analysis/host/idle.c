/* One pass over the work, which is sorted by start: a gap is where work starts after all work
 * before it has ended. */
#include "harness/desk/analysis/host/idle.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/launches.h"

enum { STEPS_TO_CUT = 3 }; /* with fewer steps, the ends are too large a part to leave out */

struct gap {
    int64_t start_ns, end_ns;
    const struct work *work;   /* the work that ends it; NULL: the end of the window */
    const struct work *before; /* that which began it; NULL: the start of the window */
};

struct sweep {
    struct idle *idle;
    const struct timeline *timeline;
    const struct steps *steps;
    const struct host_activity *activity;
    int64_t busy_ns; /* so far */
    int64_t *queued; /* short gaps before queued work of eager launches; NULL: not wanted */
    int64_t queued_count;
    const struct trace_event *last_call;
    idle_gap_visit *visit; /* NULL: none */
    void *context;
};

/* --- Causes --- */

int64_t idle_host_ns(const struct idle_time *time, enum host_kind activity)
{
    return time->free_ns[activity] + time->drained_ns[activity];
}

int64_t gap_cause_ns(const struct idle_time *time, int cause)
{
    switch (cause) {
    case GAP_QUEUED:
        return time->queued_ns - time->stalled_ns;
    case GAP_STALLED:
        return time->stalled_ns;
    case GAP_UNKNOWN:
        return time->unknown_ns;
    default:
        return idle_host_ns(time, (enum host_kind)(cause - GAP_HOST));
    }
}

int gap_cause_longest(const struct idle_time *time)
{
    int longest = 0;

    for (int cause = 1; cause < GAP_CAUSE_COUNT; cause++)
        if (gap_cause_ns(time, cause) > gap_cause_ns(time, longest))
            longest = cause;
    return longest;
}

const char *gap_cause_name(int cause)
{
    static const char *const names[GAP_HOST] = { "queued", "stalled", "unknown" };

    return cause < GAP_HOST ? names[cause] : host_kind_name((enum host_kind)(cause - GAP_HOST));
}

/* --- Gaps --- */

/* From the first step to the end of the last. Without steps, all work, or all that the loop does.
 */
static void find_window(struct idle *idle, const struct timeline *timeline,
                        const struct steps *steps, const struct host_activity *activity)
{
    bool seen = false;

    idle->start_ns = interval_later(timeline->all.start_ns, timeline->from_ns);
    idle->end_ns = timeline->all.end_ns;
    for (int64_t i = 0; steps->count == 0 && timeline->host_alone && i < timeline->host_count;
         i++) {
        const struct trace_event *event = timeline->host[i]; /* by start, an outer one first */
        if (!activity->has_loop || event->track != activity->loop)
            continue;
        idle->start_ns = seen ? idle->start_ns : event->start_ns;
        idle->end_ns = seen ? interval_later(idle->end_ns, event->end_ns) : event->end_ns;
        seen = true;
    }
    if (steps->count == 0)
        return;
    idle->start_ns = steps->items[0].event->start_ns;
    for (int64_t i = 0; i < steps->count; i++)
        idle->end_ns = interval_later(idle->end_ns, steps->items[i].event->end_ns);
}

static void add_times(struct idle_time *sum, const struct idle_time *more)
{
    sum->idle_ns += more->idle_ns;
    sum->queued_ns += more->queued_ns;
    sum->stalled_ns += more->stalled_ns;
    sum->unknown_ns += more->unknown_ns;
    for (int i = 0; i < HOST_KIND_COUNT; i++) {
        sum->free_ns[i] += more->free_ns[i];
        sum->drained_ns[i] += more->drained_ns[i];
    }
    sum->drained_count += more->drained_count;
    sum->longest_ns = interval_later(sum->longest_ns, more->longest_ns);
}

/* The call in which a thread waits for the device at that moment; NULL: none. PyTorch launches the
 * backward pass from a thread of its own while the loop's thread waits, so the loop is asked
 * too. */
static const struct trace_event *wait_at(const struct sweep *sweep, uint32_t track, int64_t at_ns)
{
    const struct trace_event *wait = host_activity_wait(sweep->activity, track, at_ns);

    if (wait == NULL && sweep->activity->has_loop)
        wait = host_activity_wait(sweep->activity, sweep->activity->loop, at_ns);
    return wait;
}

/* Charges a gap to what the host did up to the return of the call that launched its end; the rest,
 * until the work begins, is launching, or if it is an outlier, a stall: the work was queued and
 * waited. The gap is drained if the host was waiting when it began. */
static void split_host(struct sweep *sweep, struct idle_time *time, const struct gap *gap)
{
    uint32_t track = gap->work != NULL ? gap->work->call->track : sweep->activity->loop;
    int64_t called_ns =
        gap->work != NULL ? interval_earlier(gap->work->call->end_ns, gap->end_ns) : gap->end_ns;
    const struct trace_event *wait = wait_at(sweep, track, gap->start_ns);
    int64_t *ns = wait != NULL ? time->drained_ns : time->free_ns;

    time->drained_count = wait != NULL;
    host_activity_between(sweep->activity, track, gap->start_ns, called_ns, ns);
    if (gap->work != NULL && gap->end_ns - called_ns > LAUNCH_LONG_DELAY_NS)
        time->queued_ns = time->stalled_ns = gap->end_ns - called_ns;
    else
        ns[HOST_LAUNCHING] += gap->end_ns - called_ns;
}

/* True if the gap is the device's own: the work had been launched when the gap began, or its call
 * is a blocking copy, which was waiting for this very work. */
static bool was_queued(const struct sweep *sweep, const struct gap *gap)
{
    const struct trace_event *call = gap->work->call;

    return call->end_ns <= gap->start_ns ||
           host_activity_wait(sweep->activity, call->track, gap->start_ns) == call;
}

/* Decides whose a gap is: nobody's if the call is unknown, the device's if the work was queued,
 * else the host's. */
static struct idle_time split_gap(struct sweep *sweep, const struct gap *gap)
{
    struct idle_time time = { .idle_ns = gap->end_ns - gap->start_ns };

    time.longest_ns = time.idle_ns;
    if (gap->work == NULL ? !sweep->activity->has_loop : gap->work->call == NULL) {
        time.unknown_ns = time.idle_ns;
    } else if (gap->work != NULL && was_queued(sweep, gap)) {
        /* Long gaps are stalls. The lengths of short ones are kept for late_ns, without those
         * inside a graph, whose work has one call in common. */
        time.queued_ns = time.idle_ns;
        if (time.idle_ns >= IDLE_DEVICE_WAIT_NS)
            time.stalled_ns = time.idle_ns;
        else if (sweep->queued != NULL && gap->work->call != sweep->last_call)
            sweep->queued[sweep->queued_count++] = time.idle_ns;
    } else {
        split_host(sweep, &time, gap);
    }
    return time;
}

/* A gap of no time is nothing to look at. */
static void show_gap(const struct sweep *sweep, const struct gap *gap, const struct idle_time *time)
{
    struct idle_gap shown = { gap->start_ns, gap->end_ns, gap->before, gap->work, *time };

    if (sweep->visit != NULL && time->idle_ns > 0)
        sweep->visit(sweep->context, &shown);
}

/* The sums are wanted once; whoever visits the gaps looks at each. */
static void count_gap(struct sweep *sweep, struct idle_time *time, const struct gap *gap)
{
    int64_t step; /* that the gap begins in or after; -1: before all */

    if (sweep->visit != NULL)
        return;
    step = steps_last_begun(sweep->steps, gap->start_ns);
    add_times(&sweep->idle->all, time);
    if (step >= 0)
        add_times(&sweep->idle->steps[step], time);
}

/* True if the host waits after the last step only. It then waits because the recording ends, which
 * tells nothing about training. */
static bool ends_by_itself(const struct sweep *sweep, int64_t end_ns)
{
    const struct steps *steps = sweep->steps;
    const struct trace_event *wait =
        sweep->activity->has_loop ? wait_at(sweep, sweep->activity->loop, end_ns) : NULL;

    return steps->count >= STEPS_TO_CUT && wait != NULL &&
           wait->start_ns >= steps->items[steps->count - 1].event->end_ns;
}

/* The window stands for one iteration of a loop, so the idle time at its end and at its start is
 * one gap. If the host waited when the first half began, both halves are drained. */
static void take_ends(struct sweep *sweep, const struct work *first, const struct work *last,
                      int64_t end_ns)
{
    struct idle *idle = sweep->idle;
    struct gap tail = { end_ns, interval_later(idle->end_ns, end_ns), NULL, last };
    struct gap head = { idle->start_ns, interval_later(first->event->start_ns, idle->start_ns),
                        first, NULL };
    struct idle_time both = split_gap(sweep, &tail), more = split_gap(sweep, &head);

    if (ends_by_itself(sweep, end_ns)) {
        idle->start_ns = head.end_ns;
        idle->end_ns = end_ns;
        return;
    }
    show_gap(sweep, &tail, &both);
    show_gap(sweep, &head, &more);
    if (both.drained_count > 0)
        for (int i = 0; i < HOST_KIND_COUNT; i++) {
            more.drained_ns[i] += more.free_ns[i];
            more.free_ns[i] = 0;
        }
    add_times(&both, &more);
    if (both.idle_ns == 0) /* a wait that nothing follows */
        both.drained_count = 0;
    count_gap(sweep, &both, &tail);
}

static void take_whole(struct sweep *sweep, int64_t start_ns, int64_t end_ns)
{
    struct gap gap = { start_ns, end_ns, NULL, NULL };
    struct idle_time time = split_gap(sweep, &gap);

    show_gap(sweep, &gap, &time);
    count_gap(sweep, &time, &gap);
}

/* A host that computes itself has no device that could be idle: each step is one gap. */
static void take_steps(struct sweep *sweep)
{
    for (int64_t i = 0; i < sweep->steps->count; i++) {
        const struct trace_event *step = sweep->steps->items[i].event;
        take_whole(sweep, step->start_ns, step->end_ns);
    }
    if (sweep->steps->count == 0 && sweep->idle->start_ns < sweep->idle->end_ns)
        take_whole(sweep, sweep->idle->start_ns, sweep->idle->end_ns);
}

/* The calls, in the order of their work. One that was made before that of earlier work, for another
 * stream, is part of the time up to that one. */
static void sum_host(struct idle *idle, const struct timeline *timeline,
                     const struct host_activity *activity)
{
    int64_t at_ns = idle->start_ns;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct trace_event *call = timeline->work[i].call;
        int64_t end_ns = call != NULL ? interval_earlier(call->end_ns, idle->end_ns) : at_ns;
        if (end_ns <= at_ns)
            continue;
        host_activity_between(activity, call->track, at_ns, end_ns, idle->host_ns);
        at_ns = end_ns;
    }
    if (activity->has_loop && at_ns < idle->end_ns)
        host_activity_between(activity, activity->loop, at_ns, idle->end_ns, idle->host_ns);
}

/* The median over the steps, so that an odd step does not set the pace (paced_ns in idle.h). */
static void find_pace(struct idle *idle, struct arena *scratch, int count)
{
    static const enum host_kind activities[] = { HOST_OUTSIDE,   HOST_OPERATOR, HOST_LOADING,
                                                 HOST_LAUNCHING, HOST_COPYING,  HOST_CAPTURING,
                                                 HOST_WORKING };
    double *free_ns = ARENA_NEW(scratch, double, count);

    for (int step = 0; step < count; step++)
        for (size_t i = 0; i < ARRAY_SIZE(activities); i++)
            free_ns[step] += (double)idle->steps[step].free_ns[activities[i]];
    stats_sort(free_ns, count);
    if (count >= IDLE_STEPS_LEAST)
        idle->paced_ns = count * stats_sorted_median(free_ns, count);
}

static void sweep_over(struct sweep *sweep)
{
    const struct timeline *timeline = sweep->timeline;
    const struct work *first = NULL, *last = NULL; /* that ends last so far */
    int64_t end_ns = 0;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        if (work->event->end_ns <= sweep->idle->start_ns)
            continue;
        if (first == NULL) {
            first = last = work;
            end_ns = interval_later(work->event->start_ns, sweep->idle->start_ns);
        } else if (work->event->start_ns > end_ns) {
            struct gap gap = { end_ns, work->event->start_ns, work, last };
            struct idle_time time = split_gap(sweep, &gap);
            show_gap(sweep, &gap, &time);
            count_gap(sweep, &time, &gap);
            end_ns = work->event->start_ns;
        }
        if (work->event->end_ns > end_ns) {
            sweep->busy_ns += work->event->end_ns - end_ns;
            end_ns = work->event->end_ns;
            last = work;
        }
        sweep->last_call = work->call;
    }
    if (first != NULL)
        take_ends(sweep, first, last, end_ns);
    else if (timeline->host_alone)
        take_steps(sweep);
}

static void find_gaps(struct idle *idle, struct arena *arena, struct sweep *sweep)
{
    *idle = (struct idle){ .steps = ARENA_NEW(arena, struct idle_time, sweep->steps->count) };
    sweep->idle = idle;
    find_window(idle, sweep->timeline, sweep->steps, sweep->activity);
    sweep_over(sweep);
    idle->busy_ns = sweep->busy_ns;
    if (idle->busy_ns > idle->end_ns - idle->start_ns) /* a host that was far ahead at the end */
        idle->end_ns = sweep->timeline->all.end_ns;
}

struct idle idle_of(struct arena *arena, const struct timeline *timeline, const struct steps *steps,
                    const struct host_activity *activity)
{
    SCRATCH_ARENA(scratch, arena);
    struct sweep sweep = { .timeline = timeline,
                           .steps = steps,
                           .activity = activity,
                           .queued = ARENA_NEW(scratch, int64_t, timeline->work_count) };
    int64_t beyond_median = 0, sum = 0;
    struct idle idle;

    find_gaps(&idle, arena, &sweep);
    idle.loadings = ARENA_NEW(arena, double, steps->count);
    for (int64_t i = 0; i < steps->count; i++)
        idle.loadings[i] = (double)idle_host_ns(&idle.steps[i], HOST_LOADING);
    stats_sort(idle.loadings, (int)steps->count);
    /* The part of the short gaps that exceeds their median, or half of them (late_ns in idle.h). */
    sort_int64(sweep.queued, sweep.queued_count);
    for (int64_t i = 0; i < sweep.queued_count; i++) sum += sweep.queued[i];
    for (int64_t i = sweep.queued_count / 2; i < sweep.queued_count; i++)
        beyond_median += sweep.queued[i] - sweep.queued[sweep.queued_count / 2];
    idle.late_ns = interval_later(beyond_median, sum / 2);
    sum_host(&idle, timeline, activity);
    find_pace(&idle, scratch, (int)steps->count);
    return idle;
}

void idle_visit(struct arena *arena, const struct timeline *timeline, const struct steps *steps,
                const struct host_activity *activity, idle_gap_visit *visit, void *context)
{
    SCRATCH_ARENA(scratch, arena);
    struct sweep sweep = { .timeline = timeline,
                           .steps = steps,
                           .activity = activity,
                           .visit = visit,
                           .context = context };
    struct idle again;

    find_gaps(&again, scratch, &sweep);
}
