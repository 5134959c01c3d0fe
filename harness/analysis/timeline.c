/* Work is sorted once and joined with its calls; every usage is then one pass over it. */
#include "harness/analysis/timeline.h"

#include "harness/analysis/event_names.h"
#include "harness/analysis/intervals.h"

#include <stdlib.h>
#include <string.h>

const char *idle_cause_name(enum idle_cause cause)
{
    static const char *const names[] = { "host_wait", "device_wait", "other" };

    return (unsigned)cause < IDLE_CAUSE_COUNT ? names[cause] : "unknown";
}

/* --- Joining work with its calls ----------------------------------------------------------------- */

static int by_time(const void *left, const void *right)
{
    const struct event *a = ((const struct work *)left)->event;
    const struct event *b = ((const struct work *)right)->event;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return (a > b) - (a < b); /* the file's order: the result does not depend on the sort */
}

static int by_correlation(const void *left, const void *right)
{
    const struct event *a = *(const struct event *const *)left;
    const struct event *b = *(const struct event *const *)right;

    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a > b) - (a < b);
}

/* The first of the calls, sorted by correlation, that has this one. */
static const struct event *find_call(const struct event *const *calls, int64_t count,
                                     int64_t correlation)
{
    int64_t low = 0, high = count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (calls[middle]->correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && calls[low]->correlation == correlation ? calls[low] : NULL;
}

/* Copies and memsets that a profiler files under kernels keep their names: "Memcpy", "hipMemcpy". */
static enum work_kind kind_of(const struct trace_file *trace, const struct event *event)
{
    const char *name = trace_file_name(trace, event->name);
    const char *plain = strncmp(name, "hip", 3) == 0 ? name + 3 : name;

    if (event->kind == EVENT_KIND_MEMCPY || strncmp(plain, "Memcpy", 6) == 0)
        return WORK_COPY;
    if (event->kind == EVENT_KIND_MEMSET || strncmp(plain, "Memset", 6) == 0)
        return WORK_MEMSET;
    return name_is_communication(name) ? WORK_COMMUNICATION : WORK_COMPUTATION;
}

static enum status collect(struct timeline *timeline)
{
    enum status status = STATUS_OK;
    const struct trace_file *trace = timeline->trace;
    const struct event **calls = NULL;
    int64_t call_count = 0, work_count = 0;
    bool called = false;

    for (int64_t i = 0; i < trace->event_count; i++) {
        called = called || event_is_call(&trace->events[i]);
        call_count += event_is_call(&trace->events[i]) && trace->events[i].correlation != 0;
        work_count += event_is_device_work(&trace->events[i]);
    }
    timeline->host_alone =
        trace->event_count > 0 && work_count == 0 && !called && trace->device_count == 0;
    calls = malloc((size_t)(call_count + 1) * sizeof *calls);
    timeline->work = malloc((size_t)(work_count + 1) * sizeof *timeline->work);
    if (calls == NULL || timeline->work == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld rows of device work", (long long)work_count);
    call_count = 0;
    for (int64_t i = 0; i < trace->event_count; i++)
        if (event_is_call(&trace->events[i]) && trace->events[i].correlation != 0)
            calls[call_count++] = &trace->events[i];
    qsort(calls, (size_t)call_count, sizeof *calls, by_correlation);
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct event *event = &trace->events[i];
        if (event_is_device_work(event))
            timeline->work[timeline->work_count++] = (struct work){
                event,
                event->correlation != 0 ? find_call(calls, call_count, event->correlation) : NULL,
                kind_of(trace, event)
            };
    }
    qsort(timeline->work, (size_t)timeline->work_count, sizeof *timeline->work, by_time);

out:
    free(calls);
    return status;
}

/* --- Usage --------------------------------------------------------------------------------------- */

struct sets {
    struct intervals kinds[WORK_KIND_COUNT], kernel, memory, apart;
};

static void sets_release(struct sets *sets)
{
    for (int kind = 0; kind < WORK_KIND_COUNT; kind++) intervals_release(&sets->kinds[kind]);
    intervals_release(&sets->kernel);
    intervals_release(&sets->memory);
    intervals_release(&sets->apart);
}

static enum idle_cause cause_of(const struct work *work, int64_t idle_since_ns)
{
    if (work->call == NULL)
        return IDLE_OTHER;
    if (work->call->start_ns > idle_since_ns)
        return IDLE_HOST_WAIT;
    return work->event->start_ns - idle_since_ns < IDLE_DEVICE_WAIT_NS ? IDLE_DEVICE_WAIT
                                                                       : IDLE_OTHER;
}

/* Which work a usage is of. */
struct choice {
    bool any_device, any_stream;
    int64_t device, stream;
};

static bool chosen(const struct timeline *timeline, const struct choice *choice,
                   const struct work *work)
{
    const struct event_track *track = &timeline->trace->tracks[work->event->track];

    return (choice->any_device || track->process == choice->device) &&
           (choice->any_stream || track->thread == choice->stream);
}

/* Takes work in the order of its start: what lies behind the end of all before it was idle. */
static enum status take_work(struct usage *usage, struct sets *sets, const struct work *work)
{
    enum status status = STATUS_OK;
    int64_t start = work->event->start_ns, end = work->event->end_ns;

    if (usage->work_count++ == 0) {
        usage->start_ns = usage->end_ns = start;
    } else if (start > usage->end_ns) {
        usage->idle_cause_ns[cause_of(work, usage->end_ns)] += start - usage->end_ns;
        usage->idle_ns += start - usage->end_ns;
    }
    if (end > usage->end_ns)
        usage->end_ns = end;
    TRY(intervals_add(&sets->kinds[work->kind], start, end));
    if (work->kind == WORK_COMPUTATION || work->kind == WORK_COMMUNICATION)
        TRY(intervals_add(&sets->kernel, start, end));
    else
        TRY(intervals_add(&sets->memory, start, end));

out:
    return status;
}

static enum status measure(struct usage *usage, const struct timeline *timeline,
                           const struct choice *choice)
{
    enum status status = STATUS_OK;
    struct sets sets;

    memset(&sets, 0, sizeof sets);
    memset(usage, 0, sizeof *usage);
    for (int64_t i = 0; i < timeline->work_count; i++)
        if (chosen(timeline, choice, &timeline->work[i]))
            TRY(take_work(usage, &sets, &timeline->work[i]));
    usage->span_ns = usage->end_ns - usage->start_ns;
    usage->busy_ns = usage->span_ns - usage->idle_ns;
    for (int kind = 0; kind < WORK_KIND_COUNT; kind++) {
        intervals_merge(&sets.kinds[kind]);
        usage->kind_ns[kind] = intervals_length_ns(&sets.kinds[kind]);
    }
    intervals_merge(&sets.kernel);
    intervals_merge(&sets.memory);
    usage->kernel_ns = intervals_length_ns(&sets.kernel);
    usage->memory_ns = intervals_length_ns(&sets.memory);
    usage->communication_overlap_ns =
        intervals_overlap_ns(&sets.kinds[WORK_COMMUNICATION], &sets.kinds[WORK_COMPUTATION]);
    usage->communication_exposed_ns =
        usage->kind_ns[WORK_COMMUNICATION] - usage->communication_overlap_ns;
    usage->copy_exposed_ns =
        usage->kind_ns[WORK_COPY] - intervals_overlap_ns(&sets.kinds[WORK_COPY], &sets.kernel);
    usage->memory_exposed_ns = usage->memory_ns - intervals_overlap_ns(&sets.memory, &sets.kernel);

out:
    sets_release(&sets);
    return status;
}

/* --- Devices and streams ------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    const struct track_usage *a = left, *b = right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

/* The streams that have work, sorted, each once. */
static enum status find_streams(struct timeline *timeline)
{
    enum status status = STATUS_OK;
    const struct trace_file *trace = timeline->trace;
    bool *used = calloc((size_t)trace->track_count + 1, sizeof *used);

    timeline->streams = calloc((size_t)trace->track_count + 1, sizeof *timeline->streams);
    timeline->devices = calloc((size_t)trace->track_count + 1, sizeof *timeline->devices);
    if (used == NULL || timeline->streams == NULL || timeline->devices == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld streams", (long long)trace->track_count);
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

out:
    free(used);
    return status;
}

enum status timeline_make(struct timeline *timeline, const struct trace_file *trace)
{
    enum status status = STATUS_OK;
    struct choice all = { .any_device = true, .any_stream = true };

    *timeline = (struct timeline){ .trace = trace };
    TRY(collect(timeline));
    TRY(find_streams(timeline));
    TRY(measure(&timeline->all, timeline, &all));
    for (int64_t i = 0; i < timeline->device_count; i++) {
        struct choice one = { .any_stream = true, .device = timeline->devices[i].device };
        TRY(measure(&timeline->devices[i].usage, timeline, &one));
    }
    for (int64_t i = 0; i < timeline->stream_count; i++) {
        struct choice one = { .device = timeline->streams[i].device,
                              .stream = timeline->streams[i].stream };
        TRY(measure(&timeline->streams[i].usage, timeline, &one));
    }

out:
    return status;
}

void timeline_release(struct timeline *timeline)
{
    free(timeline->work);
    free(timeline->devices);
    free(timeline->streams);
    *timeline = (struct timeline){ .trace = NULL };
}
