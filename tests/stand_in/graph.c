/* Graphs: what a stream is given while it is captured, and running that again. */
#include "tests/stand_in/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct recording {
    struct CUgraph_st *graph;
    bool invalid;
    pthread_t thread;
    struct recording *next;
};

struct CUgraph_st {
    struct operation *nodes;
    size_t count;
};

struct CUgraphExec_st {
    uint32_t id;
    int references;
    long launched, done;
    struct operation *nodes;
    size_t count;
    uint64_t before[SIMT_STREAMS]; /* what its last launch comes after, and that itself */
};

static uint32_t last_graph; /* under the lock */

static _Thread_local struct recording *recordings; /* this thread's captures */
static _Thread_local enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;

bool stand_in_is_unsafe(void)
{
    if (recordings == NULL || mode == cudaStreamCaptureModeRelaxed)
        return false;
    for (struct recording *r = recordings; r != NULL; r = r->next) r->invalid = true;
    return true;
}

void stand_in_spoil(struct recording *recording)
{
    recording->invalid = true;
}

void stand_in_record(struct recording *recording, const struct operation *operation)
{
    struct CUgraph_st *graph = recording->graph;

    graph->nodes = stand_in_must(realloc(graph->nodes, (graph->count + 1) * sizeof *graph->nodes));
    graph->nodes[graph->count++] = *operation;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *exchanged)
{
    enum cudaStreamCaptureMode before = mode;

    mode = *exchanged;
    *exchanged = before;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode capture_mode)
{
    struct recording *recording;

    stand_in_lock();
    if (stand_in_lost() != cudaSuccess || stream->recording != NULL ||
        capture_mode != cudaStreamCaptureModeThreadLocal)
        return stand_in_leave(cudaErrorIllegalState);
    recording = stand_in_must(calloc(1, sizeof *recording));
    recording->graph = stand_in_must(calloc(1, sizeof *recording->graph));
    recording->thread = pthread_self();
    recording->next = recordings;
    recordings = recording;
    stream->recording = recording;
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    for (size_t i = 0; i < graph->count; i++) free(graph->nodes[i].owned);
    free(graph->nodes);
    free(graph);
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    struct recording *recording;
    bool invalid;

    *graph = NULL;
    stand_in_lock();
    recording = stream->recording;
    if (recording == NULL || !pthread_equal(recording->thread, pthread_self()))
        return stand_in_leave(cudaErrorStreamCaptureWrongThread);
    for (struct recording **link = &recordings; *link != NULL; link = &(*link)->next)
        if (*link == recording) {
            *link = recording->next;
            break;
        }
    stream->recording = NULL;
    invalid = recording->invalid;
    *graph = recording->graph;
    free(recording);
    if (invalid) {
        cudaGraphDestroy(*graph);
        *graph = NULL;
    }
    return stand_in_leave(invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    (void)nodes;
    *count = graph->count;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    stand_in_lock();
    if (stand_in_lost() != cudaSuccess)
        return stand_in_leave(stand_in_lost());
    *exec = stand_in_must(calloc(1, sizeof **exec));
    (*exec)->references = 1;
    (*exec)->id = ++last_graph;
    (*exec)->count = graph->count;
    (*exec)->nodes = stand_in_must(calloc(graph->count + 1, sizeof *graph->nodes));
    for (size_t i = 0; i < graph->count; i++) (*exec)->nodes[i] = graph->nodes[i];
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    (void)exec;
    (void)stream;
    return cudaSuccess;
}

/* Under the lock. */
static void release_exec(struct CUgraphExec_st *exec)
{
    if (--exec->references > 0)
        return;
    free(exec->nodes);
    free(exec);
}

static cudaError_t run_graph(struct operation *operation)
{
    struct CUgraphExec_st *exec = operation->graph.exec;
    cudaError_t error = cudaSuccess;

    stand_in_lock();
    while (exec->done < operation->graph.number) stand_in_wait();
    stand_in_unlock();
    for (size_t i = 0; i < exec->count && error == cudaSuccess; i++) {
        struct stand_in_work work = exec->nodes[i].work;
        work.correlation = operation->work.correlation;
        work.stream = operation->work.stream;
        work.graph = exec->id;
        work.node = (uint32_t)i + 1;
        exec->nodes[i].order = operation->order;
        exec->nodes[i].order.number += i + 1;
        error = stand_in_run(&exec->nodes[i], &work);
    }
    stand_in_lock();
    exec->done++;
    release_exec(exec);
    stand_in_wake();
    stand_in_unlock();
    return error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    struct operation operation = { .run = run_graph };

    cudaError_t error;

    stand_in_lock();
    exec->references++;
    stand_in_follow(stream, exec->before); /* launches of one graph follow each other */
    operation.graph.number = exec->launched++;
    stand_in_unlock();
    operation.graph.exec = exec;
    operation.parts = exec->count;
    error = stand_in_submit(stream, &operation);
    stand_in_lock();
    memcpy(exec->before, stream->order.before, sizeof exec->before);
    for (size_t i = 0; i < exec->count; i++)
        stand_in_event_follow(&exec->nodes[i], stream->order.before);
    stand_in_unlock();
    return error;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    stand_in_lock();
    release_exec(exec);
    return stand_in_leave(cudaSuccess);
}
