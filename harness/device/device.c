/* The public functions. Each checks its arguments, applies the planned faults, calls the driver,
 * and counts the call if it succeeded. Calls that a capture records are not counted, because their
 * work has not been done yet.
 *
 * A kernel that is to fail is replaced by one that does fail on the device, so that the error comes
 * when a real one would: later, at a call that waits.
 *
 * Results are set to nothing before anything can fail, so that whoever asked for one may give it
 * back in any case. */
#include "harness/device/device.h"
#include "harness/device/types/device_wait.h"

#include "harness/device/check.h"
#include "harness/device/driver.h"
#include "harness/device/faults.h"
#include "harness/device/many_ranks.h"

/* Relaxed: a counter orders nothing, and a reader that wants a whole sum has waited for the threads
 * that count. */
static void count(_Atomic int64_t *counter, int64_t by)
{
    atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/* TRY() of a call that may wait for the device. */
#define WAIT(call)                                                                                 \
    do {                                                                                           \
        enum status status_of_wait;                                                                \
        device_wait_begin();                                                                       \
        status_of_wait = (call);                                                                   \
        device_wait_end();                                                                         \
        TRY(status_of_wait);                                                                       \
    } while (0)

/* Without a plan this is one comparison, since each call pays for it. */
static enum status check_fault(const struct device *device, enum fault kind)
{
    struct faults *faults = &device->ledger->faults;

    return faults->count == 0 ? STATUS_OK : faults_check(faults, kind);
}

const struct device_properties *device_properties(const struct device *device)
{
    return &device->properties;
}

struct device_counters device_counters(const struct device *device)
{
    struct device_ledger *ledger = device->ledger;

    return (struct device_counters){
#define READ_COUNTER(name) .name = atomic_load_explicit(&ledger->name, memory_order_relaxed),
        DEVICE_COUNTERS(READ_COUNTER)
#undef READ_COUNTER
    };
}

enum status device_memory_info(struct device *device, struct memory_info *info)
{
    TRY(check_given(device, "device_memory_info", "the device"));
    TRY(check_given(info, "device_memory_info", "the result"));
    return device->driver->memory_info(device, info);
}

enum status device_memory_trim(struct device *device)
{
    TRY(check_given(device, "device_memory_trim", "the device"));
    return device->driver->memory_trim(device);
}

struct device_vitals device_vitals(struct device *device)
{
    struct device_health health = device_health_unknown;

    device->driver->health(device, HEALTH_VITALS, &health);
    return health.now;
}

struct device_health device_health(struct device *device)
{
    struct device_health health = device_health_unknown;

    device->driver->health(device, HEALTH_ALL, &health);
    return health;
}

enum status device_synchronize(struct device *device)
{
    TRY(check_given(device, "device_synchronize", "the device"));
    TRY(check_fault(device, FAULT_sync));
    WAIT(device->driver->synchronize(device));
    count(&device->ledger->synchronizations, 1);

    return STATUS_OK;
}

/* --- Memory --- */

enum status device_alloc(struct device *device, struct stream *stream, enum allocation how,
                         size_t bytes, void **memory)
{
    TRY(check_given(memory, "device_alloc", "the result"));
    *memory = NULL;
    TRY(check_given(device, "device_alloc", "the device"));
    if (bytes == 0)
        FAIL(STATUS_BAD_USAGE, "device_alloc: 0 bytes asked for");
    if (how != ALLOCATE_DIRECT)
        TRY(check_given(stream, "device_alloc", "the stream of a stream-ordered allocation"));
    TRY(check_fault(device, FAULT_alloc));
    TRY(device->driver->alloc(device, stream, how, bytes, memory));
    count(&device->ledger->allocations, 1);

    return STATUS_OK;
}

enum status device_free(struct device *device, struct stream *stream, enum allocation how,
                        void *memory)
{
    if (memory == NULL)
        return STATUS_OK;
    TRY(check_given(device, "device_free", "the device"));
    if (how != ALLOCATE_DIRECT)
        TRY(check_given(stream, "device_free", "the stream of a stream-ordered release"));
    TRY(device->driver->free(device, stream, how, memory));
    count(&device->ledger->frees, 1);

    return STATUS_OK;
}

enum status host_alloc(struct device *device, bool pinned, size_t bytes, void **memory)
{
    TRY(check_given(memory, "host_alloc", "the result"));
    *memory = NULL;
    TRY(check_given(device, "host_alloc", "the device"));
    if (bytes == 0)
        FAIL(STATUS_BAD_USAGE, "host_alloc: 0 bytes asked for");
    TRY(check_fault(device, FAULT_host_alloc));
    TRY(device->driver->host_alloc(device, pinned, bytes, memory));
    count(&device->ledger->host_allocations, 1);

    return STATUS_OK;
}

enum status host_free(struct device *device, bool pinned, void *memory)
{
    if (memory == NULL)
        return STATUS_OK;
    TRY(check_given(device, "host_free", "the device"));
    return device->driver->host_free(device, pinned, memory);
}

/* --- Streams --- */

enum status stream_create(struct device *device, struct stream **stream)
{
    TRY(check_given(stream, "stream_create", "the result"));
    *stream = NULL;
    TRY(check_given(device, "stream_create", "the device"));
    TRY(check_fault(device, FAULT_stream));
    return device->driver->stream_create(device, stream);
}

void stream_destroy(struct stream *stream)
{
    if (stream != NULL)
        stream->device->driver->stream_destroy(stream);
}

enum status stream_synchronize(struct stream *stream)
{
    TRY(check_given(stream, "stream_synchronize", "the stream"));
    TRY(check_fault(stream->device, FAULT_sync));
    WAIT(stream->device->driver->stream_synchronize(stream));
    count(&stream->device->ledger->synchronizations, 1);

    return STATUS_OK;
}

void stream_set_blocking(struct stream *stream, bool blocking)
{
    stream->blocking = blocking;
}

struct device *stream_device(const struct stream *stream)
{
    return stream->device;
}

enum status stream_wait_event(struct stream *stream, struct event *event)
{
    TRY(check_given(stream, "stream_wait_event", "the stream"));
    TRY(check_given(event, "stream_wait_event", "the event"));
    return stream->device->driver->stream_wait_event(stream, event);
}

/* --- Events --- */

enum status event_create(struct device *device, bool timing, struct event **event)
{
    TRY(check_given(event, "event_create", "the result"));
    *event = NULL;
    TRY(check_given(device, "event_create", "the device"));
    TRY(check_fault(device, FAULT_event));
    return device->driver->event_create(device, timing, event);
}

void event_destroy(struct event *event)
{
    if (event != NULL)
        event->device->driver->event_destroy(event);
}

enum status event_record(struct event *event, struct stream *stream)
{
    TRY(check_given(event, "event_record", "the event"));
    TRY(check_given(stream, "event_record", "the stream"));
    TRY(stream->device->driver->event_record(event, stream));
    if (!stream->capturing)
        count(&stream->device->ledger->event_records, 1);

    return STATUS_OK;
}

enum status event_synchronize(struct event *event)
{
    TRY(check_given(event, "event_synchronize", "the event"));
    TRY(check_fault(event->device, FAULT_sync));
    WAIT(event->device->driver->event_synchronize(event));
    count(&event->device->ledger->synchronizations, 1);

    return STATUS_OK;
}

enum status event_query(struct event *event)
{
    TRY(check_given(event, "event_query", "the event"));
    return event->device->driver->event_query(event); /* NOT_READY is an answer, not an error */
}

enum status event_elapsed(struct event *from, struct event *to, double *elapsed_ns)
{
    TRY(check_given(from, "event_elapsed", "the earlier event"));
    TRY(check_given(to, "event_elapsed", "the later event"));
    TRY(check_given(elapsed_ns, "event_elapsed", "the result"));
    if (!from->timing || !to->timing)
        FAIL(STATUS_BAD_USAGE, "event_elapsed: the %s event was created without timing",
             from->timing ? "later" : "earlier");
    return from->device->driver->event_elapsed(from, to, elapsed_ns);
}

/* --- Work --- */

/* A copy that waits counts as a synchronisation, too. */
static enum status copy_counted(struct stream *stream, enum copy_kind kind, bool asynchronous,
                                void *to, const void *from, size_t bytes)
{
    struct device_ledger *ledger;
    bool waited = false;

    TRY(check_given(stream, "copy", "the stream"));
    TRY(check_copy(kind, to, from, bytes));
    TRY(check_fault(stream->device, FAULT_copy));
    WAIT(stream->device->driver->copy(stream, kind, asynchronous, to, from, bytes, &waited));
    if (stream->capturing)
        return STATUS_OK;
    ledger = stream->device->ledger;
    count(&ledger->copies, 1);
    count(kind == COPY_HOST_TO_DEVICE   ? &ledger->copy_bytes_h2d
          : kind == COPY_DEVICE_TO_HOST ? &ledger->copy_bytes_d2h
                                        : &ledger->copy_bytes_d2d,
          (int64_t)bytes);
    count(&ledger->synchronizations, waited);

    return STATUS_OK;
}

enum status device_copy_async(struct stream *stream, enum copy_kind kind, void *to,
                              const void *from, size_t bytes)
{
    return copy_counted(stream, kind, true, to, from, bytes);
}

enum status device_copy(struct stream *stream, enum copy_kind kind, void *to, const void *from,
                        size_t bytes)
{
    return copy_counted(stream, kind, false, to, from, bytes);
}

enum status device_memset(struct stream *stream, void *memory, int byte, size_t bytes)
{
    TRY(check_given(stream, "device_memset", "the stream"));
    TRY(check_given(memory, "device_memset", "the memory"));
    if (bytes == 0)
        FAIL(STATUS_BAD_USAGE, "device_memset: 0 bytes asked for");
    TRY(check_fault(stream->device, FAULT_memset));
    TRY(stream->device->driver->memset(stream, memory, byte, bytes));
    if (!stream->capturing)
        count(&stream->device->ledger->memsets, 1);

    return STATUS_OK;
}

/* True when this kernel or GEMM is the one that is to fail on the device. */
static bool fails_on_device(const struct stream *stream)
{
    struct faults *faults = &stream->device->ledger->faults;

    return faults->count != 0 && faults_hit(faults, FAULT_kernel) != 0;
}

static enum status launch_failure(struct stream *stream)
{
    return stream->device->driver->launch(stream, (enum kernel)DRIVER_KERNEL_FAILS, DTYPE_F32, 1,
                                          NULL, 0);
}

/* A stream that blocks stands for CUDA_LAUNCH_BLOCKING: each launch waits, and counts as a wait. */
static enum status launched(struct stream *stream)
{
    if (stream->capturing)
        return STATUS_OK;
    count(&stream->device->ledger->launches, 1);
    if (stream->blocking)
        TRY(stream_synchronize(stream));

    return STATUS_OK;
}

enum status device_launch(struct stream *stream, enum kernel kernel, enum dtype dtype, long rows,
                          const void *arguments, size_t size)
{
    TRY(check_given(stream, "device_launch", "the stream"));
    TRY(check_launch(kernel, dtype, rows, arguments, size));
    TRY(check_fault(stream->device, FAULT_launch));
    if (fails_on_device(stream))
        TRY(launch_failure(stream));
    else
        TRY(stream->device->driver->launch(stream, kernel, dtype, rows, arguments, size));
    TRY(launched(stream));
    /* Behind the kernel in its stream, since it changes what the kernel wrote. */
    return flip_kernel(stream, kernel, dtype, rows, arguments);
}

enum status device_ptx_load(struct device *device, const char *text, const char *name,
                            struct ptx_kernel **kernel)
{
    TRY(check_given(device, "device_ptx_load", "the device"));
    TRY(check_given(text, "device_ptx_load", "the text"));
    TRY(check_given(kernel, "device_ptx_load", "the result"));
    if (device->driver->ptx_load == NULL)
        FAIL(STATUS_UNSUPPORTED,
             "%s executes no PTX: a CUDA device does, built with CUDA 12.8 or newer",
             device->properties.name);
    return device->driver->ptx_load(device, text, name, kernel);
}

void device_ptx_free(struct ptx_kernel *kernel)
{
    if (kernel != NULL)
        kernel->device->driver->ptx_free(kernel);
}

enum status device_ptx_launch(struct stream *stream, struct ptx_kernel *kernel,
                              const struct ptx_launch *launch)
{
    TRY(check_given(stream, "device_ptx_launch", "the stream"));
    TRY(check_given(kernel, "device_ptx_launch", "the kernel"));
    TRY(check_given(launch, "device_ptx_launch", "the launch"));
    TRY(stream->device->driver->ptx_launch(stream, kernel, launch));
    return launched(stream);
}

enum status device_gemm(struct stream *stream, const struct gemm *gemm)
{
    TRY(check_given(stream, "device_gemm", "the stream"));
    TRY(check_gemm(gemm));
    if (gemm->epilogue != EPILOGUE_NONE && !stream->device->properties.gemm_epilogues)
        FAIL(STATUS_UNSUPPORTED, "%s has no library with products that have an epilogue",
             stream->device->properties.name);
    TRY(check_fault(stream->device, FAULT_gemm));
    if (fails_on_device(stream))
        TRY(launch_failure(stream));
    else
        TRY(stream->device->driver->gemm(stream, gemm));
    TRY(launched(stream));
    return flip_gemm(stream, gemm);
}

enum status device_attention_plan(struct device *device, const struct attention_shape *shape,
                                  size_t *workspace_bytes)
{
    TRY(check_given(device, "device_attention_plan", "the device"));
    TRY(check_given(workspace_bytes, "device_attention_plan", "the result"));
    if (!device->properties.fused_attention)
        FAIL(STATUS_UNSUPPORTED, "%s has no library with fused attention", device->properties.name);
    return device->driver->attention_plan(device, shape, workspace_bytes);
}

enum status device_attention(struct stream *stream, const struct fused_attention *attention)
{
    TRY(check_given(stream, "device_attention", "the stream"));
    if (!stream->device->properties.fused_attention)
        FAIL(STATUS_UNSUPPORTED, "%s has no library with fused attention",
             stream->device->properties.name);
    TRY(check_fault(stream->device, FAULT_gemm));
    if (fails_on_device(stream))
        TRY(launch_failure(stream));
    else
        TRY(stream->device->driver->attention(stream, attention));
    return launched(stream);
}

static enum status check_communicates(const struct device *device)
{
    if (device->driver->collective == NULL)
        FAIL(STATUS_UNSUPPORTED, "%s does not communicate with other ranks",
             device->properties.name);

    return STATUS_OK;
}

enum status device_check_ranks(struct device *device, int ranks)
{
    TRY(check_given(device, "device_check_ranks", "the device"));
    TRY(check_communicates(device));
    if (device->driver->check_ranks != NULL)
        TRY(device->driver->check_ranks(device, ranks));

    return STATUS_OK;
}

/* Sent and received, where they are not the same memory. */
static int64_t elements_moved(const struct collective *collective)
{
    if (collective->kind == COLLECTIVE_ALL_TO_ALL)
        return collective->count + collective_received(collective, ranks_count());
    return (collective->kind == COLLECTIVE_SEND_RECV ? 2 : 1) * collective->count;
}

enum status device_collective(struct stream *stream, const struct collective *collective)
{
    struct device *device;

    TRY(check_given(stream, "device_collective", "the stream"));
    device = stream->device;
    TRY(check_collective(collective, ranks_count(), ranks_rank()));
    TRY(check_communicates(device));
    if (ranks_driver() == NULL)
        FAIL(STATUS_BAD_USAGE, "device_collective: there are no other ranks");
    TRY(device->driver->collective(stream, collective));
    count(&device->ledger->collectives, 1);
    count(&device->ledger->collective_bytes,
          elements_moved(collective) * (int64_t)dtype_bytes(collective->dtype));

    return STATUS_OK;
}

/* --- Graphs --- */

enum status graph_begin(struct stream *stream)
{
    TRY(check_given(stream, "graph_begin", "the stream"));
    TRY(check_fault(stream->device, FAULT_graph));
    TRY(stream->device->driver->graph_begin(stream));
    stream->capturing = true;

    return STATUS_OK;
}

enum status graph_end(struct stream *stream, struct graph **graph)
{
    enum status status;

    TRY(check_given(graph, "graph_end", "the result"));
    *graph = NULL;
    TRY(check_given(stream, "graph_end", "the stream"));
    /* Before the fault is checked, because a capture that began must end, or the stream would stay
     * in it. */
    status = stream->device->driver->graph_end(stream, graph);
    stream->capturing = false;
    if (status == STATUS_OK && check_fault(stream->device, FAULT_graph) != STATUS_OK) {
        graph_destroy(*graph); /* The capture has ended either way. */
        *graph = NULL;
        status = status_last()->status;
    }
    return status;
}

enum status graph_launch(struct stream *stream, struct graph *graph)
{
    TRY(check_given(stream, "graph_launch", "the stream"));
    TRY(check_given(graph, "graph_launch", "the graph"));
    TRY(check_fault(stream->device, FAULT_graph));
    TRY(stream->device->driver->graph_launch(stream, graph));
    count(&stream->device->ledger->graph_launches, 1);

    return STATUS_OK;
}

int graph_captured_nodes(const struct stream *stream)
{
    const struct device_driver *driver = stream->device->driver;

    return stream->capturing && driver->graph_captured_nodes != NULL
               ? driver->graph_captured_nodes(stream)
               : -1;
}

int graph_nodes(const struct graph *graph)
{
    return graph->nodes;
}

void graph_destroy(struct graph *graph)
{
    if (graph != NULL)
        graph->device->driver->graph_destroy(graph);
}

void phase_push(struct device *device, const char *name)
{
    device->driver->phase_push(device, name);
}

void phase_pop(struct device *device)
{
    device->driver->phase_pop(device);
}

void device_profile(struct device *device, bool on)
{
    if (device->driver->profile != NULL)
        device->driver->profile(device, on);
}

void range_push(struct device *device, const char *name)
{
    if (device->driver->range_push != NULL)
        device->driver->range_push(device, name);
}

void range_pop(struct device *device)
{
    if (device->driver->range_pop != NULL)
        device->driver->range_pop(device);
}

enum status device_counters_start(struct device *device)
{
    TRY(check_given(device, "device_counters_start", "the device"));
    if (device->driver->counters_start == NULL)
        FAIL(STATUS_UNSUPPORTED, "%s has no counters", device->properties.name);
    return device->driver->counters_start(device);
}

enum status device_counters_stop(struct device *device, struct hardware_counters *counters)
{
    TRY(check_given(device, "device_counters_stop", "the device"));
    return device->driver->counters_stop(device, counters);
}

enum status device_activity_flush(struct device *device)
{
    TRY(check_given(device, "device_activity_flush", "the device"));
    if (device->driver->activity_flush != NULL)
        TRY(device->driver->activity_flush(device));

    return STATUS_OK;
}
