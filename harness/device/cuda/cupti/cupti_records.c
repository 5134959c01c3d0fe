/* A row of a table says which function translates which kind of record. The host's calls are noted
 * in a first pass over all buffers and sorted by correlation, so that a second pass finds for each
 * piece of device work the call that caused it, and the thread that made the call. */
#include "harness/device/cuda/cupti/cupti_records.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"

#include <cuda_occupancy.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many of a GPU's threads a launch can keep busy. Fills the structures of NVIDIA's calculator
 * with what CUDA says of the GPU and CUPTI of the launch. */
static double product(const uint32_t size[3])
{
    return (double)size[0] * size[1] * size[2];
}

float occupancy_of(const struct cudaDeviceProp *gpu, const uint32_t grid[3],
                   const uint32_t block[3], uint32_t registers, uint32_t static_bytes,
                   uint32_t dynamic_bytes)
{
    const cudaOccDeviceProp properties = {
        .computeMajor = gpu->major,
        .computeMinor = gpu->minor,
        .maxThreadsPerBlock = gpu->maxThreadsPerBlock,
        .maxThreadsPerMultiprocessor = gpu->maxThreadsPerMultiProcessor,
        .regsPerBlock = gpu->regsPerBlock,
        .regsPerMultiprocessor = gpu->regsPerMultiprocessor,
        .warpSize = gpu->warpSize,
        .sharedMemPerBlock = gpu->sharedMemPerBlock,
        .sharedMemPerMultiprocessor = gpu->sharedMemPerMultiprocessor,
        .numSms = gpu->multiProcessorCount,
        .sharedMemPerBlockOptin = gpu->sharedMemPerBlockOptin,
        .reservedSharedMemPerBlock = gpu->reservedSharedMemPerBlock,
    };
    /* The kernel has run, so its threads, registers and shared memory are within the GPU's
     * limits. */
    const cudaOccFuncAttributes kernel = {
        .maxThreadsPerBlock = INT_MAX,
        .numRegs = (int)(registers < INT_MAX ? registers : INT_MAX),
        .sharedSizeBytes = static_bytes,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = dynamic_bytes,
        .numBlockBarriers = 1,
    };
    const cudaOccDeviceState state = { .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT };
    double threads = product(block), blocks;
    cudaOccResult result;

    if (!(threads >= 1 && threads <= gpu->maxThreadsPerBlock) || gpu->multiProcessorCount < 1 ||
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &kernel, &state, (int)threads,
                                                dynamic_bytes) != CUDA_OCC_SUCCESS)
        return 0;
    blocks = product(grid) / gpu->multiProcessorCount;
    if (blocks > result.activeBlocksPerMultiprocessor)
        blocks = result.activeBlocksPerMultiprocessor;
    return (float)(blocks * threads / gpu->maxThreadsPerMultiProcessor);
}

/* Records are packed at 8 bytes, which is what their members want, so they are read in place. */
_Static_assert(ACTIVITY_RECORD_ALIGNMENT == 8, "records are laid out in another way");

/* Cuts a value off at the largest int64_t. */
static int64_t bounded(uint64_t value)
{
    return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

static uint32_t positive(int64_t value)
{
    return value < 0 ? 0 : value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* "A value of 0 for both the start and end timestamps indicates that timestamp information could
 * not be collected" (cupti_activity.h): its own buffer was full. */
static enum cupti_outcome timed(struct activity *activity, uint64_t start, uint64_t end)
{
    if (start == CUPTI_TIMESTAMP_UNKNOWN || end < start || end > INT64_MAX)
        return CUPTI_OUTCOME_BROKEN;
    activity->start_ns = (int64_t)start;
    activity->end_ns = (int64_t)end;
    return CUPTI_OUTCOME_SHOWN;
}

/* --- Calls --- */

static const char *call_name(const struct cupti_records *records, const CUpti_ActivityAPI *call)
{
    if (call->kind == CUPTI_ACTIVITY_KIND_RUNTIME)
        return call->cbid < ARRAY_SIZE(records->calls->runtime)
                   ? records->calls->runtime[call->cbid]
                   : NULL;
    return call->cbid < ARRAY_SIZE(records->calls->driver) ? records->calls->driver[call->cbid]
                                                           : NULL;
}

enum status cupti_records_note(struct cupti_records *records, const CUpti_Activity *record)
{
    const CUpti_ActivityAPI *call = (const void *)record;

    if ((record->kind != CUPTI_ACTIVITY_KIND_RUNTIME &&
         record->kind != CUPTI_ACTIVITY_KIND_DRIVER) ||
        call_name(records, call) == NULL)
        return STATUS_OK;
    if (records->count == records->room) {
        size_t room = records->room > 0 ? 2 * records->room : 4096;
        void *noted = realloc(records->noted, room * sizeof *records->noted);
        if (noted == NULL)
            FAIL(STATUS_OUT_OF_MEMORY, "no host memory for the %zu calls of a trace",
                 records->count);
        records->noted = noted;
        records->room = room;
    }
    records->noted[records->count++] =
        (struct cupti_call){ .start = call->start,
                             .correlation = call->correlationId,
                             .thread = call->threadId,
                             .runtime = call->kind == CUPTI_ACTIVITY_KIND_RUNTIME,
                             .query = records->cupti->enable_failed_syncs == NULL &&
                                      strstr(call_name(records, call), "Query") != NULL };

    return STATUS_OK;
}

/* By correlation; the call that a trace shows comes first. */
COMPARATOR(compare_calls, struct cupti_call,
           ASCENDING(correlation) ?: DESCENDING(runtime) ?: ASCENDING(start))

/* The message whose call the launch is in; NULL: there is none. */
static const struct cupti_message *find_message(const struct cupti_records *records,
                                                const struct cupti_call *call)
{
    size_t low = 0, high = records->message_count;
    int64_t start_ns = bounded(call->start);
    const struct cupti_message *message;

    BISECT(low, high, i, records->messages[i].start_ns <= start_ns);
    if (low == 0)
        return NULL;
    message = &records->messages[low - 1];
    return start_ns <= message->end_ns && message->thread == call->thread ? message : NULL;
}

void cupti_records_join(struct cupti_records *records)
{
    if (records->count == 0)
        return;
    qsort(records->noted, records->count, sizeof *records->noted, compare_calls);
    for (size_t i = 0; i < records->count; i++)
        records->noted[i].message = find_message(records, &records->noted[i]);
}

/* The call that is shown for `correlation`; NULL: none was recorded. */
static const struct cupti_call *find_call(const struct cupti_records *records, uint32_t correlation)
{
    size_t low = 0, high = records->count;

    BISECT(low, high, i, records->noted[i].correlation < correlation);
    return low < records->count && records->noted[low].correlation == correlation
               ? &records->noted[low]
               : NULL;
}

static uint32_t thread_of(const struct cupti_records *records, uint32_t correlation)
{
    const struct cupti_call *call = find_call(records, correlation);

    return call != NULL ? call->thread : 0;
}

/* A call of the runtime makes calls of the driver under the same number: only the outer one is
 * shown. */
static enum cupti_outcome translate_call(struct cupti_records *records, const void *record,
                                         struct activity *activity)
{
    const CUpti_ActivityAPI *call = record;
    const struct cupti_call *shown = find_call(records, call->correlationId);
    bool runtime = call->kind == CUPTI_ACTIVITY_KIND_RUNTIME;

    activity->kind = runtime ? ACTIVITY_RUNTIME : ACTIVITY_DRIVER;
    activity->name = call_name(records, call);
    activity->thread = call->threadId;
    activity->correlation = call->correlationId;
    if (activity->name == NULL || shown == NULL || shown->runtime != runtime ||
        shown->start != call->start || shown->thread != call->threadId)
        return CUPTI_OUTCOME_HIDDEN;
    return timed(activity, call->start, call->end);
}

/* --- Device work --- */

/* Only kernels of NCCL carry a message. */
static void say_message(const struct cupti_records *records, struct activity *activity)
{
    const struct cupti_call *call = find_call(records, activity->correlation);

    if (call == NULL || call->message == NULL || strncmp(activity->name, "nccl", 4) != 0)
        return;
    activity->collective = call->message->name;
    activity->bytes = call->message->bytes;
    activity->dtype = call->message->dtype;
}

static enum cupti_outcome translate_kernel(struct cupti_records *records, const void *record,
                                           struct activity *activity)
{
    const CUpti_ActivityKernel9 *kernel = record;

    activity->kind = ACTIVITY_KERNEL;
    activity->name = cupti_names_kernel(records->names, kernel->name);
    activity->device = kernel->deviceId;
    activity->stream = kernel->streamId;
    activity->correlation = kernel->correlationId;
    activity->graph = kernel->graphId;
    activity->graph_node = (uint32_t)kernel->graphNodeId;
    activity->grid[0] = positive(kernel->gridX);
    activity->grid[1] = positive(kernel->gridY);
    activity->grid[2] = positive(kernel->gridZ);
    activity->block[0] = positive(kernel->blockX);
    activity->block[1] = positive(kernel->blockY);
    activity->block[2] = positive(kernel->blockZ);
    activity->registers = kernel->registersPerThread;
    activity->shared_bytes =
        positive((int64_t)kernel->staticSharedMemory + kernel->dynamicSharedMemory);
    /* Only this GPU's limits are known here. */
    if (records->gpu != NULL && kernel->deviceId == records->device)
        activity->occupancy = occupancy_of(
            records->gpu, activity->grid, activity->block, activity->registers,
            positive(kernel->staticSharedMemory), positive(kernel->dynamicSharedMemory));
    say_message(records, activity);
    return timed(activity, kernel->start, kernel->end);
}

/* CUPTI_ACTIVITY_MEMORY_KIND_*, in the words of PyTorch's profiler. */
static const char *memory_text(unsigned kind)
{
    static const char *const texts[] = { "Unknown", "Pageable", "Pinned",        "Device",
                                         "Array",   "Managed",  "Device Static", "Managed Static" };

    return kind < ARRAY_SIZE(texts) ? texts[kind] : texts[0];
}

static enum activity_memory memory_of(unsigned kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
        return ACTIVITY_MEMORY_PAGEABLE;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
        return ACTIVITY_MEMORY_PINNED;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
        return ACTIVITY_MEMORY_DEVICE;
    default:
        return ACTIVITY_MEMORY_UNKNOWN;
    }
}

/* CUPTI_ACTIVITY_MEMCPY_KIND_* */
static const struct direction {
    const char *text;
    enum activity_copy copy;
} directions[] = {
    [CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN] = { "Unknown", ACTIVITY_COPY_NONE },
    [CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = { "HtoD", ACTIVITY_COPY_HTOD },
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = { "DtoH", ACTIVITY_COPY_DTOH },
    [CUPTI_ACTIVITY_MEMCPY_KIND_HTOA] = { "HtoA", ACTIVITY_COPY_HTOD },
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOH] = { "AtoH", ACTIVITY_COPY_DTOH },
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOA] = { "AtoA", ACTIVITY_COPY_DTOD },
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOD] = { "AtoD", ACTIVITY_COPY_DTOD },
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOA] = { "DtoA", ACTIVITY_COPY_DTOD },
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOD] = { "DtoD", ACTIVITY_COPY_DTOD },
    [CUPTI_ACTIVITY_MEMCPY_KIND_HTOH] = { "HtoH", ACTIVITY_COPY_NONE },
    [CUPTI_ACTIVITY_MEMCPY_KIND_PTOP] = { "PtoP", ACTIVITY_COPY_DTOD },
};

static void say_copy(struct cupti_records *records, struct activity *activity, unsigned direction,
                     unsigned source, unsigned destination)
{
    const struct direction *row = &directions[direction < ARRAY_SIZE(directions) ? direction : 0];
    char name[80];

    snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", row->text, memory_text(source),
             memory_text(destination));
    activity->kind = ACTIVITY_MEMCPY;
    activity->name = cupti_names_plain(records->names, name);
    activity->copy = row->copy;
    activity->source = memory_of(source);
    activity->destination = memory_of(destination);
}

/* The two kinds of copies have records of different layouts, whose members have the same names. */
#define TRANSLATE_COPY(function, type)                                                             \
    static enum cupti_outcome function(struct cupti_records *records, const void *record,          \
                                       struct activity *activity)                                  \
    {                                                                                              \
        const type *copy = record;                                                                 \
                                                                                                   \
        say_copy(records, activity, copy->copyKind, copy->srcKind, copy->dstKind);                 \
        activity->device = copy->deviceId;                                                         \
        activity->stream = copy->streamId;                                                         \
        activity->correlation = copy->correlationId;                                               \
        activity->bytes = bounded(copy->bytes);                                                    \
        activity->asynchronous = (copy->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0;            \
        activity->graph = copy->graphId;                                                           \
        activity->graph_node = (uint32_t)copy->graphNodeId;                                        \
        return timed(activity, copy->start, copy->end);                                            \
    }
TRANSLATE_COPY(translate_copy, CUpti_ActivityMemcpy5)
TRANSLATE_COPY(translate_peer_copy, CUpti_ActivityMemcpyPtoP4)
#undef TRANSLATE_COPY

static enum cupti_outcome translate_memset(struct cupti_records *records, const void *record,
                                           struct activity *activity)
{
    const CUpti_ActivityMemset4 *set = record;
    char name[40];

    snprintf(name, sizeof name, "Memset (%s)", memory_text(set->memoryKind));
    activity->kind = ACTIVITY_MEMSET;
    activity->name = cupti_names_plain(records->names, name);
    activity->device = set->deviceId;
    activity->stream = set->streamId;
    activity->correlation = set->correlationId;
    activity->bytes = bounded(set->bytes);
    activity->asynchronous = (set->flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC) != 0;
    activity->destination = memory_of(set->memoryKind);
    activity->graph = set->graphId;
    activity->graph_node = (uint32_t)set->graphNodeId;
    return timed(activity, set->start, set->end);
}

/* A launch as one piece, in place of its nodes. */
static enum cupti_outcome translate_graph(struct cupti_records *records, const void *record,
                                          struct activity *activity)
{
    const CUpti_ActivityGraphTrace2 *graph = record;

    (void)records;
    activity->kind = ACTIVITY_KERNEL;
    activity->name = "CUDA graph";
    activity->device = graph->deviceId;
    activity->stream = graph->streamId;
    activity->correlation = graph->correlationId;
    activity->graph = graph->graphId;
    return timed(activity, graph->start, graph->end);
}

/* --- Waits, memory, overhead --- */

/* CUPTI records queries as waits too. Where it cannot leave out those that were answered "not yet",
 * it does not tell them from the others either, and none is shown. */
static bool is_query(const struct cupti_records *records, uint32_t correlation)
{
    const struct cupti_call *call = find_call(records, correlation);

    return call != NULL && call->query;
}

/* A stream that waits for an event does not hold up a host thread. */
static enum cupti_outcome translate_wait(struct cupti_records *records, const void *record,
                                         struct activity *activity)
{
    static const char *const names[] = {
        [CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE] = "Event Synchronize",
        [CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE] = "Stream Synchronize",
        [CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE] = "Context Synchronize",
    };
    const CUpti_ActivitySynchronization *wait = record;

    if ((size_t)wait->type >= ARRAY_SIZE(names) || names[wait->type] == NULL ||
        is_query(records, wait->correlationId))
        return CUPTI_OUTCOME_HIDDEN;
    activity->kind = ACTIVITY_SYNCHRONIZATION;
    activity->name = names[wait->type];
    activity->device = records->device;
    /* A wait for the whole context is of no stream. */
    if (wait->streamId != (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE)
        activity->stream = wait->streamId;
    activity->thread = thread_of(records, wait->correlationId);
    activity->correlation = wait->correlationId;
    return timed(activity, wait->start, wait->end);
}

/* A release is a negative number of bytes. */
static enum cupti_outcome translate_memory(struct cupti_records *records, const void *record,
                                           struct activity *activity)
{
    const CUpti_ActivityMemory3 *memory = record;
    bool allocated = memory->memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;

    if (memory->bytes == 0 ||
        (!allocated && memory->memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE))
        return CUPTI_OUTCOME_HIDDEN;
    activity->kind = ACTIVITY_MEMORY;
    activity->name = "[memory]"; /* as PyTorch's profiler calls it */
    activity->device = memory->deviceId;
    activity->thread = thread_of(records, memory->correlationId);
    activity->correlation = memory->correlationId;
    activity->bytes = allocated ? bounded(memory->bytes) : -bounded(memory->bytes);
    activity->address = memory->address;
    activity->asynchronous = memory->isAsync != 0;
    activity->destination = memory_of(memory->memoryKind);
    return timed(activity, memory->timestamp, memory->timestamp);
}

static enum cupti_outcome translate_overhead(struct cupti_records *records, const void *record,
                                             struct activity *activity)
{
    static const struct {
        CUpti_ActivityOverheadKind kind;
        const char *name;
    } names[] = {
        { CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, "Driver Compiler" },
        { CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, "Buffer Flush" },
        { CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, "Instrumentation" },
        { CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, "Resource" },
        { CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING,
          "Runtime Triggered Module Loading" },
        { CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING, "Lazy Function Loading" },
        { CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL, "Command Buffer Full" },
        { (CUpti_ActivityOverheadKind)(7 << 16), /* not in all headers */
          "Activity Buffer Request" },
    };
    const CUpti_ActivityOverhead2 *overhead = record;

    activity->kind = ACTIVITY_OVERHEAD;
    activity->name = "Overhead";
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i].kind == overhead->overheadKind)
            activity->name = names[i].name;
    activity->device = records->device;
    activity->correlation = overhead->correlationId;
    return timed(activity, overhead->start, overhead->end);
}

static const struct {
    CUpti_ActivityKind kind;
    enum cupti_outcome (*translate)(struct cupti_records *, const void *, struct activity *);
} kinds[] = {
    { CUPTI_ACTIVITY_KIND_RUNTIME, translate_call },
    { CUPTI_ACTIVITY_KIND_DRIVER, translate_call },
    { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, translate_kernel },
    { CUPTI_ACTIVITY_KIND_MEMCPY, translate_copy },
    { CUPTI_ACTIVITY_KIND_MEMCPY2, translate_peer_copy },
    { CUPTI_ACTIVITY_KIND_MEMSET, translate_memset },
    { CUPTI_ACTIVITY_KIND_GRAPH_TRACE, translate_graph },
    { CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, translate_wait },
    { CUPTI_ACTIVITY_KIND_MEMORY2, translate_memory },
    { CUPTI_ACTIVITY_KIND_OVERHEAD, translate_overhead },
};

enum cupti_outcome cupti_records_translate(struct cupti_records *records,
                                           const CUpti_Activity *record, struct activity *activity)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (kinds[i].kind == record->kind) {
            *activity = (struct activity){ 0 };
            return kinds[i].translate(records, record, activity);
        }
    return CUPTI_OUTCOME_HIDDEN;
}

/* CUPTI leaves this memory to whoever takes the record: CUpti_ActivityOverhead3 of newer headers.
 */
void cupti_records_drop(const struct cupti_records *records, const CUpti_Activity *record)
{
    const struct {
        CUpti_ActivityOverhead2 older;
        void *data;
    } *overhead = (const void *)record;

    if (record->kind == CUPTI_ACTIVITY_KIND_OVERHEAD && records->cupti->overhead_data)
        free(overhead->data);
}

void cupti_records_release(struct cupti_records *records)
{
    free(records->noted);
    free(records->messages);
    records->noted = NULL;
    records->messages = NULL;
    records->count = records->room = records->message_count = 0;
}
