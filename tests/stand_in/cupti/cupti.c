/* A library that the device takes for CUPTI. Loaded by the plugin that is the stand-in for CUDA, it
 * hears from that what is called and done, and makes CUPTI's records of it; in any other process it
 * has the functions and no records.
 *
 * It keeps CUPTI's rules as the headers have them: records only of kinds and calls that were
 * enabled, in buffers that the client gives, times of the client's clock where there is one, an id
 * for the system's thread where that was asked. Its callbacks come under its lock: a client that
 * calls back from them hangs.
 *
 * CHOKEPOINT_FAKE_CUPTI makes it fail: "NAME=NUMBER,...", where NAME is a function and NUMBER what
 * it returns ("subscribe" is any version of cuptiSubscribe), or
 *
 *     version=130001   what it says it is
 *     dropped=N        records that a flush says were dropped
 *     zeroed=N         every Nth kernel has no times
 *     cut=1            a flushed buffer ends in the middle of a record
 *     fatal=1          it gives up at the first flush
 *     late=1           a buffer is complete only when the client that unsubscribed reads the
 *                      others */
#include "tests/stand_in/cupti_newest.h"
#include "tests/stand_in/listener.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef VERSION
#define VERSION CUPTI_API_VERSION
#endif

/* clang-format off */
static const struct {
    CUpti_CallbackDomain domain;
    uint32_t id;
    const char *name;
} calls[] = {
#define RUNTIME(call, version) { CUPTI_CB_DOMAIN_RUNTIME_API, \
        CUPTI_RUNTIME_TRACE_CBID_##call##_v##version, #call "_v" #version },
    RUNTIME(cudaGetDevice, 3020) RUNTIME(cudaMalloc, 3020) RUNTIME(cudaFree, 3020)
    RUNTIME(cudaHostAlloc, 3020) RUNTIME(cudaFreeHost, 3020) RUNTIME(cudaMemcpyAsync, 3020)
    RUNTIME(cudaMemsetAsync, 3020) RUNTIME(cudaStreamDestroy, 3020)
    RUNTIME(cudaStreamSynchronize, 3020) RUNTIME(cudaEventCreateWithFlags, 3020)
    RUNTIME(cudaEventRecord, 3020) RUNTIME(cudaEventDestroy, 3020)
    RUNTIME(cudaEventSynchronize, 3020) RUNTIME(cudaEventQuery, 3020)
    RUNTIME(cudaStreamWaitEvent, 3020) RUNTIME(cudaDeviceSynchronize, 3020)
    RUNTIME(cudaStreamCreateWithFlags, 5000) RUNTIME(cudaStreamDestroy, 5050)
    RUNTIME(cudaLaunchKernel, 7000) RUNTIME(cudaGraphInstantiate, 12000)
    RUNTIME(cudaGraphLaunch, 10000) RUNTIME(cudaGraphExecDestroy, 10000)
    RUNTIME(cudaStreamBeginCapture, 10000) RUNTIME(cudaStreamEndCapture, 10000)
    RUNTIME(cudaGraphUpload, 10000) RUNTIME(cudaFreeAsync, 11020)
    RUNTIME(cudaMemPoolTrimTo, 11020) RUNTIME(cudaMallocFromPoolAsync, 11020)
    { CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel" },
    { CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, "cuCtxGetCurrent" },
};
/* clang-format on */

static const struct {
    CUpti_ActivityKind kind;
    size_t bytes;
} records[] = {
    { CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI) },
    { CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI) },
    { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(newest_kernel) },
    { CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(newest_copy) },
    { CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4) },
    { CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4) },
    { CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(newest_wait) },
    { CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(newest_memory) },
    { CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(newest_overhead) },
    { CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(CUpti_ActivityGraphTrace2) },
};

enum { KINDS = CUPTI_ACTIVITY_KIND_COUNT, CALLS = sizeof calls / sizeof *calls };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool subscribed, system_threads;
static CUpti_CallbackFunc state_callback;
static void *state_context;
static CUpti_TimestampCallbackFunc client_clock;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static bool enabled[KINDS], call_enabled[CALLS];
static uint8_t *buffer;
static uint8_t zeroed;                   /* the client said that its buffers are */
static CUpti_ActivityGraphTrace2 launch; /* whose nodes are under way; correlation 0: none is */

/* A client that reads it in its next session finds what is none of that. */
static struct {
    uint8_t *bytes;
    size_t size;
    bool complete;
} late;

static size_t size, used, dropped, kernels;

/* --- Failing as told --- */

long stand_in_told(const char *name, long otherwise)
{
    const char *at = getenv("CHOKEPOINT_FAKE_CUPTI");
    size_t length = strlen(name);

    for (; at != NULL && *at != '\0'; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return strtol(at + length + 1, NULL, 10);
    return otherwise;
}

#define FUNCTION(name, ...)                                                                        \
    __attribute__((visibility("default"))) CUptiResult CUPTIAPI name(__VA_ARGS__)
#define FAIL_AS_TOLD(name)                                                                         \
    do {                                                                                           \
        if (stand_in_told(name, 0) != 0)                                                           \
            return (CUptiResult)stand_in_told(name, 0);                                            \
    } while (0)

/* --- Records, under the lock --- */

static void deliver(void)
{
    if (buffer != NULL)
        complete(NULL, 0, buffer, size, used);
    buffer = NULL;
    used = size = 0;
}

static size_t bytes_of(CUpti_ActivityKind kind)
{
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        if (records[i].kind == kind)
            return records[i].bytes;
    return 0;
}

/* As CUPTI's: `kind` first. False: there is no room for it. */
static bool put(const void *record)
{
    CUpti_ActivityKind kind = ((const CUpti_Activity *)record)->kind;
    size_t bytes = bytes_of(kind), records_max = 0;

    if (buffer != NULL && used + bytes > size)
        deliver();
    if (buffer == NULL) {
        request(&buffer, &size, &records_max);
        for (size_t i = 0; zeroed != 0 && buffer != NULL && i < size; i++)
            if (buffer[i] != 0)
                abort();
        if (buffer == late.bytes)
            late.bytes = NULL; /* it was given back, and is another one now */
    }
    if (buffer == NULL || used + bytes > size || ((uintptr_t)buffer & 7) != 0) {
        dropped++;
        return false;
    }
    memcpy(buffer + used, record, bytes);
    used += bytes;
    return true;
}

/* The listener hears CLOCK_MONOTONIC; CUPTI's own clock is the wall's. */
static uint64_t on_clock(int64_t ns)
{
    struct timespec wall, monotonic;

    if (client_clock != NULL)
        return (uint64_t)ns;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    return (uint64_t)(ns + (int64_t)(wall.tv_sec - monotonic.tv_sec) * 1000000000);
}

/* --- Reports of the stand-in for CUDA --- */

/* -1: CUPTI has no such call. */
static int find_call(CUpti_CallbackDomain domain, const char *name)
{
    size_t length = strlen(name);

    for (int i = CALLS; i-- > 0;)
        if (calls[i].domain == domain && strncmp(calls[i].name, name, length) == 0 &&
            (calls[i].name[length] == '\0' || calls[i].name[length] == '_'))
            return i;
    return -1;
}

static void on_call(const struct stand_in_call *call)
{
    int at = find_call(call->driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API,
                       call->name);
    CUpti_ActivityAPI record = { .kind = call->driver ? CUPTI_ACTIVITY_KIND_DRIVER
                                                      : CUPTI_ACTIVITY_KIND_RUNTIME,
                                 .correlationId = call->correlation };

    pthread_mutex_lock(&lock);
    if (at >= 0 && call_enabled[at]) {
        record.cbid = calls[at].id;
        record.start = on_clock(call->start_ns);
        record.end = on_clock(call->end_ns);
        record.threadId = system_threads ? call->thread : (uint32_t)(uintptr_t)pthread_self();
        put(&record);
    }
    pthread_mutex_unlock(&lock);
}

static void put_kernel(const struct stand_in_work *work)
{
    long every = stand_in_told("zeroed", 0);
    newest_kernel record = { .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                             .name = work->name,
                             .start = on_clock(work->start_ns),
                             .end = on_clock(work->end_ns),
                             .contextId = 1,
                             .streamId = work->stream,
                             .correlationId = work->correlation,
                             .graphId = work->graph,
                             .graphNodeId = work->node,
                             .gridX = (int32_t)work->grid,
                             .gridY = 1,
                             .gridZ = 1,
                             .blockX = (int32_t)work->block,
                             .blockY = 1,
                             .blockZ = 1,
                             .registersPerThread = 32 };

    kernels++;
    if (every > 0 && kernels % (size_t)every == 0)
        record.start = record.end = 0;
    put(&record);
}

static void put_copy(const struct stand_in_work *work)
{
    newest_copy record = { .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                           .copyKind = work->copy_kind,
                           .srcKind = work->source,
                           .dstKind = work->destination,
                           .flags = work->asynchronous ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
                           .bytes = work->bytes,
                           .start = on_clock(work->start_ns),
                           .end = on_clock(work->end_ns),
                           .contextId = 1,
                           .streamId = work->stream,
                           .correlationId = work->correlation,
                           .graphId = work->graph,
                           .graphNodeId = work->node };

    put(&record);
}

static void put_memset(const struct stand_in_work *work)
{
    CUpti_ActivityMemset4 record = { .kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                     .bytes = work->bytes,
                                     .memoryKind = work->destination,
                                     .flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC,
                                     .start = on_clock(work->start_ns),
                                     .end = on_clock(work->end_ns),
                                     .contextId = 1,
                                     .streamId = work->stream,
                                     .correlationId = work->correlation,
                                     .graphId = work->graph,
                                     .graphNodeId = work->node };

    put(&record);
}

static void put_launch(void)
{
    if (launch.correlationId != 0)
        put(&launch);
    launch.correlationId = 0;
}

/* In place of the records of its nodes. */
static void add_to_launch(const struct stand_in_work *work)
{
    if (launch.correlationId != work->correlation) {
        put_launch();
        launch = (CUpti_ActivityGraphTrace2){ .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                              .correlationId = work->correlation,
                                              .start = on_clock(work->start_ns),
                                              .contextId = 1,
                                              .graphId = work->graph,
                                              .streamId = work->stream };
    }
    launch.end = on_clock(work->end_ns);
}

static void on_work(const struct stand_in_work *work)
{
    pthread_mutex_lock(&lock);
    if (work->graph != 0 && enabled[CUPTI_ACTIVITY_KIND_GRAPH_TRACE])
        add_to_launch(work);
    else if (work->kind == STAND_IN_KERNEL && enabled[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL])
        put_kernel(work);
    else if (work->kind == STAND_IN_COPY && enabled[CUPTI_ACTIVITY_KIND_MEMCPY])
        put_copy(work);
    else if (work->kind == STAND_IN_MEMSET && enabled[CUPTI_ACTIVITY_KIND_MEMSET])
        put_memset(work);
    pthread_mutex_unlock(&lock);
}

static void on_wait(int type, uint32_t stream, const struct stand_in_call *call)
{
    newest_wait record = {
        .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
        .type = (CUpti_ActivitySynchronizationType)type,
        .correlationId = call->correlation,
        .contextId = 1,
        .streamId = stream,
        .cudaEventId = (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE,
    };

    pthread_mutex_lock(&lock);
    record.start = on_clock(call->start_ns);
    record.end = on_clock(call->end_ns);
    if (enabled[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION])
        put(&record);
    pthread_mutex_unlock(&lock);
}

static void on_memory(const struct stand_in_memory *memory)
{
    newest_memory record = { .kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                             .memoryOperationType =
                                 memory->allocated ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                                   : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
                             .memoryKind = memory->kind,
                             .correlationId = memory->correlation,
                             .address = (uint64_t)(uintptr_t)memory->address,
                             .bytes = memory->bytes,
                             .isAsync = memory->ordered };

    pthread_mutex_lock(&lock);
    record.timestamp = on_clock(memory->at_ns);
    if (enabled[CUPTI_ACTIVITY_KIND_MEMORY2])
        put(&record);
    pthread_mutex_unlock(&lock);
}

/* --- CUPTI's functions --- */

static void listen(bool on)
{
    static const struct stand_in_listener listener = { on_call, on_work, on_wait, on_memory };
    void *plugin = dlopen("libchokepoint_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    stand_in_listen_fn *stand_in;

    if (plugin == NULL)
        return;
    *(void **)&stand_in = dlsym(plugin, STAND_IN_LISTEN);
    if (stand_in != NULL)
        stand_in(on ? &listener : NULL);
    dlclose(plugin);
}

FUNCTION(cuptiGetVersion, uint32_t *version)
{
    FAIL_AS_TOLD("cuptiGetVersion");
    *version = (uint32_t)stand_in_told("version", VERSION);
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiGetResultString, CUptiResult result, const char **text)
{
    FAIL_AS_TOLD("cuptiGetResultString");
    *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR_AS_TOLD";
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiGetCallbackName, CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].domain == domain && calls[i].id == id) {
            *name = calls[i].name;
            return CUPTI_SUCCESS;
        }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                             void *context)
{
    if (subscribed)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    FAIL_AS_TOLD("subscribe");
    subscribed = true;
    state_callback = callback;
    state_context = context;
    *subscriber = (CUpti_SubscriberHandle)(void *)&subscribed;
    zeroed = 0;
    listen(true);
    return CUPTI_SUCCESS;
}

#if CUPTI_API_VERSION < 130000
FUNCTION(cuptiSubscribe, CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
         void *context)
{
    return subscribe(subscriber, callback, context);
}
#else
FUNCTION(cuptiSubscribe_v2, CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
         void *context, CUpti_SubscriberParams *parameters)
{
    static const char other[] = "CUPTI for another tool";
    CUptiResult result = subscribe(subscriber, callback, context);

    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED &&
        parameters->oldSubscriberSize >= sizeof other)
        memcpy(parameters->oldSubscriberName, other, sizeof other);
    return result;
}
#endif

static void put_overhead(void);

static void begin_late(void)
{
    size_t records_max = 0;

    pthread_mutex_lock(&lock);
    put_overhead();
    deliver();
    request(&late.bytes, &late.size, &records_max);
    late.complete = false;
    pthread_mutex_unlock(&lock);
}

static void complete_late(void)
{
    const newest_overhead record = { .kind = CUPTI_ACTIVITY_KIND_OVERHEAD };

    if (late.bytes == NULL || late.complete)
        return;
    late.complete = true;
    memcpy(late.bytes, &record, sizeof record);
    complete(NULL, 0, late.bytes, late.size, sizeof record);
}

FUNCTION(cuptiUnsubscribe, CUpti_SubscriberHandle subscriber)
{
    if (stand_in_told("late", 0) != 0)
        begin_late();
    if (!subscribed || subscriber != (CUpti_SubscriberHandle)(void *)&subscribed)
        return CUPTI_ERROR_INVALID_PARAMETER;
    listen(false);
    subscribed = false;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiEnableDomain, uint32_t enable, CUpti_SubscriberHandle subscriber,
         CUpti_CallbackDomain domain)
{
    (void)enable;
    (void)subscriber;
    FAIL_AS_TOLD("cuptiEnableDomain");
    return domain == CUPTI_CB_DOMAIN_STATE ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

FUNCTION(cuptiSetThreadIdType, CUpti_ActivityThreadIdType type)
{
    FAIL_AS_TOLD("cuptiSetThreadIdType");
    pthread_mutex_lock(&lock);
    system_threads = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityRegisterTimestampCallback, CUpti_TimestampCallbackFunc function)
{
    FAIL_AS_TOLD("cuptiActivityRegisterTimestampCallback");
    pthread_mutex_lock(&lock);
    client_clock = function;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

#if CUPTI_API_VERSION >= CUPTI_WITH_SYNC_CHOICE
FUNCTION(cuptiActivityEnableAllSyncRecords, uint8_t enable)
{
    (void)enable;
    FAIL_AS_TOLD("cuptiActivityEnableAllSyncRecords");
    return CUPTI_SUCCESS;
}
#endif

/* Both are read when there is no context and no buffer yet. */
FUNCTION(cuptiActivitySetAttribute, CUpti_ActivityAttribute attribute, size_t *bytes, void *value)
{
    FAIL_AS_TOLD("cuptiActivitySetAttribute");
    if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER && *bytes == sizeof zeroed)
        zeroed = *(uint8_t *)value;
    else if (attribute != CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE ||
             *bytes != sizeof(size_t))
        return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityRegisterCallbacks, CUpti_BuffersCallbackRequestFunc on_request,
         CUpti_BuffersCallbackCompleteFunc on_complete)
{
    FAIL_AS_TOLD("cuptiActivityRegisterCallbacks");
    pthread_mutex_lock(&lock);
    request = on_request;
    complete = on_complete;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

static CUpti_ActivityKind kind_of_call(size_t call)
{
    return calls[call].domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME
                                                             : CUPTI_ACTIVITY_KIND_DRIVER;
}

/* The kind of a call overrides what was set for it alone. */
static CUptiResult set_kind(CUpti_ActivityKind kind, bool on)
{
    pthread_mutex_lock(&lock);
    enabled[kind] = on && request != NULL;
    for (size_t i = 0; i < CALLS; i++)
        if (kind_of_call(i) == kind)
            call_enabled[i] = enabled[kind];
    pthread_mutex_unlock(&lock);
    return on && request == NULL ? CUPTI_ERROR_INVALID_OPERATION : CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityEnable, CUpti_ActivityKind kind)
{
    FAIL_AS_TOLD("cuptiActivityEnable");
    return set_kind(kind, true);
}

FUNCTION(cuptiActivityDisable, CUpti_ActivityKind kind)
{
    return set_kind(kind, false);
}

#if CUPTI_API_VERSION >= CUPTI_WITH_CALL_CHOICE
/* As on a GPU once CUDA is initialised: alone, without its kind, a call is enabled in vain. */
static CUptiResult set_call(CUpti_CallbackDomain domain, uint32_t id, bool on)
{
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].domain == domain && calls[i].id == id) {
            pthread_mutex_lock(&lock);
            call_enabled[i] = on && enabled[kind_of_call(i)];
            pthread_mutex_unlock(&lock);
            return CUPTI_SUCCESS;
        }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

FUNCTION(cuptiActivityEnableRuntimeApi, uint32_t id, uint8_t enable)
{
    FAIL_AS_TOLD("cuptiActivityEnableRuntimeApi");
    return set_call(CUPTI_CB_DOMAIN_RUNTIME_API, id, enable);
}

FUNCTION(cuptiActivityEnableDriverApi, uint32_t id, uint8_t enable)
{
    FAIL_AS_TOLD("cuptiActivityEnableDriverApi");
    return set_call(CUPTI_CB_DOMAIN_DRIVER_API, id, enable);
}
#endif

FUNCTION(cuptiActivityGetNextRecord, uint8_t *bytes, size_t valid, CUpti_Activity **record)
{
    uint8_t *next = bytes;

    if (!subscribed)
        complete_late();
    else if (bytes == late.bytes)
        abort();
    if (*record != NULL)
        next = (uint8_t *)*record + bytes_of((*record)->kind);
    if (next >= bytes + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    if (bytes_of(((CUpti_Activity *)(void *)next)->kind) == 0)
        return CUPTI_ERROR_INVALID_KIND;
    *record = (CUpti_Activity *)(void *)next;
    return CUPTI_SUCCESS;
}

static void give_up(void)
{
    CUpti_StateData data = { .notification = { CUPTI_ERROR_HARDWARE, "the GPU has gone" } };

    state_callback(state_context, CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &data);
}

/* One overhead a flush, in some versions with what its client must free. */
static void put_overhead(void)
{
    newest_overhead record = { .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                               .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH };
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    record.start = on_clock((int64_t)time.tv_sec * 1000000000 + time.tv_nsec);
    record.end = record.start + 10;
#ifdef NEWEST_HAS_DATA
    record.overheadData = calloc(1, 64);
    if (!put(&record))
        free(record.overheadData);
#else
    put(&record);
#endif
}

FUNCTION(cuptiActivityFlushAll, uint32_t flag)
{
    if (flag != CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
        return CUPTI_ERROR_INVALID_PARAMETER;
    FAIL_AS_TOLD("cuptiActivityFlushAll");
    if (stand_in_told("fatal", 0) != 0)
        give_up();
    pthread_mutex_lock(&lock);
    put_launch();
    if (enabled[CUPTI_ACTIVITY_KIND_OVERHEAD])
        put_overhead();
    if (stand_in_told("cut", 0) != 0 && used + 8 <= size) {
        memset(buffer + used, 0, 8);
        used += 8;
    }
    deliver();
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiActivityGetNumDroppedRecords, CUcontext context, uint32_t stream, size_t *count)
{
    (void)context;
    (void)stream;
    FAIL_AS_TOLD("cuptiActivityGetNumDroppedRecords");
    pthread_mutex_lock(&lock);
    *count = dropped + (size_t)stand_in_told("dropped", 0);
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}
