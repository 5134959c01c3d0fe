/* Work is sorted once and joined with its calls; every usage is then one pass over it. */
#include "harness/desk/analysis/timeline/timeline.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/intervals.h"

#include <stdlib.h>
#include <string.h>

/* --- How busy devices are --- */

/* Work comes in order of its start. So of a set of work only its end matters: from the start of the
 * next work to that end the set has no gap. Nothing but that end is kept for each kind, for both
 * kinds of kernels (`kernel`), and for copies and memsets (`memory`). */

const char *work_kind_name(enum work_kind kind)
{
    static const char *const names[] = { "computation", "copy", "memset", "communication" };

    return (unsigned)kind < WORK_KIND_COUNT ? names[kind] : "unknown";
}

const char *idle_cause_name(enum idle_cause cause)
{
    static const char *const names[] = { "host_wait", "device_wait", "other" };

    return (unsigned)cause < IDLE_CAUSE_COUNT ? names[cause] : "unknown";
}

/* Start with zeros and `usage` set. */
struct measuring {
    struct usage *usage;
    int64_t kinds_end_ns[WORK_KIND_COUNT], kernel_end_ns, memory_end_ns;
};

/* The time that the work adds to a set, whose end moves with it. */
static struct interval extend(int64_t *end_ns, const struct trace_event *event)
{
    struct interval added = { interval_later(event->start_ns, *end_ns), event->end_ns };

    *end_ns = interval_later(*end_ns, event->end_ns);
    added.end_ns = interval_later(added.start_ns, added.end_ns);
    return added;
}

static int64_t length(struct interval interval)
{
    return interval.end_ns - interval.start_ns;
}

/* How much of the added time another set covers as well. */
static int64_t shared(struct interval added, int64_t end_ns)
{
    return interval_later(0, interval_earlier(added.end_ns, end_ns) - added.start_ns);
}

/* If the host launched in time, a short gap is the device's own, and a long one has another cause.
 */
static enum idle_cause cause_of(const struct work *work, int64_t idle_since_ns)
{
    if (work->call == NULL)
        return IDLE_OTHER;
    if (work->call->start_ns > idle_since_ns)
        return IDLE_HOST_WAIT;
    return work->event->start_ns - idle_since_ns < IDLE_DEVICE_WAIT_NS ? IDLE_DEVICE_WAIT
                                                                       : IDLE_OTHER;
}

/* Counts the gap before the work, if there is one. */
static void begin_or_wait(struct measuring *measuring, const struct work *work)
{
    struct usage *usage = measuring->usage;
    int64_t start = work->event->start_ns;

    if (usage->work_count++ == 0) {
        usage->start_ns = usage->end_ns = start;
        measuring->kernel_end_ns = measuring->memory_end_ns = start;
        for (int kind = 0; kind < WORK_KIND_COUNT; kind++) measuring->kinds_end_ns[kind] = start;
    } else if (start > usage->end_ns) {
        usage->idle_cause_ns[cause_of(work, usage->end_ns)] += start - usage->end_ns;
        usage->idle_ns += start - usage->end_ns;
    }
    usage->end_ns = interval_later(usage->end_ns, work->event->end_ns);
}

/* Time that two sets share counts when the later of both adds it. */
static void usage_add(struct measuring *measuring, const struct work *work)
{
    struct usage *usage = measuring->usage;
    int64_t *ends = measuring->kinds_end_ns;
    struct interval added;

    begin_or_wait(measuring, work);
    added = extend(&ends[work->kind], work->event);
    usage->kind_ns[work->kind] += length(added);
    switch (work->kind) {
    case WORK_COMPUTATION:
        usage->communication_overlap_ns += shared(added, ends[WORK_COMMUNICATION]);
        break;
    case WORK_COMMUNICATION:
        usage->communication_overlap_ns += shared(added, ends[WORK_COMPUTATION]);
        break;
    case WORK_COPY:
        usage->copy_exposed_ns += length(added) - shared(added, measuring->kernel_end_ns);
        break;
    default:
        break;
    }
    if (work->kind == WORK_COMPUTATION || work->kind == WORK_COMMUNICATION) {
        added = extend(&measuring->kernel_end_ns, work->event);
        usage->kernel_ns += length(added);
        usage->copy_exposed_ns -= shared(added, ends[WORK_COPY]);
        usage->memory_exposed_ns -= shared(added, measuring->memory_end_ns);
    } else {
        added = extend(&measuring->memory_end_ns, work->event);
        usage->memory_ns += length(added);
        usage->memory_exposed_ns += length(added) - shared(added, measuring->kernel_end_ns);
    }
}

static void usage_finish(struct usage *usage)
{
    usage->span_ns = usage->end_ns - usage->start_ns;
    usage->busy_ns = usage->span_ns - usage->idle_ns;
    usage->communication_exposed_ns =
        usage->kind_ns[WORK_COMMUNICATION] - usage->communication_overlap_ns;
}

/* --- Activity of the host --- */

/* Steps contain everything else, so they are no activity. */
static bool is_host(const struct trace_event *event, const bool *is_step)
{
    if (trace_event_is_call(event))
        return true;
    return (event->kind == EVENT_KIND_OPERATOR || event->kind == EVENT_KIND_ANNOTATION) &&
           !is_step[event->name];
}

/* The order of a thread's events in a sweep with a stack: what contains comes before what is
 * contained, calls last. */
COMPARATOR_OF_POINTERS(by_place, struct trace_event,
                       ASCENDING(start_ns)
                       ?: COMPARE(trace_event_is_call(a), trace_event_is_call(b))
                       ?: DESCENDING(end_ns) ?: COMPARE(a, b))

/* One thread after the other. A thread's events stand in the file in a few runs that are in
 * order. */
static void find_host_events(struct timeline *timeline, struct arena *arena,
                             const struct trace_file *trace)
{
    SCRATCH_ARENA(scratch, arena);
    uint32_t names = trace_file_name_count(trace);
    bool *is_step = ARENA_NEW(scratch, bool, names);
    int64_t *ends = ARENA_NEW(scratch, int64_t, trace->track_count + 1), first = 0, step;

    for (uint32_t i = 0; i < names; i++)
        is_step[i] = name_is_step(trace_file_name(trace, i), &step);
    for (int64_t i = 0; i < trace->event_count; i++)
        if (is_host(&trace->events[i], is_step))
            ends[trace->events[i].track + 1]++;
    for (int64_t i = 0; i < trace->track_count; i++) ends[i + 1] += ends[i];
    timeline->host_count = ends[trace->track_count];
    timeline->host = ARENA_NEW(arena, const struct trace_event *, timeline->host_count);
    for (int64_t i = 0; i < trace->event_count; i++)
        if (is_host(&trace->events[i], is_step))
            timeline->host[ends[trace->events[i].track]++] = &trace->events[i];
    for (int64_t i = 0; i < trace->track_count; first = ends[i++])
        sort_items(timeline->host + first, ends[i] - first, sizeof *timeline->host, by_place);
}

/* --- Joining work with its calls --- */

/* At last by the file's order: the result does not depend on the sort. */
COMPARATOR(by_time, struct work,
           ASCENDING(event->start_ns) ?: ASCENDING(event->end_ns) ?: ASCENDING(event))

COMPARATOR_OF_POINTERS(by_correlation, struct trace_event,
                       ASCENDING(correlation) ?: ASCENDING(start_ns) ?: COMPARE(a, b))

/* Calls by correlation; device work mostly comes in the order of its calls. */
struct calls {
    const struct trace_event **items;
    int64_t count;
    int64_t next; /* the one after that which was found last */
};

/* The first that has this correlation; NULL: none. */
static const struct trace_event *find_call(struct calls *calls, int64_t correlation)
{
    int64_t low = 0, high = calls->count, next = calls->next;

    if (next < calls->count && calls->items[next]->correlation == correlation &&
        (next == 0 || calls->items[next - 1]->correlation != correlation)) {
        calls->next++;
        return calls->items[next];
    }
    BISECT(low, high, i, calls->items[i]->correlation < correlation);
    calls->next = low + 1;
    return low < calls->count && calls->items[low]->correlation == correlation ? calls->items[low]
                                                                               : NULL;
}

/* Copies and memsets that a profiler files under kernels keep their names: "Memcpy",
 * "hipMemcpy". */
static enum work_kind kind_of(const struct trace_event *event, const char *name)
{
    const char *plain = strncmp(name, "hip", 3) == 0 ? name + 3 : name;

    if (event->kind == EVENT_KIND_MEMCPY || strncmp(plain, "Memcpy", 6) == 0)
        return WORK_COPY;
    if (event->kind == EVENT_KIND_MEMSET || strncmp(plain, "Memset", 6) == 0)
        return WORK_MEMSET;
    return name_is_communication(name) ? WORK_COMMUNICATION : WORK_COMPUTATION;
}

static struct calls find_calls(struct arena *scratch, const struct timeline *timeline)
{
    struct calls calls = { .count = 0 };
    int64_t count = 0;

    for (int64_t i = 0; i < timeline->host_count; i++)
        count += trace_event_is_call(timeline->host[i]) && timeline->host[i]->correlation != 0;
    calls.items = ARENA_NEW(scratch, const struct trace_event *, count);
    for (int64_t i = 0; i < timeline->host_count; i++)
        if (trace_event_is_call(timeline->host[i]) && timeline->host[i]->correlation != 0)
            calls.items[calls.count++] = timeline->host[i];
    sort_items(calls.items, calls.count, sizeof *calls.items, by_correlation);
    return calls;
}

/* "cpu:gloo,cuda:nccl" is a default, which tells nothing. */
static const char *find_needed(const struct timeline *timeline)
{
    const struct trace_file *trace = timeline->trace;
    const char *ranks = trace_file_metadata(trace, "distributedInfo");

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const char *name = trace_file_name(trace, timeline->host[i]->name);
        if (name_needs_device(name))
            return name;
    }
    return ranks != NULL && strstr(ranks, "\"nccl\"") != NULL ? "backend nccl" : NULL;
}

static void collect_events(struct timeline *timeline, struct arena *arena)
{
    const struct trace_file *trace = timeline->trace;
    SCRATCH_ARENA(scratch, arena);
    enum work_kind *kinds = ARENA_NEW(scratch, enum work_kind, trace_file_name_count(trace));
    bool *is_known = ARENA_NEW(scratch, bool, trace_file_name_count(trace));
    struct calls calls;
    int64_t work_count = 0;
    bool called = false;

    find_host_events(timeline, arena, trace);
    calls = find_calls(scratch, timeline);
    for (int64_t i = 0; i < timeline->host_count; i++)
        called = called || trace_event_is_call(timeline->host[i]);
    for (int64_t i = 0; i < trace->event_count; i++)
        work_count += trace_event_is_device_work(&trace->events[i]);
    if (work_count == 0)
        timeline->needed = find_needed(timeline);
    timeline->host_alone = trace->event_count > 0 && work_count == 0 && !called &&
                           trace->device_count == 0 && timeline->needed == NULL;
    timeline->work = ARENA_NEW(arena, struct work, work_count);
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (!trace_event_is_device_work(event))
            continue;
        if (event->kind != EVENT_KIND_KERNEL || !is_known[event->name])
            kinds[event->name] = kind_of(event, trace_file_name(trace, event->name));
        is_known[event->name] = event->kind == EVENT_KIND_KERNEL;
        timeline->work[timeline->work_count++] =
            (struct work){ event,
                           event->correlation != 0 ? find_call(&calls, event->correlation) : NULL,
                           kinds[event->name] };
    }
    sort_items(timeline->work, timeline->work_count, sizeof *timeline->work, by_time);
}

/* --- Devices and streams --- */

COMPARATOR(by_number, struct track_usage, ASCENDING(device) ?: ASCENDING(stream))

/* The streams that have work, sorted, each once. */
static void find_streams(struct timeline *timeline, struct arena *arena)
{
    const struct trace_file *trace = timeline->trace;
    SCRATCH_ARENA(scratch, arena);
    bool *used = ARENA_NEW(scratch, bool, trace->track_count);

    timeline->streams = ARENA_NEW(arena, struct track_usage, trace->track_count);
    timeline->devices = ARENA_NEW(arena, struct track_usage, trace->track_count);
    for (int64_t i = 0; i < timeline->work_count; i++) used[timeline->work[i].event->track] = true;
    for (int64_t i = 0; i < trace->track_count; i++)
        if (used[i])
            timeline->streams[timeline->stream_count++] =
                (struct track_usage){ .device = trace->tracks[i].process,
                                      .stream = trace->tracks[i].thread };
    qsort(timeline->streams, (size_t)timeline->stream_count, sizeof *timeline->streams, by_number);
    for (int64_t i = 0; i < timeline->stream_count; i++)
        if (i == 0 || timeline->streams[i].device != timeline->streams[i - 1].device)
            timeline->devices[timeline->device_count++] =
                (struct track_usage){ .device = timeline->streams[i].device, .stream = -1 };
}

COMPARATOR(by_device, struct track_usage, ASCENDING(device))

/* The usage that the work of a track counts for. */
struct place {
    struct measuring *stream, *device;
};

/* `measuring` is of all streams, and then of all devices. */
static struct place find_place(const struct timeline *timeline, struct measuring *measuring,
                               uint32_t track)
{
    const struct event_track *about = &timeline->trace->tracks[track];
    struct track_usage key = { .device = about->process, .stream = about->thread };
    const struct track_usage *stream, *device;

    stream =
        bsearch(&key, timeline->streams, (size_t)timeline->stream_count, sizeof key, by_number);
    device =
        bsearch(&key, timeline->devices, (size_t)timeline->device_count, sizeof key, by_device);
    return (struct place){ &measuring[stream - timeline->streams],
                           &measuring[timeline->stream_count + (device - timeline->devices)] };
}

/* One pass for all: each work counts for the whole trace, for its device and for its stream. */
static void measure_usages(struct timeline *timeline, struct arena *arena)
{
    struct measuring all = { .usage = &timeline->all };
    int64_t tracks = timeline->trace->track_count;
    SCRATCH_ARENA(scratch, arena);
    struct place *places = ARENA_NEW(scratch, struct place, tracks);
    struct measuring *measuring = ARENA_NEW(scratch, struct measuring, 2 * tracks);

    for (int64_t i = 0; i < timeline->stream_count; i++)
        measuring[i].usage = &timeline->streams[i].usage;
    for (int64_t i = 0; i < timeline->device_count; i++)
        measuring[timeline->stream_count + i].usage = &timeline->devices[i].usage;
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        struct place *place = &places[work->event->track];
        if (place->stream == NULL)
            *place = find_place(timeline, measuring, work->event->track);
        usage_add(&all, work);
        usage_add(place->device, work);
        usage_add(place->stream, work);
    }
    usage_finish(&timeline->all);
    for (int64_t i = 0; i < timeline->stream_count; i++) usage_finish(&timeline->streams[i].usage);
    for (int64_t i = 0; i < timeline->device_count; i++) usage_finish(&timeline->devices[i].usage);
}

/* Work that began before the first step counts from that step's start on. */
struct usage timeline_counted_usage(const struct timeline *timeline)
{
    struct usage usage = { .work_count = 0 };
    struct measuring measuring = { .usage = &usage };

    for (int64_t i = 0; i < timeline->work_count; i++) {
        struct work work = timeline->work[i];
        struct trace_event inside = *work.event;
        if (!timeline_counts(timeline, work.event))
            continue;
        inside.start_ns = interval_later(inside.start_ns, timeline->from_ns);
        work.event = &inside;
        usage_add(&measuring, &work);
    }
    usage_finish(&usage);
    return usage;
}

int64_t timeline_cut_ns(const struct timeline *timeline)
{
    int64_t span_ns = timeline->all.span_ns, end_ns = timeline->all.start_ns, busy_ns = 0;

    for (int64_t i = 0; i < timeline->work_count && 100 * busy_ns <= span_ns; i++) {
        const struct trace_event *event = timeline->work[i].event, *call = timeline->work[i].call;
        int64_t gap_ns = event->start_ns - end_ns;
        if (20 * gap_ns >= span_ns && gap_ns >= 100 * busy_ns && call != NULL &&
            10 * (event->start_ns - call->end_ns) >= 9 * gap_ns)
            return event->start_ns;
        if (event->end_ns > end_ns)
            busy_ns += event->end_ns - interval_later(event->start_ns, end_ns);
        end_ns = interval_later(end_ns, event->end_ns);
    }
    return INT64_MIN;
}

const struct track_usage *timeline_busiest(const struct timeline *timeline)
{
    const struct track_usage *most = NULL;

    for (int64_t i = 0; i < timeline->device_count; i++)
        if (most == NULL || timeline->devices[i].usage.busy_ns > most->usage.busy_ns)
            most = &timeline->devices[i];
    return most;
}

const struct event_device *timeline_device(const struct timeline *timeline)
{
    const struct trace_file *trace = timeline->trace;
    const struct track_usage *most = timeline_busiest(timeline);

    if (most != NULL)
        return trace_file_device(trace, most->device);
    return trace->device_count > 0 ? &trace->devices[0] : NULL;
}

struct timeline timeline_of(struct arena *arena, const struct trace_file *trace)
{
    struct timeline timeline = { .trace = trace, .from_ns = INT64_MIN };

    collect_events(&timeline, arena);
    find_streams(&timeline, arena);
    measure_usages(&timeline, arena);
    return timeline;
}

struct intervals timeline_idle_within(struct arena *arena, const struct timeline *timeline,
                                      const struct intervals *times)
{
    SCRATCH_ARENA(scratch, arena);
    struct intervals idle = { .arena = arena }, busy = { .arena = scratch };

    if (times->count > 0)
        for (int64_t i = 0; i < timeline->work_count; i++)
            intervals_add(&busy, timeline->work[i].event->start_ns,
                          timeline->work[i].event->end_ns);
    intervals_merge(&busy);
    intervals_without(&idle, times, &busy);
    return idle;
}

struct caused_time timeline_caused_time(struct arena *arena, const struct timeline *timeline)
{
    struct caused_time caused = {
        .sum_of = ARENA_NEW(arena, uint32_t, timeline->trace->event_count),
        .sums_ns = ARENA_NEW(arena, int64_t, timeline->work_count + 1),
    };
    uint32_t count = 1;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        uint32_t *sum;
        if (work->call == NULL || !timeline_counts(timeline, work->event))
            continue;
        sum = &caused.sum_of[work->call - timeline->trace->events];
        if (*sum == 0)
            *sum = count++;
        caused.sums_ns[*sum] =
            intervals_sum_ns(caused.sums_ns[*sum], work->event->end_ns - work->event->start_ns);
    }
    return caused;
}
