/* Graphs: items recorded into an array, and run from there by one item of the queue.
 *
 * plugin/capture.h has the rules of a capture. Each stream knows the graph that it is
 * captured into.
 *
 * A graph never runs twice at a time, whatever streams it is launched on: a launch waits on its
 * worker until the one before is through, as in CUDA. It lives until it is destroyed and no launch
 * of it is queued any more. */
#include "harness/device/cpu/cpu.h"
#include "harness/device/cpu/queue/cpu_progress.h"

#include <stddef.h>
#include <stdlib.h>

struct cpu_graph {
    struct graph base;
    uint32_t id;
    struct item *items;
    int room;
    struct capture capture;

    _Atomic int references; /* the user's, and one per queued launch */
    _Atomic uint64_t launches;
    struct cpu_progress finished; /* launches */
};

static void release(struct cpu_graph *graph)
{
    if (atomic_fetch_sub(&graph->references, 1) != 1)
        return;
    free(graph->items);
    free(graph);
}

/* The graph that the stream is being captured into, or NULL. */
static struct cpu_graph *graph_of(struct cpu_stream *stream)
{
    void *capture = atomic_load(&stream->capture);

    if (capture == NULL)
        return NULL;
    return (void *)((char *)capture - offsetof(struct cpu_graph, capture));
}

int cpu_graph_captured_nodes(const struct stream *base)
{
    const struct cpu_graph *graph = graph_of((struct cpu_stream *)base);

    return graph != NULL ? graph->base.nodes : -1;
}

enum status cpu_graph_begin(struct stream *base)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);
    struct cpu_graph *graph;

    TRY_OUT(capture_may_begin(&stream->capture, stream->id));
    graph = calloc(1, sizeof *graph);
    if (graph == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a graph (%zu bytes)", sizeof *graph);
    graph->base.device = base->device;
    graph->id = atomic_fetch_add(&device->last_graph, 1) + 1;
    atomic_init(&graph->references, 1);
    capture_begin(&graph->capture, &stream->capture);

out:
    call_end(device, &call, "cudaStreamBeginCapture");
    return status;
}

enum status cpu_capture_claim(struct cpu_stream *stream, struct item **item)
{
    struct cpu_graph *graph = graph_of(stream);

    TRY(capture_allows(&stream->capture, stream->id));
    if (graph->base.nodes == graph->room) {
        int room = graph->room * 2 + 64;
        /* Not realloc(), which would forget the alignment. */
        struct item *items = aligned_alloc(_Alignof(struct item), (size_t)room * sizeof *items);
        if (items == NULL) {
            atomic_store(&graph->capture.invalid, true);
            FAIL(STATUS_OUT_OF_MEMORY, "no host memory for a graph of %d nodes", room);
        }
        for (int i = 0; i < graph->base.nodes; i++) items[i] = graph->items[i];
        free(graph->items);
        graph->items = items;
        graph->room = room;
    }
    *item = &graph->items[graph->base.nodes];

    return STATUS_OK;
}

void cpu_capture_submit(struct cpu_stream *stream)
{
    graph_of(stream)->base.nodes++;
}

void cpu_capture_abandon(struct cpu_stream *stream)
{
    struct cpu_graph *graph = graph_of(stream);

    if (graph == NULL)
        return;
    capture_end(&graph->capture);
    release(graph);
}

enum status cpu_graph_end(struct stream *base, struct graph **result)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct cpu_graph *graph = NULL;
    struct call call = call_begin(device);

    *result = NULL;
    TRY_OUT(capture_may_end(&stream->capture, stream->id));
    graph = graph_of(stream);
    capture_end(&graph->capture);
    TRY_OUT(capture_check(&graph->capture, stream->id));
    *result = &graph->base;

out:
    call_end(device, &call, "cudaStreamEndCapture");
    if (status != STATUS_OK && graph != NULL)
        release(graph);
    if (status == STATUS_OK) {
        /* In CUDA a capture gives a graph that is then instantiated: a trace shows both calls. */
        struct call instantiate = call_begin(device);
        call_end(device, &instantiate, "cudaGraphInstantiate");
    }
    return status;
}

static enum status run_graph(struct cpu_stream *stream, const struct item *item)
{
    struct cpu_device *device = (struct cpu_device *)stream->base.device;
    struct cpu_graph *graph = item->graph.graph;

    cpu_progress_await(&graph->finished, item->graph.number - 1, device->spin_ns);
    for (int i = 0; i < graph->base.nodes; i++)
        stream_run(stream, &graph->items[i], item->correlation, graph->id, (uint32_t)i);
    cpu_progress_set(&graph->finished, item->graph.number);
    cpu_progress_wake(&graph->finished);
    release(graph);
    return STATUS_OK;
}

static const struct cpu_work graph_work = { .run = run_graph, .bookkeeping = true };

enum status cpu_graph_launch(struct stream *base, struct graph *graph_base)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct cpu_graph *graph = (struct cpu_graph *)graph_base;
    struct call call = call_begin(device);
    struct item *item;

    TRY_OUT(capture_forbids(&stream->capture, "launching a graph on the stream"));
    TRY_OUT(stream_claim(stream, &item));
    /* Before the worker may see the item, as it gives the reference back. */
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
