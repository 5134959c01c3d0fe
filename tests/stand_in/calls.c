/* The calls of the stand-in, as the device makes them: the linker turns each into the one here
 * (--wrap), which tells the listener, if there is one, and passes it on. */
#include "tests/stand_in/stand_in.h"

#include "harness/base/clock.h"

#include <cupti.h>
#include <stdatomic.h>
#include <unistd.h>

static _Atomic(const struct stand_in_listener *) listening;
static atomic_uint last_correlation;
static _Thread_local uint32_t current;

__attribute__((visibility("default"))) stand_in_listen_fn stand_in_listen;

void stand_in_listen(const struct stand_in_listener *listener)
{
    atomic_store(&listening, listener);
}

uint32_t stand_in_correlation(void)
{
    return current;
}

void stand_in_tell(const struct stand_in_work *work)
{
    const struct stand_in_listener *listener = atomic_load(&listening);

    if (listener != NULL && work->kind != STAND_IN_NOTHING)
        listener->work(work);
}

struct stand_in_call stand_in_begin(const char *name, bool driver)
{
    struct stand_in_call call = { .name = name, .driver = driver };

    if (atomic_load(&listening) == NULL)
        return call;
    current = call.correlation = atomic_fetch_add(&last_correlation, 1) + 1;
    call.thread = (uint32_t)gettid();
    call.start_ns = clock_ns();
    return call;
}

void stand_in_end(struct stand_in_call *call)
{
    const struct stand_in_listener *listener = atomic_load(&listening);

    current = 0;
    if (listener == NULL || call->correlation == 0)
        return;
    call->end_ns = clock_ns();
    listener->call(call);
}

/* A launch, which is one of the driver's inside. */
static void end_launch(struct stand_in_call *call)
{
    struct stand_in_call inner = *call;

    inner.name = "cuLaunchKernel";
    inner.driver = true;
    stand_in_end(&inner);
    stand_in_end(call);
}

static void end_wait(struct stand_in_call *call, int type, uint32_t stream)
{
    const struct stand_in_listener *listener = atomic_load(&listening);

    stand_in_end(call);
    if (listener != NULL && call->correlation != 0)
        listener->wait(type, stream, call);
}

static void end_memory(struct stand_in_call *call, struct stand_in_memory memory)
{
    const struct stand_in_listener *listener = atomic_load(&listening);

    stand_in_end(call);
    memory.correlation = call->correlation;
    memory.at_ns = call->start_ns;
    if (listener != NULL && call->correlation != 0)
        listener->memory(&memory);
}

/* `after` has the call's result as `error`. */
#define WRAP_AND(name, parameters, arguments, after)                                               \
    cudaError_t __real_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters                                                           \
    {                                                                                              \
        struct stand_in_call call = stand_in_begin(#name, false);                                  \
        cudaError_t error = __real_##name arguments;                                               \
        after;                                                                                     \
        return error;                                                                              \
    }
#define WRAP(name, parameters, arguments) WRAP_AND(name, parameters, arguments, stand_in_end(&call))

WRAP_AND(cudaLaunchKernel,
         (const void *kernel, struct dim3 grid, struct dim3 block, void **list, size_t shared,
          cudaStream_t stream),
         (kernel, grid, block, list, shared, stream), end_launch(&call))
WRAP(cudaMemcpyAsync,
     (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
     (to, from, bytes, kind, stream))
WRAP(cudaMemsetAsync, (void *memory, int byte, size_t bytes, cudaStream_t stream),
     (memory, byte, bytes, stream))
WRAP(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
WRAP(cudaGraphInstantiate, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
     (exec, graph, flags))
WRAP(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream))
WRAP(cudaGraphExecDestroy, (cudaGraphExec_t exec), (exec))
WRAP(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode), (stream, mode))
WRAP(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph), (stream, graph))
WRAP(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
WRAP(cudaStreamDestroy, (cudaStream_t stream), (stream))
WRAP(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
     (stream, event, flags))
WRAP(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
WRAP(cudaEventDestroy, (cudaEvent_t event), (event))
WRAP(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
WRAP(cudaEventQuery, (cudaEvent_t event), (event))
WRAP(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), (pool, keep))
WRAP(cudaGetDeviceProperties, (struct cudaDeviceProp * properties, int device),
     (properties, device)) /* which nobody wants in a trace */

WRAP_AND(cudaStreamSynchronize, (cudaStream_t stream), (stream),
         end_wait(&call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
                  stand_in_stream_id(stream)))
WRAP_AND(cudaEventSynchronize, (cudaEvent_t event), (event),
         end_wait(&call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
                  (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE))
WRAP_AND(cudaDeviceSynchronize, (void), (),
         end_wait(&call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE,
                  (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE))

static void end_alloc(struct stand_in_call *call, cudaError_t error, void **memory, size_t bytes,
                      bool pinned, bool ordered)
{
    if (error != cudaSuccess) {
        stand_in_end(call);
        return;
    }
    end_memory(call, (struct stand_in_memory){ .allocated = true,
                                               .ordered = ordered,
                                               .kind = pinned ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED
                                                              : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                               .address = *memory,
                                               .bytes = bytes });
}

WRAP_AND(cudaMalloc, (void **memory, size_t bytes), (memory, bytes),
         end_alloc(&call, error, memory, bytes, false, false))
WRAP_AND(cudaMallocFromPoolAsync,
         (void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
         (memory, bytes, pool, stream), end_alloc(&call, error, memory, bytes, false, true))
WRAP_AND(cudaHostAlloc, (void **memory, size_t bytes, unsigned flags), (memory, bytes, flags),
         end_alloc(&call, error, memory, bytes, true, false))

/* Their bytes are known only before the call. */
#define WRAP_FREE(name, parameters, arguments, is_pinned, is_ordered)                              \
    cudaError_t __real_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters                                                           \
    {                                                                                              \
        struct stand_in_memory gone = { .kind = is_pinned ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED      \
                                                          : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,     \
                                        .ordered = is_ordered,                                     \
                                        .address = memory,                                         \
                                        .bytes = stand_in_block_bytes(memory) };                   \
        struct stand_in_call call = stand_in_begin(#name, false);                                  \
        cudaError_t error = __real_##name arguments;                                               \
        end_memory(&call, gone);                                                                   \
        return error;                                                                              \
    }
WRAP_FREE(cudaFree, (void *memory), (memory), false, false)
WRAP_FREE(cudaFreeAsync, (void *memory, cudaStream_t stream), (memory, stream), false, true)
WRAP_FREE(cudaFreeHost, (void *memory), (memory), true, false)
