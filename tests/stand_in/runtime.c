/* The runtime's part of the stand-in. One lock and one condition serve everything: this is about who
 * waits for what, not about speed. */
#include "tests/stand_in/stand_in.h"

#include "harness/device/cuda/gpu.h"
#include "harness/device/cuda/kernels.h"
#include "harness/status/clock.h"
#include "kernels/kernels.h"

#include <cupti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPU_MEMORY = 1 << 30, ALIGNMENT = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Under the lock. */
static cudaError_t lost; /* the error of a kernel, for good */
static size_t in_use;    /* of the GPU's memory, the pools' included */
static struct CUstream_st *streams;
static struct block *blocks;
static uint32_t last_stream = STAND_IN_FIRST_STREAM, last_graph;

static _Thread_local cudaError_t last;
static _Thread_local struct recording *recordings; /* this thread's captures */
static _Thread_local enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;

struct CUstream_st {
    uint32_t id;
    pthread_t thread;
    struct operation *first, *last;
    long submitted, done;
    bool closing;
    struct CUstream_st *next;
    struct recording *recording;
};

struct CUevent_st {
    int references;
    bool timing;
    long recorded, reached;
    int64_t time_ns;
};

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
    bool running;
    struct operation *nodes;
    size_t count;
};

struct block {
    char *address;
    size_t bytes;
    struct CUmemPoolHandle_st *pool; /* NULL: not stream-ordered */
    bool pinned, free;
    struct CUstream_st *stream; /* of the free, and how much of its work comes before */
    long after;
    struct block *next;
};

struct CUmemPoolHandle_st {
    size_t reserved;
    uint64_t threshold;
};

static cudaError_t result(cudaError_t error)
{
    if (error != cudaSuccess)
        last = error;
    return error;
}

/* Of a call under the lock: what it returns, unless the process has lost its GPU. */
static cudaError_t leave(cudaError_t error)
{
    if (lost != cudaSuccess)
        error = lost;
    pthread_mutex_unlock(&lock);
    return result(error);
}

/* A call that stream capture calls unsafe: it ends the validity of this thread's captures. */
static bool is_unsafe_now(void)
{
    if (recordings == NULL || mode == cudaStreamCaptureModeRelaxed)
        return false;
    for (struct recording *r = recordings; r != NULL; r = r->next) r->invalid = true;
    return true;
}

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

/* Streams -------------------------------------------------------------------------------------- */

/* `work` says what is told of it; its times are set here. */
static cudaError_t run_and_tell(struct operation *operation, struct stand_in_work *work)
{
    cudaError_t error;

    work->start_ns = clock_ns();
    error = operation->run(operation);
    work->end_ns = clock_ns();
    stand_in_tell(work);
    return error;
}

static void *work(void *argument)
{
    struct CUstream_st *stream = argument;

    pthread_mutex_lock(&lock);
    for (;;) {
        struct operation *operation = stream->first;
        cudaError_t error;
        if (operation == NULL && stream->closing)
            break;
        if (operation == NULL) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        stream->first = operation->next;
        pthread_mutex_unlock(&lock);
        error = run_and_tell(operation, &operation->work);
        free(operation->owned);
        free(operation);
        pthread_mutex_lock(&lock);
        if (lost == cudaSuccess)
            lost = error;
        stream->done++;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Under the lock. */
static void wait_until(struct CUstream_st *stream, long number)
{
    while (stream->done < number) pthread_cond_wait(&changed, &lock);
}

/* Under the lock; takes over `operation->owned`. */
static void enqueue(struct CUstream_st *stream, const struct operation *operation)
{
    struct operation *queued = must(malloc(sizeof *queued));

    *queued = *operation;
    queued->next = NULL;
    if (stream->first == NULL)
        stream->first = queued;
    else
        stream->last->next = queued;
    stream->last = queued;
    stream->submitted++;
    pthread_cond_broadcast(&changed);
}

static void record_node(struct CUgraph_st *graph, const struct operation *operation)
{
    graph->nodes = must(realloc(graph->nodes, (graph->count + 1) * sizeof *graph->nodes));
    graph->nodes[graph->count++] = *operation;
}

cudaError_t stand_in_submit(cudaStream_t stream, const struct operation *operation)
{
    struct operation told = *operation;

    told.work.correlation = stand_in_correlation();
    told.work.stream = stream->id;
    pthread_mutex_lock(&lock);
    if (stream->recording == NULL)
        enqueue(stream, &told);
    else
        record_node(stream->recording->graph, &told);
    return leave(cudaSuccess);
}

uint32_t stand_in_stream_id(cudaStream_t stream)
{
    return stream->id;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    pthread_mutex_lock(&lock);
    if (lost != cudaSuccess || flags != cudaStreamNonBlocking)
        return leave(cudaErrorInvalidValue);
    *stream = must(calloc(1, sizeof **stream));
    (*stream)->id = last_stream++;
    (*stream)->next = streams;
    streams = *stream;
    if (pthread_create(&(*stream)->thread, NULL, work, *stream) != 0)
        abort();
    return leave(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (stream->recording != NULL)
        abort();
    pthread_mutex_lock(&lock);
    for (struct CUstream_st **link = &streams; *link != NULL; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    for (struct block *block = blocks; block != NULL; block = block->next)
        if (block->stream == stream)
            block->stream = NULL;
    stream->closing = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(stream->thread, NULL);
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    pthread_mutex_lock(&lock);
    if (stream->recording != NULL) {
        stream->recording->invalid = true;
        return leave(cudaErrorStreamCaptureUnsupported);
    }
    if (is_unsafe_now())
        return leave(cudaErrorStreamCaptureUnsupported);
    wait_until(stream, stream->submitted);
    return leave(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    pthread_mutex_lock(&lock);
    return leave(stream->done < stream->submitted ? cudaErrorNotReady : cudaSuccess);
}

/* Under the lock. */
static void wait_for_all(void)
{
    for (struct CUstream_st *stream = streams; stream != NULL; stream = stream->next)
        wait_until(stream, stream->submitted);
}

cudaError_t cudaDeviceSynchronize(void)
{
    pthread_mutex_lock(&lock);
    if (is_unsafe_now())
        return leave(cudaErrorStreamCaptureUnsupported);
    wait_for_all();
    return leave(cudaSuccess);
}

/* Events --------------------------------------------------------------------------------------- */

/* Under the lock. */
static void release_event(struct CUevent_st *event)
{
    if (--event->references == 0)
        free(event);
}

static cudaError_t run_record(struct operation *operation)
{
    struct CUevent_st *event = operation->event.event;

    pthread_mutex_lock(&lock);
    if (event->reached < operation->event.number) {
        event->reached = operation->event.number;
        event->time_ns = clock_ns();
    }
    release_event(event);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

static cudaError_t run_wait(struct operation *operation)
{
    struct CUevent_st *event = operation->event.event;

    pthread_mutex_lock(&lock);
    while (event->reached < operation->event.number) pthread_cond_wait(&changed, &lock);
    release_event(event);
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    pthread_mutex_lock(&lock);
    if (lost != cudaSuccess)
        return leave(lost);
    *event = must(calloc(1, sizeof **event));
    (*event)->references = 1;
    (*event)->timing = !(flags & cudaEventDisableTiming);
    return leave(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    pthread_mutex_lock(&lock);
    release_event(event);
    return leave(cudaSuccess);
}

/* The stream must not be captured: the device forbids that, and recording would mean another thing. */
static cudaError_t put_event(cudaStream_t stream, cudaEvent_t event,
                             cudaError_t (*run)(struct operation *))
{
    struct operation operation = { .run = run };

    pthread_mutex_lock(&lock);
    if (stream->recording != NULL)
        return leave(cudaErrorStreamCaptureIsolation);
    if (run == run_record)
        event->recorded++;
    event->references++;
    operation.event.event = event;
    operation.event.number = event->recorded;
    enqueue(stream, &operation);
    return leave(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return put_event(stream, event, run_record);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    return put_event(stream, event, run_wait);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    long number;

    pthread_mutex_lock(&lock);
    if (is_unsafe_now())
        return leave(cudaErrorStreamCaptureUnsupported);
    for (number = event->recorded; event->reached < number;) pthread_cond_wait(&changed, &lock);
    return leave(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    pthread_mutex_lock(&lock);
    if (is_unsafe_now())
        return leave(cudaErrorStreamCaptureUnsupported);
    return leave(event->reached < event->recorded ? cudaErrorNotReady : cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    pthread_mutex_lock(&lock);
    if (from->recorded == 0 || to->recorded == 0 || !from->timing || !to->timing)
        return leave(cudaErrorInvalidResourceHandle);
    if (from->reached < from->recorded || to->reached < to->recorded)
        return leave(cudaErrorNotReady);
    *ms = (float)((double)(to->time_ns - from->time_ns) / 1e6);
    return leave(cudaSuccess);
}

/* Memory --------------------------------------------------------------------------------------- */

/* Under the lock. */
static struct block *find_block(const void *address)
{
    for (struct block *block = blocks; block != NULL; block = block->next)
        if (block->address == address)
            return block;
    return NULL;
}

size_t stand_in_block_bytes(const void *address)
{
    const struct block *block;
    size_t bytes;

    pthread_mutex_lock(&lock);
    block = find_block(address);
    bytes = block != NULL ? block->bytes : 0;
    pthread_mutex_unlock(&lock);
    return bytes;
}

static bool is_pinned(const void *address)
{
    bool pinned = false;

    pthread_mutex_lock(&lock);
    for (struct block *block = blocks; block != NULL && !pinned; block = block->next)
        pinned = block->pinned && (const char *)address >= block->address &&
                 (const char *)address < block->address + block->bytes;
    pthread_mutex_unlock(&lock);
    return pinned;
}

static struct block *add_block(size_t bytes, struct CUmemPoolHandle_st *pool)
{
    struct block *block = must(calloc(1, sizeof *block));

    block->bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (posix_memalign((void **)&block->address, 4096, block->bytes) != 0)
        abort();
    block->pool = pool;
    block->next = blocks;
    blocks = block;
    return block;
}

static void drop_block(struct block *gone)
{
    for (struct block **link = &blocks; *link != NULL; link = &(*link)->next)
        if (*link == gone) {
            *link = gone->next;
            break;
        }
    if (!gone->pinned)
        in_use -= gone->bytes;
    if (gone->pool != NULL)
        gone->pool->reserved -= gone->bytes;
    free(gone->address);
    free(gone);
}

static bool has_room(size_t bytes)
{
    return bytes <= GPU_MEMORY - in_use;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    struct block *block;

    pthread_mutex_lock(&lock);
    if (is_unsafe_now())
        return leave(cudaErrorStreamCaptureUnsupported);
    if (lost != cudaSuccess || !has_room(bytes))
        return leave(cudaErrorMemoryAllocation);
    block = add_block(bytes, NULL);
    in_use += block->bytes;
    *memory = block->address;
    return leave(cudaSuccess);
}

cudaError_t cudaFree(void *memory)
{
    struct block *block;

    pthread_mutex_lock(&lock);
    if (is_unsafe_now())
        return leave(cudaErrorStreamCaptureUnsupported);
    wait_for_all();
    block = find_block(memory);
    if (block == NULL || block->pinned || block->free)
        return leave(cudaErrorInvalidValue);
    drop_block(block);
    return leave(cudaSuccess);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    struct block *block;

    (void)flags;
    pthread_mutex_lock(&lock);
    if (is_unsafe_now())
        return leave(cudaErrorStreamCaptureUnsupported);
    if (lost != cudaSuccess || bytes > GPU_MEMORY)
        return leave(cudaErrorMemoryAllocation);
    block = add_block(bytes, NULL);
    block->pinned = true;
    *memory = block->address;
    return leave(cudaSuccess);
}

cudaError_t cudaFreeHost(void *memory)
{
    struct block *block;

    pthread_mutex_lock(&lock);
    if (is_unsafe_now())
        return leave(cudaErrorStreamCaptureUnsupported);
    wait_for_all();
    block = find_block(memory);
    if (block == NULL || !block->pinned)
        return leave(cudaErrorInvalidValue);
    drop_block(block);
    return leave(cudaSuccess);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    pthread_mutex_lock(&lock);
    *free_bytes = GPU_MEMORY - in_use;
    *total = GPU_MEMORY;
    return leave(cudaSuccess);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    if (properties->location.type != cudaMemLocationTypeDevice)
        return result(cudaErrorInvalidValue);
    *pool = must(calloc(1, sizeof **pool));
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    if (attribute != cudaMemPoolAttrReleaseThreshold)
        return result(cudaErrorInvalidValue);
    memcpy(&pool->threshold, value, sizeof pool->threshold);
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    uint64_t reserved;

    if (attribute != cudaMemPoolAttrReservedMemCurrent)
        return result(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    if (is_unsafe_now())
        return leave(cudaErrorStreamCaptureUnsupported);
    reserved = pool->reserved;
    memcpy(value, &reserved, sizeof reserved);
    return leave(cudaSuccess);
}

/* Under the lock: drops what is free and no longer used. */
static void trim(struct CUmemPoolHandle_st *pool)
{
    for (struct block *block = blocks, *next; block != NULL; block = next) {
        next = block->next;
        if (block->pool == pool && block->free &&
            (block->stream == NULL || block->stream->done >= block->after))
            drop_block(block);
    }
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    if (keep != 0)
        return result(cudaErrorInvalidValue);
    pthread_mutex_lock(&lock);
    if (is_unsafe_now())
        return leave(cudaErrorStreamCaptureUnsupported);
    trim(pool);
    return leave(cudaSuccess);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    pthread_mutex_lock(&lock);
    wait_for_all();
    trim(pool);
    if (pool->reserved != 0) /* Somebody's memory would be left without a pool. */
        abort();
    pthread_mutex_unlock(&lock);
    free(pool);
    return result(cudaSuccess);
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream)
{
    struct block *block;

    pthread_mutex_lock(&lock);
    if (lost != cudaSuccess || stream->recording != NULL)
        return leave(cudaErrorNotSupported);
    for (block = blocks; block != NULL; block = block->next)
        if (block->pool == pool && block->free && block->bytes >= bytes &&
            (block->stream == stream || block->stream == NULL))
            break;
    if (block == NULL) {
        if (!has_room(bytes))
            return leave(cudaErrorMemoryAllocation);
        block = add_block(bytes, pool);
        in_use += block->bytes;
        pool->reserved += block->bytes;
    }
    block->free = false;
    *memory = block->address;
    return leave(cudaSuccess);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    struct block *block;

    pthread_mutex_lock(&lock);
    block = find_block(memory);
    if (block == NULL || block->pool == NULL || block->free || stream->recording != NULL)
        return leave(cudaErrorInvalidValue);
    block->free = true;
    block->stream = stream;
    block->after = stream->submitted;
    return leave(cudaSuccess);
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
    return result(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

/* Copies, memsets, kernels ---------------------------------------------------------------------- */

static bool is_lost(void)
{
    bool now;

    pthread_mutex_lock(&lock);
    now = lost != cudaSuccess;
    pthread_mutex_unlock(&lock);
    return now;
}

static cudaError_t run_copy(struct operation *operation)
{
    if (!is_lost())
        memmove(operation->copy.to, operation->copy.from, operation->copy.bytes);
    return cudaSuccess;
}

static struct stand_in_work copy_work(enum cudaMemcpyKind kind, size_t bytes, bool pageable)
{
    uint8_t host =
        pageable ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    struct stand_in_work work = { .kind = STAND_IN_COPY,
                                  .bytes = bytes,
                                  .asynchronous = true,
                                  .copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
                                  .source = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                  .destination = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE };

    if (kind == cudaMemcpyHostToDevice) {
        work.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
        work.source = host;
    } else if (kind == cudaMemcpyDeviceToHost) {
        work.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
        work.destination = host;
    }
    return work;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    struct operation operation = { .run = run_copy };
    bool staged = kind == cudaMemcpyHostToDevice && !is_pinned(from);
    bool waits = kind == cudaMemcpyDeviceToHost && !is_pinned(to);
    cudaError_t error;

    operation.copy.to = to;
    operation.copy.from = from;
    operation.copy.bytes = bytes;
    operation.work = copy_work(kind, bytes, staged || waits);
    if (staged) {
        operation.owned = memcpy(must(malloc(bytes)), from, bytes);
        operation.copy.from = operation.owned;
    }
    error = stand_in_submit(stream, &operation);
    if (!waits || error != cudaSuccess)
        return error;
    pthread_mutex_lock(&lock);
    wait_until(stream, stream->submitted);
    return leave(cudaSuccess);
}

static cudaError_t run_memset(struct operation *operation)
{
    if (!is_lost())
        memset(operation->copy.to, operation->copy.byte, operation->copy.bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes, cudaStream_t stream)
{
    struct operation operation = { .run = run_memset };

    operation.copy.to = memory;
    operation.copy.byte = byte;
    operation.copy.bytes = bytes;
    operation.work = (struct stand_in_work){ .kind = STAND_IN_MEMSET,
                                             .bytes = bytes,
                                             .asynchronous = true,
                                             .destination = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE };
    return stand_in_submit(stream, &operation);
}

typedef void cpu_kernel(const void *arguments, long first, long last);
#define DECLARE(name, shape) cpu_kernel name##_f32, name##_bf16;
KERNELS(DECLARE)
#undef DECLARE

struct kernel_entry {
    cpu_kernel *function;
    size_t size;
    const char *name;
};
static const struct kernel_entry entries_f32[] = {
#define ROW(name, shape) { name##_f32, sizeof(struct name), #name "_f32" },
    KERNELS(ROW)
#undef ROW
};
static const struct kernel_entry entries_bf16[] = {
#define ROW(name, shape) { name##_bf16, sizeof(struct name), #name "_bf16" },
    KERNELS(ROW)
#undef ROW
};
static const struct kernel_entry empty = { .name = "empty" }, failing = { .name = "failing" };
const void *const cuda_kernels_f32[] = {
#define ROW(name, shape) &entries_f32[KERNEL_##name],
    KERNELS(ROW)
#undef ROW
};
const void *const cuda_kernels_bf16[] = {
#define ROW(name, shape) &entries_bf16[KERNEL_##name],
    KERNELS(ROW)
#undef ROW
};
const void *const cuda_kernel_empty = &empty;
const void *const cuda_kernel_failing = &failing;

static cudaError_t run_kernel(struct operation *operation)
{
    if (operation->kernel.function != NULL && !is_lost())
        operation->kernel.function(operation->kernel.arguments, 0, operation->kernel.count);
    return cudaSuccess;
}

static cudaError_t run_failing_kernel(struct operation *operation)
{
    (void)operation;
    return cudaErrorLaunchFailure;
}

cudaError_t cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block,
                             void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    const struct kernel_entry *entry = kernel;
    struct operation operation = { .run = entry == &failing ? run_failing_kernel : run_kernel };

    if (grid.x < 1 || grid.y != 1 || grid.z != 1 || block.x < 1 || block.x > 1024 ||
        shared_bytes != 0)
        return result(cudaErrorInvalidConfiguration);
    operation.work = (struct stand_in_work){
        .kind = STAND_IN_KERNEL, .name = entry->name, .grid = grid.x, .block = block.x
    };
    if (entry->function != NULL) {
        operation.kernel.function = entry->function;
        memcpy(operation.kernel.arguments, arguments[0], entry->size);
        operation.kernel.count = *(const long *)arguments[1];
    }
    return stand_in_submit(stream, &operation);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
    (void)kernel;
    *attributes = (struct cudaFuncAttributes){ .maxThreadsPerBlock = 1024, .binaryVersion = 80 };
    return result(cudaSuccess);
}

/* Graphs --------------------------------------------------------------------------------------- */

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

    pthread_mutex_lock(&lock);
    if (lost != cudaSuccess || stream->recording != NULL ||
        capture_mode != cudaStreamCaptureModeThreadLocal)
        return leave(cudaErrorIllegalState);
    recording = must(calloc(1, sizeof *recording));
    recording->graph = must(calloc(1, sizeof *recording->graph));
    recording->thread = pthread_self();
    recording->next = recordings;
    recordings = recording;
    stream->recording = recording;
    return leave(cudaSuccess);
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
    pthread_mutex_lock(&lock);
    recording = stream->recording;
    if (recording == NULL || !pthread_equal(recording->thread, pthread_self()))
        return leave(cudaErrorStreamCaptureWrongThread);
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
    return leave(invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
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
    pthread_mutex_lock(&lock);
    if (lost != cudaSuccess)
        return leave(lost);
    *exec = must(calloc(1, sizeof **exec));
    (*exec)->references = 1;
    (*exec)->id = ++last_graph;
    (*exec)->count = graph->count;
    (*exec)->nodes = must(calloc(graph->count + 1, sizeof *graph->nodes));
    for (size_t i = 0; i < graph->count; i++) (*exec)->nodes[i] = graph->nodes[i];
    return leave(cudaSuccess);
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

    pthread_mutex_lock(&lock);
    while (exec->running) pthread_cond_wait(&changed, &lock);
    exec->running = true;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < exec->count && error == cudaSuccess; i++) {
        struct stand_in_work work = exec->nodes[i].work;
        work.correlation = operation->work.correlation;
        work.stream = operation->work.stream;
        work.graph = exec->id;
        work.node = (uint32_t)i + 1;
        error = run_and_tell(&exec->nodes[i], &work);
    }
    pthread_mutex_lock(&lock);
    exec->running = false;
    release_exec(exec);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    struct operation operation = { .run = run_graph };

    pthread_mutex_lock(&lock);
    exec->references++;
    pthread_mutex_unlock(&lock);
    operation.graph.exec = exec;
    return stand_in_submit(stream, &operation);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    pthread_mutex_lock(&lock);
    release_exec(exec);
    return leave(cudaSuccess);
}

/* The GPU -------------------------------------------------------------------------------------- */

void gpu_look(struct gpu_found *found, int index)
{
    *found = (struct gpu_found){ .driver_version = 13000,
                                 .count = index + 1,
                                 .name = "stand-in for a GPU",
                                 .compute_capability = 80 };
}

enum status gpu_verdict(const struct gpu_found *found, int index)
{
    (void)found;
    (void)index;
    return lost == cudaSuccess ? STATUS_OK
                               : status_fail(STATUS_DEVICE_ERROR, __FILE__, __LINE__, "lost");
}

cudaError_t cudaSetDevice(int device)
{
    return result(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    properties->totalGlobalMem = GPU_MEMORY;
    properties->multiProcessorCount = 1;
    properties->warpSize = 32;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    *value = attribute == cudaDevAttrMemoryPoolsSupported;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;

    last = cudaSuccess;
    return error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorLaunchFailure ? "cudaErrorLaunchFailure" : "cudaErrorOfTheStandIn";
}

const char *cudaGetErrorString(cudaError_t error)
{
    static _Thread_local char text[32];

    snprintf(text, sizeof text, "error %d", (int)error);
    return text;
}
