/* Graphs: items recorded into an array, and run from there by one item of the queue.
 *
 * A capture belongs to the thread that began it (CUDA's thread-local mode): the thread's captures are
 * a list, because calls that are unsafe during any of them invalidate them all. Which graph a stream
 * is captured into is known by the stream.
 *
 * A graph never runs twice at a time, whatever streams it is launched on: a launch waits on its
 * worker until the one before is through, as in CUDA. It lives until it is destroyed and no launch of
 * it is queued any more. */
#include "harness/device/cpu/progress.h"
#include "harness/device/cpu/trace.h"

#include <stdlib.h>

struct cpu_graph {
    struct graph base;
    uint32_t id;
    struct item *items;
    int room;

    /* While it is captured: */
    struct cpu_stream *stream;
    struct cpu_graph *next; /* of this thread's captures */
    pthread_t thread;
    atomic_bool invalid;

    _Atomic int references; /* the user's, and one a queued launch */
    _Atomic uint64_t launches;
    struct progress finished; /* launches */
};

static _Thread_local struct cpu_graph *captures;

static void release(struct cpu_graph *graph)
{
    if (atomic_fetch_sub(&graph->references, 1) != 1)
        return;
    free(graph->items);
    free(graph);
}

enum status capture_forbids(struct cpu_stream *stream, const char *call)
{
    enum status status = STATUS_OK;
    struct cpu_graph *graph = atomic_load(&stream->capture);

    if (graph != NULL) {
        atomic_store(&graph->invalid, true);
        FAIL(STATUS_CAPTURE,
             "%s is not possible while it is captured into a graph; do it before "
             "or after the capture",
             call);
    }

out:
    return status;
}

enum status capture_forbids_thread(const char *call)
{
    enum status status = STATUS_OK;

    for (struct cpu_graph *graph = captures; graph != NULL; graph = graph->next)
        atomic_store(&graph->invalid, true);
    if (captures != NULL)
        FAIL(STATUS_CAPTURE,
             "%s is not possible while this thread captures a graph; do it before or after the "
             "capture",
             call);

out:
    return status;
}

enum status cpu_graph_begin(struct stream *base)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);
    struct cpu_graph *graph;

    if (atomic_load(&stream->capture) != NULL)
        FAIL(STATUS_CAPTURE, "stream %u is being captured already; end that capture first",
             stream->id);
    graph = calloc(1, sizeof *graph);
    if (graph == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for a graph (%zu bytes)", sizeof *graph);
    graph->base.device = base->device;
    graph->id = atomic_fetch_add(&device->last_graph, 1) + 1;
    atomic_init(&graph->references, 1);
    graph->stream = stream;
    graph->thread = pthread_self();
    graph->next = captures;
    captures = graph;
    atomic_store(&stream->capture, graph);

out:
    call_end(device, &call, "cudaStreamBeginCapture");
    return status;
}

enum status capture_claim(struct cpu_stream *stream, struct item **item)
{
    enum status status = STATUS_OK;
    struct cpu_graph *graph = atomic_load(&stream->capture);

    if (!pthread_equal(graph->thread, pthread_self())) {
        atomic_store(&graph->invalid, true);
        FAIL(STATUS_CAPTURE, "stream %u is being captured by another thread", stream->id);
    }
    if (graph->base.nodes == graph->room) {
        int room = graph->room * 2 + 64;
        struct item *items = aligned_alloc(_Alignof(struct item), (size_t)room * sizeof *items);
        if (items == NULL) {
            atomic_store(&graph->invalid, true);
            FAIL(STATUS_OUT_OF_MEMORY, "no host memory for a graph of %d nodes", room);
        }
        for (int i = 0; i < graph->base.nodes; i++) items[i] = graph->items[i];
        free(graph->items);
        graph->items = items;
        graph->room = room;
    }
    *item = &graph->items[graph->base.nodes];

out:
    return status;
}

void capture_submit(struct cpu_stream *stream)
{
    atomic_load(&stream->capture)->base.nodes++;
}

/* Takes the capture off its stream and its thread's list. */
static void detach(struct cpu_graph *graph)
{
    for (struct cpu_graph **link = &captures; *link != NULL; link = &(*link)->next)
        if (*link == graph) {
            *link = graph->next;
            break;
        }
    atomic_store(&graph->stream->capture, NULL);
    graph->stream = NULL;
    graph->next = NULL;
}

void capture_abandon(struct cpu_stream *stream)
{
    struct cpu_graph *graph = atomic_load(&stream->capture);

    if (graph == NULL)
        return;
    detach(graph);
    release(graph);
}

enum status cpu_graph_end(struct stream *base, struct graph **result)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct cpu_graph *graph = atomic_load(&stream->capture);
    struct call call = call_begin(device);

    *result = NULL;
    if (graph == NULL)
        FAIL(STATUS_CAPTURE, "stream %u is not being captured; begin a capture first", stream->id);
    if (!pthread_equal(graph->thread, pthread_self()))
        FAIL(STATUS_CAPTURE, "stream %u is being captured by another thread, which must end it",
             stream->id);
    detach(graph);
    if (atomic_load(&graph->invalid)) {
        release(graph);
        FAIL(STATUS_CAPTURE,
             "the capture of stream %u came to nothing: a call in its middle was "
             "not allowed there",
             stream->id);
    }
    *result = &graph->base;

out:
    call_end(device, &call, "cudaStreamEndCapture");
    if (status == STATUS_OK) {
        struct call instantiate = call_begin(device);
        call_end(device, &instantiate, "cudaGraphInstantiate");
    }
    return status;
}

static enum status run_graph(struct cpu_stream *stream, const struct item *item)
{
    struct cpu_device *device = (struct cpu_device *)stream->base.device;
    struct cpu_graph *graph = item->graph.graph;

    progress_await(&graph->finished, item->graph.number - 1, device->spin_ns);
    for (int i = 0; i < graph->base.nodes; i++)
        stream_run(stream, &graph->items[i], item->correlation, graph->id, (uint32_t)i);
    progress_set(&graph->finished, item->graph.number);
    progress_wake(&graph->finished);
    release(graph);
    return STATUS_OK;
}

static const struct work graph_work = { .run = run_graph, .bookkeeping = true };

enum status cpu_graph_launch(struct stream *base, struct graph *graph_base)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct cpu_graph *graph = (struct cpu_graph *)graph_base;
    struct call call = call_begin(device);
    struct item *item;

    TRY(capture_forbids(stream, "launching a graph on the stream"));
    TRY(stream_claim(stream, &item));
    atomic_fetch_add(&graph->references, 1);
    item->work = &graph_work;
    item->correlation = call.correlation;
    item->graph.graph = graph;
    item->graph.number = atomic_fetch_add(&graph->launches, 1) + 1;
    stream_submit(stream);

out:
    call_end(device, &call, "cudaGraphLaunch");
    return status;
}

void cpu_graph_destroy(struct graph *graph)
{
    struct cpu_device *device = (struct cpu_device *)graph->device;
    struct call call = call_begin(device);

    release((struct cpu_graph *)graph);
    call_end(device, &call, "cudaGraphExecDestroy");
}
