/* Graphs by stream capture. plugin/capture.h decides what a capture allows before CUDA is asked. A
 * graph has its own workspace for products: launched again, it must not share one with products
 * that run on another stream meanwhile. */
#include "harness/device/cuda/cuda_gemm.h"

#include <stdlib.h>

struct cuda_graph {
    struct graph base;
    cudaGraphExec_t exec;
    void *workspace; /* of its products */
    uint32_t stream; /* the id of that of its last launch, which ends after all others; 0: none */
    pthread_mutex_t lock; /* CUDA's graph objects are not safe to use from several threads */
};

struct cuda_capture {
    struct capture base;
    struct cuda_stream *stream;
    void *workspace;
};

/* During a capture of its own a thread may not call what CUDA deems unsafe for it, unless the mode
 * is relaxed. Calls here know that theirs are safe. */
struct relaxed cuda_capture_relax(void)
{
    struct relaxed relaxed = { false, cudaStreamCaptureModeRelaxed };

    if (capture_is_open())
        relaxed.changed = cudaThreadExchangeStreamCaptureMode(&relaxed.mode) == cudaSuccess;
    return relaxed;
}

void cuda_capture_restore(struct relaxed relaxed)
{
    if (relaxed.changed)
        cudaThreadExchangeStreamCaptureMode(&relaxed.mode);
}

static struct cuda_capture *capture_of(const struct cuda_stream *stream)
{
    return (struct cuda_capture *)atomic_load(&stream->capture);
}

void *cuda_capture_workspace(const struct cuda_stream *stream)
{
    const struct cuda_capture *capture = capture_of(stream);

    return capture != NULL ? capture->workspace : NULL;
}

static struct cuda_gemms *gemms_of(const struct cuda_stream *stream)
{
    return ((struct cuda_device *)stream->base.device)->gemms;
}

enum status cuda_graph_begin(struct stream *base)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct relaxed relaxed = { false, cudaStreamCaptureModeRelaxed };
    struct cuda_capture *capture = NULL;

    TRY_OUT(cuda_enter((struct cuda_device *)base->device));
    TRY_OUT(capture_may_begin(&stream->capture, stream->id));
    capture = calloc(1, sizeof *capture);
    if (capture == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a capture (%zu bytes)", sizeof *capture);
    capture->stream = stream;
    relaxed = cuda_capture_relax();
    TRY_OUT(gemm_workspace_take(gemms_of(stream), &capture->workspace));
    cuda_capture_restore(relaxed);
    relaxed.changed = false;
    /* Thread-local: calls of other threads, such as the loader's, are no concern of this
     * capture. */
    CUDA_OUT(cudaStreamBeginCapture(stream->handle, cudaStreamCaptureModeThreadLocal));
    capture_begin(&capture->base, &stream->capture);

out:
    cuda_capture_restore(relaxed);
    if (status != STATUS_OK && capture != NULL) {
        gemm_workspace_close(gemms_of(stream), capture->workspace);
        free(capture);
    }
    return status;
}

/* Ends the capture: takes it off its stream and its thread's list. *recorded is the graph, or
 * NULL. */
static cudaError_t end(struct cuda_capture *capture, cudaGraph_t *recorded)
{
    cudaError_t error = cudaStreamEndCapture(capture->stream->handle, recorded);

    capture_end(&capture->base);
    if (error != cudaSuccess)
        *recorded = NULL;
    return error;
}

static void drop(struct cuda_capture *capture, cudaGraph_t recorded)
{
    struct relaxed relaxed =
        cuda_capture_relax(); /* The thread may still capture another stream. */

    gemm_workspace_close(gemms_of(capture->stream), capture->workspace);
    if (recorded != NULL)
        cudaGraphDestroy(recorded);
    (void)cudaGetLastError();
    cuda_capture_restore(relaxed);
    free(capture);
}

void cuda_capture_abandon(struct cuda_stream *stream)
{
    struct cuda_capture *capture = capture_of(stream);
    cudaGraph_t recorded = NULL;

    if (capture == NULL)
        return;
    end(capture, &recorded);
    drop(capture, recorded);
}

/* On success `graph` owns the workspace of the capture. */
static enum status instantiate(struct cuda_graph *graph, const struct cuda_capture *capture,
                               cudaGraph_t recorded)
{
    enum status status = STATUS_OK;
    struct relaxed relaxed = cuda_capture_relax();
    size_t nodes;

    CUDA_OUT(cudaGraphGetNodes(recorded, NULL, &nodes));
    graph->base.nodes = (int)nodes;
    CUDA_OUT(cudaGraphInstantiate(&graph->exec, recorded, 0));
    /* Now, and not at the first launch, which may be timed. */
    CUDA_OUT(cudaGraphUpload(graph->exec, capture->stream->handle));
    graph->workspace = capture->workspace;

out:
    cuda_capture_restore(relaxed);
    return status;
}

enum status cuda_graph_end(struct stream *base, struct graph **result)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_capture *capture = NULL;
    struct cuda_graph *graph = NULL;
    cudaGraph_t recorded = NULL;
    cudaError_t error;

    *result = NULL;
    TRY_OUT(cuda_enter((struct cuda_device *)base->device));
    TRY_OUT(capture_may_end(&stream->capture, stream->id));
    capture = capture_of(stream);
    error = end(capture, &recorded);
    TRY_OUT(capture_check(&capture->base, stream->id));
    TRY_OUT(errors_check(error, "cudaStreamEndCapture", __FILE__, __LINE__));
    graph = calloc(1, sizeof *graph);
    if (graph == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a graph (%zu bytes)", sizeof *graph);
    graph->base.device = base->device;
    pthread_mutex_init(&graph->lock, NULL);
    TRY_OUT(instantiate(graph, capture, recorded));
    capture->workspace = NULL;
    *result = &graph->base;

out:
    if (capture != NULL)
        drop(capture, recorded);
    if (status != STATUS_OK && graph != NULL)
        cuda_graph_destroy(&graph->base);
    return status;
}

enum status cuda_graph_launch(struct stream *base, struct graph *graph_base)
{
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_graph *graph = (struct cuda_graph *)graph_base;
    cudaError_t error;

    TRY(cuda_enter((struct cuda_device *)base->device));
    TRY(capture_forbids(&stream->capture, "launching a graph on the stream"));
    pthread_mutex_lock(&graph->lock);
    error = cudaGraphLaunch(graph->exec, stream->handle);
    /* Its workspace may be used again when this stream is idle. */
    graph->stream = stream->id;
    pthread_mutex_unlock(&graph->lock);
    TRY(errors_check(error, "cudaGraphLaunch", __FILE__, __LINE__));

    return STATUS_OK;
}

/* CUDA frees a running graph once it is done. */
void cuda_graph_destroy(struct graph *base)
{
    struct cuda_graph *graph = (struct cuda_graph *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;
    struct relaxed relaxed;

    if (cuda_enter(device) == STATUS_OK) {
        relaxed = cuda_capture_relax();
        if (graph->exec != NULL && cudaGraphExecDestroy(graph->exec) != cudaSuccess)
            (void)cudaGetLastError();
        gemm_workspace_retire(device->gemms, graph->workspace, graph->stream);
        cuda_capture_restore(relaxed);
    }
    pthread_mutex_destroy(&graph->lock);
    free(graph);
}
