/* One pass over the calls, in the order of time: each becomes a piece of the host, after those that
 * fill the time since the call before, and is followed by its work. */
#include "harness/desk/analysis/replay/replay.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/launches.h"

#include <string.h>

enum { LOADS_AHEAD = 8 };
enum { CLOCKS_NS = 2000 }; /* host and device time the same moment by so much apart */

/* A call of the host and one work that it launched, if any. */
struct launch {
    /* when it was made; of work that was launched before the window, its beginning */
    int64_t at_ns;
    const struct trace_event *call; /* NULL: it is not in the window */
    const struct work *work;        /* NULL: it launches nothing, but waits or releases memory */
};

/* The work of a stream that was taken so far. */
struct stream_nodes {
    int32_t *nodes;
    int64_t count;
};

/* Delays that are usual. */
struct delays {
    int64_t latency_ns; /* from the end of a call to the start of its work, on an idle stream */
    int64_t gap_ns;     /* between works that are queued */
    int64_t call_ns;
};

struct making {
    struct trace_graph *graph;
    const struct timeline *timeline;
    const struct host_activity *activity;
    struct launch *launches;
    int64_t launch_count, room;
    struct stream_nodes *streams;
    int16_t *stream_of; /* by track */
    bool *synchronizes; /* by name: calls that wait for the device, and releases, which do so too */
    struct delays delays;
    int64_t cursor_ns;       /* the host's time so far */
    int64_t awaited_load_ns; /* a load that takes as long waits for workers; INT64_MAX: there are
                                none */
    int32_t load;            /* the last one, if it waited; GRAPH_NONE */
    int64_t load_end_ns;
    int loads_since; /* that did not wait */
};

/* --- The window and its work --- */

COMPARATOR(by_call, struct launch, ASCENDING(at_ns) ?: ASCENDING(call) ?: ASCENDING(work))

/* The window in which the host is followed. Work that it launched may end later. */
static void find_window(struct trace_graph *graph, const struct timeline *timeline,
                        const struct steps *steps, const struct idle *idle)
{
    graph->start_ns = idle->start_ns;
    graph->end_ns = idle->end_ns;
    if (steps->count > 0 && !timeline->host_alone) {
        graph->start_ns = steps->items[0].event->start_ns;
        graph->end_ns = steps->items[steps->count - 1].event->end_ns;
    } else if (timeline->work_count > 0) {
        const struct trace_event *call = timeline->work[0].call;
        graph->start_ns = timeline->all.start_ns;
        graph->end_ns = timeline->all.end_ns;
        if (call != NULL)
            graph->start_ns = interval_earlier(call->start_ns, graph->start_ns);
    }
}

static bool is_inside(const struct trace_graph *graph, const struct trace_event *call)
{
    return call != NULL && call->start_ns >= graph->start_ns && call->start_ns < graph->end_ns;
}

/* Work of a stream that comes before all that was launched in the window was launched before it. */
static int64_t *find_first_launched(const struct making *making, struct arena *scratch)
{
    const struct timeline *timeline = making->timeline;
    int64_t *first_ns = ARENA_NEW(scratch, int64_t, timeline->trace->track_count);

    for (int64_t i = timeline->work_count; i-- > 0;)
        if (is_inside(making->graph, timeline->work[i].call))
            first_ns[timeline->work[i].event->track] = timeline->work[i].event->start_ns;
    return first_ns;
}

static bool is_in_iteration(const struct trace_graph *graph, const struct work *work)
{
    return work->event->end_ns > graph->start_ns && work->event->start_ns < graph->end_ns &&
           (work->call == NULL || work->call->start_ns < graph->end_ns);
}

static void collect_launches(struct making *making, struct arena *scratch)
{
    const struct timeline *timeline = making->timeline;
    const struct trace_graph *graph = making->graph;
    int64_t count = timeline->work_count, *first_ns = find_first_launched(making, scratch);

    for (int64_t i = 0; i < timeline->host_count; i++)
        count +=
            trace_event_is_call(timeline->host[i]) && making->synchronizes[timeline->host[i]->name];
    making->launches = ARENA_NEW(scratch, struct launch, count);
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        struct launch *launch = &making->launches[making->launch_count];
        if (is_inside(graph, work->call))
            *launch = (struct launch){ work->call->start_ns, work->call, work };
        else if (work->event->start_ns < first_ns[work->event->track])
            *launch = (struct launch){ graph->start_ns, NULL, work };
        else if (is_in_iteration(graph, work))
            *launch = (struct launch){ work->event->start_ns, NULL, work };
        else
            continue;
        making->launch_count += work->event->end_ns > graph->start_ns;
    }
    for (int64_t i = 0; i < timeline->host_count; i++)
        if (trace_event_is_call(timeline->host[i]) &&
            making->synchronizes[timeline->host[i]->name] && is_inside(graph, timeline->host[i]))
            making->launches[making->launch_count++] =
                (struct launch){ timeline->host[i]->start_ns, timeline->host[i], NULL };
    sort_items(making->launches, making->launch_count, sizeof *making->launches, by_call);
}

static int64_t median(int64_t *items, int64_t count)
{
    sort_int64(items, count);
    return count > 0 ? items[count / 2] : 0;
}

static void find_delays(struct making *making, struct arena *arena)
{
    const struct timeline *timeline = making->timeline;
    SCRATCH_ARENA(scratch, arena);
    int64_t *latencies = ARENA_NEW(scratch, int64_t, timeline->work_count), latency_count = 0;
    int64_t *gaps = ARENA_NEW(scratch, int64_t, timeline->work_count), gap_count = 0;
    int64_t *calls = ARENA_NEW(scratch, int64_t, timeline->work_count), call_count = 0;
    int64_t *ends = ARENA_NEW(scratch, int64_t, timeline->trace->track_count);
    const struct trace_event **last =
        ARENA_NEW(scratch, const struct trace_event *, timeline->trace->track_count);

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct trace_event *event = timeline->work[i].event, *call = timeline->work[i].call;
        if (call != NULL && call != last[event->track] && last[event->track] != NULL) {
            if (ends[event->track] <= call->start_ns)
                latencies[latency_count++] = event->start_ns - call->end_ns;
            else if (ends[event->track] >= call->end_ns)
                gaps[gap_count++] = interval_later(0, event->start_ns - ends[event->track]);
        }
        if (call != NULL && call != last[event->track])
            calls[call_count++] = call->end_ns - call->start_ns;
        ends[event->track] = interval_later(ends[event->track], event->end_ns);
        last[event->track] = call;
    }
    making->delays = (struct delays){ median(latencies, latency_count), median(gaps, gap_count),
                                      median(calls, call_count) };
}

static void find_streams(struct making *making, struct arena *scratch)
{
    const struct trace_file *trace = making->timeline->trace;
    int64_t *counts = ARENA_NEW(scratch, int64_t, trace->track_count);

    making->stream_of = ARENA_NEW(scratch, int16_t, trace->track_count);
    making->streams = ARENA_NEW(scratch, struct stream_nodes, trace->track_count);
    for (int64_t i = 0; i < making->launch_count; i++)
        if (making->launches[i].work != NULL)
            counts[making->launches[i].work->event->track]++;
    for (int64_t i = 0; i < trace->track_count; i++)
        if (counts[i] > 0 && making->graph->stream_count < INT16_MAX) {
            making->stream_of[i] = (int16_t)making->graph->stream_count;
            making->streams[making->graph->stream_count++].nodes =
                ARENA_NEW(scratch, int32_t, counts[i]);
        }
}

/* --- Nodes --- */

static int64_t end_of(const struct making *making, int32_t node)
{
    const struct trace_event *event =
        &making->timeline->trace->events[making->graph->nodes[node].event];

    return event->end_ns;
}

/* The work that ended last by a moment, among those taken so far, without one stream. */
static int32_t latest_by(const struct making *making, int64_t at_ns, int16_t without)
{
    int32_t latest = GRAPH_NONE;

    for (int16_t i = 0; i < making->graph->stream_count; i++) {
        const struct stream_nodes *stream = &making->streams[i];
        int64_t low = 0, high = stream->count;
        if (i == without)
            continue;
        BISECT(low, high, node, end_of(making, stream->nodes[node]) <= at_ns);
        if (low == 0)
            continue;
        if (latest == GRAPH_NONE || end_of(making, stream->nodes[low - 1]) > end_of(making, latest))
            latest = stream->nodes[low - 1];
    }
    return latest;
}

static struct graph_node *add_node(struct making *making, struct graph_node node)
{
    struct trace_graph *graph = making->graph;

    graph->nodes[graph->count] = node;
    return &graph->nodes[graph->count++];
}

static struct graph_node *add_host(struct making *making, enum host_kind activity,
                                   int64_t duration_ns)
{
    struct graph_node *node = add_node(making, (struct graph_node){ .at_ns = making->cursor_ns,
                                                                    .duration_ns = duration_ns,
                                                                    .after = GRAPH_NONE,
                                                                    .call = GRAPH_NONE,
                                                                    .event = GRAPH_NONE,
                                                                    .stream = GRAPH_NONE,
                                                                    .kind = (uint8_t)activity });

    making->cursor_ns += duration_ns;
    return node;
}

/* Loads that wait for workers, one after the other, end as far apart as the workers have batches
 * ready, however early the loop asks. */
static void add_load(struct making *making, int64_t duration_ns)
{
    bool waits = duration_ns >= making->awaited_load_ns;
    int32_t at = (int32_t)making->graph->count, last = making->load;
    struct graph_node *node = add_host(making, HOST_LOADING, duration_ns);

    if (waits && last != GRAPH_NONE && making->loads_since <= LOADS_AHEAD) {
        node->after = last;
        node->lag_ns = (float)(making->cursor_ns - making->load_end_ns);
        node->duration_ns = 0;
    }
    making->loads_since++;
    if (!waits)
        return;
    making->load = at;
    making->loads_since = 0;
    making->load_end_ns = making->cursor_ns;
}

/* Adds the host's work up to a moment: a piece for each activity. */
static void add_pieces(struct making *making, uint32_t track, int64_t until_ns)
{
    int64_t ns[HOST_KIND_COUNT] = { 0 };

    if (until_ns <= making->cursor_ns)
        return;
    host_activity_between(making->activity, track, making->cursor_ns, until_ns, ns);
    if (!making->timeline->host_alone) { /* both lead to the next launch */
        ns[HOST_OPERATOR] += ns[HOST_OUTSIDE];
        ns[HOST_OUTSIDE] = 0;
    }
    for (int i = 0; i < HOST_KIND_COUNT; i++)
        if (ns[i] > 0 && i == HOST_LOADING)
            add_load(making, ns[i]);
        else if (ns[i] > 0)
            add_host(making, (enum host_kind)i, ns[i]);
    making->cursor_ns = until_ns;
}

static enum host_kind activity_of(const struct making *making, const struct trace_event *call)
{
    int64_t ns[HOST_KIND_COUNT] = { 0 };
    int most = HOST_LAUNCHING;

    host_activity_between(making->activity, call->track, call->start_ns, call->end_ns, ns);
    for (int i = 0; i < HOST_KIND_COUNT; i++)
        if (ns[i] > ns[most])
            most = i;
    return (enum host_kind)most;
}

/* A call that waits for what was launched before it. */
static void add_wait(struct making *making, const struct trace_event *call, enum host_kind activity)
{
    int32_t awaited = latest_by(making, call->end_ns + CLOCKS_NS, GRAPH_NONE);
    int64_t from_ns = making->cursor_ns;
    struct graph_node *node;

    if (awaited != GRAPH_NONE)
        from_ns = interval_earlier(interval_later(from_ns, end_of(making, awaited)), call->end_ns);
    making->cursor_ns = interval_later(from_ns, making->cursor_ns);
    node = add_host(making, activity, interval_later(0, call->end_ns - making->cursor_ns));
    node->after = awaited;
    if (awaited != GRAPH_NONE)
        node->lag_ns = (float)interval_earlier(0, node->at_ns - end_of(making, awaited));
    node->event = (int32_t)(call - making->timeline->trace->events);
    node->is_call = true;
}

/* Sets what held a work up; the other constraints get usual delays. `before` is the work before it
 * on its stream. */
static void constrain(struct making *making, struct graph_node *node, int32_t before,
                      int32_t sibling)
{
    const struct delays *delays = &making->delays;
    const struct graph_node *call =
        node->call != GRAPH_NONE ? &making->graph->nodes[node->call] : NULL;
    int64_t called_ns = call != NULL ? call->at_ns + call->duration_ns : 0;
    int64_t latency_ns = call != NULL ? node->at_ns - called_ns : 0;
    int64_t gap_ns = before != GRAPH_NONE ? node->at_ns - end_of(making, before) : 0;
    int64_t usual_ns = interval_earlier(latency_ns, sibling != GRAPH_NONE ? 0 : delays->latency_ns);
    int64_t usual_gap_ns = interval_earlier(gap_ns, delays->gap_ns);
    int64_t launched_ns =
        call != NULL ? interval_later(called_ns + usual_ns, call->at_ns) : INT64_MIN / 2;
    int64_t free_ns = before != GRAPH_NONE ? end_of(making, before) + usual_gap_ns : INT64_MIN / 2;
    int64_t ready_ns = interval_later(launched_ns, free_ns);

    node->latency_ns = (float)usual_ns;
    node->gap_ns = (float)usual_gap_ns;
    if (node->at_ns <= ready_ns)
        return;
    node->after = latest_by(making, node->at_ns + CLOCKS_NS / 2, node->stream);
    if (node->after != GRAPH_NONE && end_of(making, node->after) > ready_ns - CLOCKS_NS &&
        node->at_ns - end_of(making, node->after) < IDLE_DEVICE_WAIT_NS &&
        node->at_ns - ready_ns > CLOCKS_NS) {
        node->lag_ns = (float)(node->at_ns - end_of(making, node->after));
        return;
    }
    node->after = GRAPH_NONE;
    if (sibling != GRAPH_NONE && sibling != before) {
        node->after = sibling;
        node->lag_ns = (float)(node->at_ns - end_of(making, sibling));
    } else if (call != NULL && launched_ns > free_ns) {
        node->latency_ns = (float)latency_ns;
    } else {
        node->gap_ns = (float)gap_ns;
    }
}

/* Threads that run at once are one after the other here, so a work may begin before the piece that
 * launches it: then an earlier piece does. */
static int32_t launcher_of(const struct making *making, int32_t call, int64_t at_ns)
{
    const struct graph_node *nodes = making->graph->nodes;

    while (call > 0 && (nodes[call].stream != GRAPH_NONE || nodes[call].at_ns > at_ns)) call--;
    return call;
}

/* `sibling` is the work before it of the same launch. */
static int32_t add_work(struct making *making, const struct work *work, int32_t call,
                        int32_t sibling)
{
    struct stream_nodes *stream = &making->streams[making->stream_of[work->event->track]];
    const struct trace_event *event = work->event;
    int32_t before = stream->count > 0 ? stream->nodes[stream->count - 1] : GRAPH_NONE;
    int32_t at = (int32_t)making->graph->count;
    struct graph_node *node = add_node(
        making, (struct graph_node){
                    .at_ns = event->start_ns,
                    .duration_ns = event->end_ns - event->start_ns,
                    .after = GRAPH_NONE,
                    .call = call == GRAPH_NONE ? call : launcher_of(making, call, event->start_ns),
                    .event = (int32_t)(event - making->timeline->trace->events),
                    .stream = making->stream_of[event->track],
                    .kind = (uint8_t)work->kind });

    constrain(making, node, before, sibling);
    stream->nodes[stream->count++] = at;
    return at;
}

/* Whether a call returned when its work was done, or as pageable memory was on its way. Up to 64
 * KiB of it to the device are staged at once (CUDA runtime's documentation, API synchronization
 * behavior). */
static bool is_held(const struct making *making, const struct work *work, enum host_kind activity)
{
    enum { STAGED_BYTES = 65536 };
    const struct trace_event *call = work->call, *event = work->event;
    const struct trace_file *trace = making->timeline->trace;
    const char *name = trace_file_name(trace, event->name);

    if (activity == HOST_WAITING)
        return call->end_ns >= event->start_ns;
    if (work->kind != WORK_COPY || call->end_ns < event->start_ns)
        return false;
    if (strstr(name, "Pageable") != NULL &&
        (strstr(name, "HtoD") == NULL || event->bytes < 0 || event->bytes > STAGED_BYTES))
        return true;
    return call->end_ns >= event->end_ns &&
           strstr(trace_file_name(trace, call->name), "Async") == NULL;
}

/* The part of such a call before it waits: usual for calls, and over when its work begins. */
static int64_t held_own_ns(const struct making *making, const struct work *work, int64_t left_ns)
{
    int64_t own_ns =
        interval_earlier(making->delays.call_ns, work->event->start_ns - making->cursor_ns);

    return interval_earlier(left_ns, interval_later(0, own_ns));
}

/* A call with all of its work, the launches from `first` up to `end`. */
static void add_call(struct making *making, int64_t first, int64_t end)
{
    const struct launch *launches = making->launches;
    const struct trace_event *call = launches[first].call;
    enum host_kind activity = activity_of(making, call);
    int64_t left_ns = interval_later(0, call->end_ns - making->cursor_ns), own_ns = left_ns;
    bool held = is_held(making, launches[end - 1].work, activity);
    int32_t at = (int32_t)making->graph->count, sibling = GRAPH_NONE;
    struct graph_node *node;

    if (held)
        own_ns = held_own_ns(making, launches[end - 1].work, left_ns);
    node = add_host(making, held && activity == HOST_WAITING ? HOST_COPYING : activity, own_ns);
    node->event = (int32_t)(call - making->timeline->trace->events);
    node->is_call = true;
    for (int64_t i = first; i < end; i++) sibling = add_work(making, launches[i].work, at, sibling);
    if (!held)
        return;
    making->cursor_ns += left_ns - own_ns;
    node = add_host(making, activity, 0);
    node->after = sibling;
    node->lag_ns = (float)(making->cursor_ns - end_of(making, sibling));
    node->event = (int32_t)(call - making->timeline->trace->events);
}

/* PyTorch says whether workers load; of other loaders it is not known. */
static int64_t awaited_load_ns(const struct trace_file *trace, const struct steps *steps)
{
    const double share =
        0.05; /* torch_tb_profiler's bound for the share of data loading (data.py) */
    bool workers = false;

    for (uint32_t i = 0; i < trace_file_name_count(trace); i++) {
        const char *name = trace_file_name(trace, i);
        workers = workers || strstr(name, "#_MultiProcessingDataLoaderIter") != NULL;
    }
    return workers && steps->count > 0 ? (int64_t)(share * steps->mean_ns) : INT64_MAX;
}

static void add_all(struct making *making)
{
    int64_t end;

    making->cursor_ns = making->graph->start_ns;
    for (int64_t i = 0; i < making->launch_count; i = end) {
        const struct launch *launch = &making->launches[i];
        end = i + 1;
        if (launch->call == NULL) {
            add_work(making, launch->work, GRAPH_NONE, GRAPH_NONE);
            continue;
        }
        while (end < making->launch_count && making->launches[end].call == launch->call) end++;
        if (launch->work == NULL && end - i > 1)
            launch = &making->launches[++i];
        if (launch->work == NULL && launch->call->end_ns <= making->cursor_ns)
            continue; /* it is within another call */
        add_pieces(making, launch->call->track, launch->call->start_ns);
        if (launch->work == NULL)
            add_wait(making, launch->call, activity_of(making, launch->call));
        else
            add_call(making, i, end);
    }
    if (making->activity->has_loop)
        add_pieces(making, making->activity->loop, making->graph->end_ns);
}

/* Marks work that was launched before the window. If later work of its stream has its launch in the
 * window, this work belongs to the iteration before. */
static void mark_first_iteration(struct making *making)
{
    struct trace_graph *graph = making->graph;

    for (int i = 0; i < graph->stream_count; i++) {
        const struct stream_nodes *stream = &making->streams[i];
        bool called = false;
        for (int64_t j = stream->count; j-- > 0;) {
            struct graph_node *node = &graph->nodes[stream->nodes[j]];
            called = called || node->call != GRAPH_NONE;
            node->is_first_iteration = called && node->call == GRAPH_NONE;
        }
    }
}

struct trace_graph graph_of(struct arena *arena, const struct timeline *timeline,
                            const struct steps *steps, const struct host_activity *activity,
                            const struct idle *idle)
{
    uint32_t names = trace_file_name_count(timeline->trace);
    SCRATCH_ARENA(scratch, arena);
    struct trace_graph graph = { .count = 0 };
    struct making making = { .graph = &graph,
                             .timeline = timeline,
                             .activity = activity,
                             .synchronizes = ARENA_NEW(scratch, bool, names) };

    for (uint32_t i = 0; i < names; i++) {
        const char *name = trace_file_name(timeline->trace, i);
        making.synchronizes[i] =
            name_is_wait(name) ||
            (name_is_release(name) && strstr(name, "Async") == NULL && name_is_allocation(name));
    }
    making.load = GRAPH_NONE;
    making.awaited_load_ns = awaited_load_ns(timeline->trace, steps);
    find_window(&graph, timeline, steps, idle);
    collect_launches(&making, scratch);
    find_delays(&making, scratch);
    find_streams(&making, scratch);
    /* Most of this room is never touched, so it costs no memory. */
    graph.nodes =
        ARENA_NEW(arena, struct graph_node,
                  timeline->work_count + (making.launch_count + 1) * (HOST_KIND_COUNT + 2));
    add_all(&making);
    mark_first_iteration(&making);
    for (int i = 0; i < graph.stream_count; i++)
        for (int64_t j = 0; j < making.streams[i].count; j++)
            graph.end_ns =
                interval_later(graph.end_ns, end_of(&making, making.streams[i].nodes[j]));
    return graph;
}

/* --- Changes --- */

static bool is_of_host(const struct graph_node *node, enum host_kind activity)
{
    return node->stream == GRAPH_NONE && node->kind == activity;
}

const struct graph_node *graph_work_of(const struct trace_graph *graph, int64_t at)
{
    return at + 1 < graph->count && graph->nodes[at + 1].call == at ? &graph->nodes[at + 1] : NULL;
}

void graph_node_shorten(struct graph_node *node, enum host_kind activity)
{
    if (is_of_host(node, activity))
        node->duration_ns = 0;
}

void graph_node_drop(struct graph_node *node, enum host_kind activity)
{
    if (is_of_host(node, activity))
        node->after = GRAPH_NONE;
    graph_node_shorten(node, activity);
}
