/* Graphs by stream capture.
 *
 * What a capture allows is decided here before CUDA is asked, by the rules of device.h, which are
 * narrower than CUDA's: a call that they forbid ends the capture's validity in the same way on every
 * device. A capture belongs to the thread that began it; the thread's captures are a list, because
 * calls that are unsafe during any of them invalidate them all. */
#include "harness/device/cuda/gemm.h"

#include <stdlib.h>

struct cuda_graph {
    struct graph base;
    cudaGraphExec_t exec;
    void *workspace;      /* of its products */
    pthread_mutex_t lock; /* CUDA's graph objects are not safe to use from several threads */
};

struct capture {
    struct cuda_stream *stream;
    struct capture *next; /* of this thread's */
    pthread_t thread;
    atomic_bool invalid;
    void *workspace;
};

static _Thread_local struct capture *captures;

struct relaxed capture_relax(void)
{
    struct relaxed relaxed = { false, cudaStreamCaptureModeRelaxed };

    if (captures != NULL)
        relaxed.changed = cudaThreadExchangeStreamCaptureMode(&relaxed.mode) == cudaSuccess;
    return relaxed;
}

void capture_restore(struct relaxed relaxed)
{
    if (relaxed.changed)
        cudaThreadExchangeStreamCaptureMode(&relaxed.mode);
}

enum status capture_forbids(struct cuda_stream *stream, const char *call)
{
    enum status status = STATUS_OK;
    struct capture *capture = atomic_load(&stream->capture);

    if (capture != NULL) {
        atomic_store(&capture->invalid, true);
        FAIL(STATUS_CAPTURE,
             "%s is not possible while it is captured into a graph; do it before or after the "
             "capture",
             call);
    }

out:
    return status;
}

enum status capture_forbids_thread(const char *call)
{
    enum status status = STATUS_OK;

    for (struct capture *capture = captures; capture != NULL; capture = capture->next)
        atomic_store(&capture->invalid, true);
    if (captures != NULL)
        FAIL(STATUS_CAPTURE,
             "%s is not possible while this thread captures a graph; do it before or after the "
             "capture",
             call);

out:
    return status;
}

enum status capture_allows(struct cuda_stream *stream)
{
    enum status status = STATUS_OK;
    struct capture *capture = atomic_load(&stream->capture);

    if (capture != NULL && !pthread_equal(capture->thread, pthread_self())) {
        atomic_store(&capture->invalid, true);
        FAIL(STATUS_CAPTURE, "stream %u is being captured by another thread", stream->id);
    }

out:
    return status;
}

void *capture_workspace(const struct cuda_stream *stream)
{
    const struct capture *capture = atomic_load(&stream->capture);

    return capture != NULL ? capture->workspace : NULL;
}

static struct gemms *gemms_of(const struct cuda_stream *stream)
{
    return ((struct cuda_device *)stream->base.device)->gemms;
}

enum status cuda_graph_begin(struct stream *base)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct relaxed relaxed = { false, cudaStreamCaptureModeRelaxed };
    struct capture *capture = NULL;

    TRY(cuda_enter((struct cuda_device *)base->device));
    if (atomic_load(&stream->capture) != NULL)
        FAIL(STATUS_CAPTURE, "stream %u is being captured already; end that capture first",
             stream->id);
    capture = calloc(1, sizeof *capture);
    if (capture == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for a capture (%zu bytes)", sizeof *capture);
    capture->stream = stream;
    capture->thread = pthread_self();
    relaxed = capture_relax();
    TRY(gemm_workspace_open(gemms_of(stream), &capture->workspace));
    capture_restore(relaxed);
    relaxed.changed = false;
    CUDA(cudaStreamBeginCapture(stream->handle, cudaStreamCaptureModeThreadLocal));
    capture->next = captures;
    captures = capture;
    atomic_store(&stream->capture, capture);

out:
    capture_restore(relaxed);
    if (status != STATUS_OK && capture != NULL) {
        gemm_workspace_close(gemms_of(stream), capture->workspace);
        free(capture);
    }
    return status;
}

/* Ends the capture: off its stream and its thread's list. What was recorded comes back, or NULL. */
static cudaError_t end(struct capture *capture, cudaGraph_t *recorded)
{
    cudaError_t error = cudaStreamEndCapture(capture->stream->handle, recorded);

    for (struct capture **link = &captures; *link != NULL; link = &(*link)->next)
        if (*link == capture) {
            *link = capture->next;
            break;
        }
    atomic_store(&capture->stream->capture, NULL);
    if (error != cudaSuccess)
        *recorded = NULL;
    return error;
}

static void drop(struct capture *capture, cudaGraph_t recorded)
{
    struct relaxed relaxed =
        capture_relax(); /* The thread may be capturing another stream still. */

    gemm_workspace_close(gemms_of(capture->stream), capture->workspace);
    if (recorded != NULL)
        cudaGraphDestroy(recorded);
    (void)cudaGetLastError();
    capture_restore(relaxed);
    free(capture);
}

void capture_abandon(struct cuda_stream *stream)
{
    struct capture *capture = atomic_load(&stream->capture);
    cudaGraph_t recorded = NULL;

    if (capture == NULL)
        return;
    end(capture, &recorded);
    drop(capture, recorded);
}

/* On success `graph` owns the workspace of the capture. */
static enum status instantiate(struct cuda_graph *graph, const struct capture *capture,
                               cudaGraph_t recorded)
{
    enum status status = STATUS_OK;
    struct relaxed relaxed = capture_relax();
    size_t nodes;

    CUDA(cudaGraphGetNodes(recorded, NULL, &nodes));
    graph->base.nodes = (int)nodes;
    CUDA(cudaGraphInstantiate(&graph->exec, recorded, 0));
    CUDA(cudaGraphUpload(graph->exec, capture->stream->handle));
    graph->workspace = capture->workspace;

out:
    capture_restore(relaxed);
    return status;
}

enum status cuda_graph_end(struct stream *base, struct graph **result)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct capture *capture = atomic_load(&stream->capture);
    struct cuda_graph *graph = NULL;
    cudaGraph_t recorded = NULL;
    cudaError_t error;

    *result = NULL;
    TRY(cuda_enter((struct cuda_device *)base->device));
    if (capture == NULL)
        FAIL(STATUS_CAPTURE, "stream %u is not being captured; begin a capture first", stream->id);
    if (!pthread_equal(capture->thread, pthread_self())) {
        capture = NULL;
        FAIL(STATUS_CAPTURE, "stream %u is being captured by another thread, which must end it",
             stream->id);
    }
    error = end(capture, &recorded);
    if (atomic_load(&capture->invalid))
        FAIL(STATUS_CAPTURE,
             "the capture of stream %u came to nothing: a call in its middle was not allowed there",
             stream->id);
    TRY(errors_check(error, "cudaStreamEndCapture", __FILE__, __LINE__));
    graph = calloc(1, sizeof *graph);
    if (graph == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for a graph (%zu bytes)", sizeof *graph);
    graph->base.device = base->device;
    pthread_mutex_init(&graph->lock, NULL);
    TRY(instantiate(graph, capture, recorded));
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
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_graph *graph = (struct cuda_graph *)graph_base;
    cudaError_t error;

    TRY(cuda_enter((struct cuda_device *)base->device));
    TRY(capture_forbids(stream, "launching a graph on the stream"));
    pthread_mutex_lock(&graph->lock);
    error = cudaGraphLaunch(graph->exec, stream->handle);
    pthread_mutex_unlock(&graph->lock);
    TRY(errors_check(error, "cudaGraphLaunch", __FILE__, __LINE__));

out:
    return status;
}

/* One that is still running is freed by CUDA when it is not any more. */
void cuda_graph_destroy(struct graph *base)
{
    struct cuda_graph *graph = (struct cuda_graph *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;
    struct relaxed relaxed;

    if (cuda_enter(device) == STATUS_OK) {
        relaxed = capture_relax();
        if (graph->exec != NULL && cudaGraphExecDestroy(graph->exec) != cudaSuccess)
            (void)cudaGetLastError();
        gemm_workspace_retire(device->gemms, graph->workspace);
        capture_restore(relaxed);
    }
    pthread_mutex_destroy(&graph->lock);
    free(graph);
}
