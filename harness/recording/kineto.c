/* Writes a trace as PyTorch's profiler (Kineto) does, so that its viewers take it. Two passes over
 * the rows: one joins (joins.h), one writes. Nothing is kept of what was written, so a long trace
 * takes no more memory than its rows.
 *
 * The helpers at the top write one member or one event each and know nothing of activity; every
 * kind of row has a function that uses them, and `activity_writers` picks it. Facts of the whole
 * trace come first, because a reader of the stream needs them before the events. */
#include "harness/recording/kineto.h"

#include "harness/desk/read/kineto/device_numbers.h"
#include "harness/recording/joins.h"
#include "harness/recording/json_stream.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    THREADS_MAX = 256,     /* that get a name */
    DEVICE_SORT = 5000000, /* devices are shown below the host, as Kineto sorts them */
    WAITS_TID = -1,        /* where PyTorch's profiler puts waits for a whole context */
};

/* A host thread, or a stream of a device. */
struct place {
    int64_t pid, tid;
};

struct writer {
    struct json_stream *json;
    const struct trace *trace;
    const struct kineto_about *about;
    struct joins joins;
    int64_t start_ns, end_ns;
    int64_t host; /* process id */
    bool first;   /* no event is written yet */
    /* The number of the newest host span, counted in the order of the rows, as joins.c counts. */
    int64_t external;
    struct place places[THREADS_MAX]; /* that rows were seen on */
    int place_count;
};

/* --- Members of an object; each is followed by the next one's comma --- */

static void key(struct writer *writer, const char *name)
{
    json_put(writer->json, ",\"");
    json_put(writer->json, name);
    json_put(writer->json, "\":");
}

static void text(struct writer *writer, const char *name, const char *value)
{
    key(writer, name);
    json_put_string(writer->json, value);
}

static void integer(struct writer *writer, const char *name, int64_t value)
{
    key(writer, name);
    json_put_integer(writer->json, value);
}

static void fraction(struct writer *writer, const char *name, double value)
{
    key(writer, name);
    json_put_fraction(writer->json, value);
}

static void three(struct writer *writer, const char *name, const uint32_t value[3])
{
    key(writer, name);
    for (int i = 0; i < 3; i++) {
        json_put(writer->json, i == 0 ? "[" : ",");
        json_put_unsigned(writer->json, value[i]);
    }
    json_put(writer->json, "]");
}

/* --- Events --- */

/* Notes a thread or stream, so that it gets its name at the end. From the newest, which is often
 * the same again. */
static void see(struct writer *writer, int64_t pid, int64_t tid)
{
    for (int i = writer->place_count; i-- > 0;)
        if (writer->places[i].tid == tid && writer->places[i].pid == pid)
            return;
    if (writer->place_count < THREADS_MAX)
        writer->places[writer->place_count++] = (struct place){ pid, tid };
}

/* Writes an event up to its time; the caller closes it. */
static void event_open(struct writer *writer, const char *phase, const char *category,
                       const char *name, int64_t pid, int64_t tid, int64_t at_ns)
{
    json_put(writer->json, writer->first ? "\n{\"ph\":\"" : ",\n{\"ph\":\"");
    writer->first = false;
    json_put(writer->json, phase);
    json_put(writer->json, "\"");
    if (category != NULL)
        text(writer, "cat", category);
    text(writer, "name", name);
    integer(writer, "pid", pid);
    integer(writer, "tid", tid);
    key(writer, "ts");
    json_put_us(writer->json, at_ns - writer->start_ns);
}

/* The first argument takes no comma, so it is opened with the arguments: every kind has one
 * number. */
static void arguments_open(struct writer *writer, const char *name, int64_t value)
{
    json_put(writer->json, ",\"args\":{\"");
    json_put(writer->json, name);
    json_put(writer->json, "\":");
    json_put_integer(writer->json, value);
}

static void arguments_close(struct writer *writer)
{
    json_put(writer->json, "}}");
}

/* A complete event ("X"), up to its arguments. */
static void interval(struct writer *writer, const char *category, const char *name, int64_t pid,
                     int64_t tid, int64_t start_ns, int64_t end_ns)
{
    see(writer, pid, tid);
    event_open(writer, "X", category, name, pid, tid, start_ns);
    key(writer, "dur");
    json_put_us(writer->json, end_ns - start_ns);
}

/* One end of the arrow from a call ("s") to its work ("f"). */
static void flow(struct writer *writer, const char *phase, uint32_t correlation, int64_t pid,
                 int64_t tid, int64_t at_ns)
{
    event_open(writer, phase, "ac2g", "ac2g", pid, tid, at_ns);
    integer(writer, "id", correlation);
    if (phase[0] == 'f')
        text(writer, "bp", "e"); /* binds to the interval that encloses it */
    json_put(writer->json, "}");
}

/* --- Host rows --- */

static void write_operator(struct writer *writer, const struct trace_operator *call)
{
    const struct trace_operation *operation = call->operation;

    interval(writer, "cpu_op", operation->name, writer->host, call->thread, call->start_ns,
             call->end_ns);
    arguments_open(writer, "External id", ++writer->external);
    if (operation->sequence >= 0) {
        integer(writer, "Sequence number", operation->sequence);
        if (operation->backward)
            integer(writer, "Fwd thread id", call->thread);
    }
    key(writer, "Input Dims");
    for (int i = 0; i < operation->input_count; i++) {
        const struct trace_input *input = &operation->inputs[i];
        json_put(writer->json, i == 0 ? "[[" : ",[");
        if (input->rows > 0) {
            json_put_integer(writer->json, input->rows);
            json_put(writer->json, ",");
        }
        json_put_integer(writer->json, input->width);
        json_put(writer->json, "]");
    }
    json_put(writer->json, operation->input_count > 0 ? "]" : "[]");
    key(writer, "Input type");
    for (int i = 0; i < operation->input_count; i++) {
        json_put(writer->json, i == 0 ? "[" : ",");
        json_put_string(writer->json, operation->inputs[i].type);
    }
    json_put(writer->json, operation->input_count > 0 ? "]" : "[]");
    integer(writer, "bytes", operation->bytes);
    integer(writer, "flops", operation->flops);
    arguments_close(writer);
}

static void step_name(char *name, size_t size, const struct trace_step *step)
{
    snprintf(name, size, "ProfilerStep#%lld", (long long)step->number);
}

static void write_step(struct writer *writer, const struct trace_step *step)
{
    char name[40];

    step_name(name, sizeof name, step);
    interval(writer, "user_annotation", name, writer->host, step->thread, step->start_ns,
             step->end_ns);
    arguments_open(writer, "External id", ++writer->external);
    integer(writer, "samples", step->samples);
    integer(writer, "tokens", step->tokens);
    integer(writer, "padded tokens", step->padded_tokens);
    integer(writer, "flops", step->flops);
    arguments_close(writer);
}

enum { DEVICE_TYPE_CPU = 0, DEVICE_TYPE_CUDA = 1 }; /* c10::DeviceType */

static void address(struct writer *writer, uint64_t value)
{
    key(writer, "Addr");
    json_put_unsigned(writer->json, value);
}

static void write_memory(struct writer *writer, const struct trace_memory *memory)
{
    event_open(writer, "i", "cpu_instant_event", "[memory]", writer->host, memory->thread,
               memory->at_ns);
    text(writer, "s", "t");
    arguments_open(writer, "Device Type", DEVICE_TYPE_CUDA);
    integer(writer, "Device Id", writer->about->device->index);
    address(writer, memory->address);
    integer(writer, "Bytes", memory->bytes);
    integer(writer, "Total Allocated", memory->allocated);
    integer(writer, "Total Reserved", memory->reserved);
    text(writer, "Category", memory->category);
    integer(writer, "Category Allocated", memory->category_allocated);
    arguments_close(writer);
}

/* --- Activity --- */

static void write_call(struct writer *writer, const struct activity *call, const char *category)
{
    const struct call_join *join = joins_call(&writer->joins, call->correlation);

    interval(writer, category, call->name, writer->host, call->thread, call->start_ns,
             call->end_ns);
    arguments_open(writer, "correlation", call->correlation);
    if (join != NULL && join->external > 0)
        integer(writer, "External id", join->external);
    arguments_close(writer);
    if (join != NULL && join->call == call && join->first != NULL)
        flow(writer, "s", call->correlation, writer->host, call->thread, call->start_ns);
}

/* The members that all device work has, up to its own arguments. */
static void work_open(struct writer *writer, const struct activity *work, const char *category)
{
    const struct call_join *join = joins_call(&writer->joins, work->correlation);

    interval(writer, category, work->name, work->device, work->stream, work->start_ns,
             work->end_ns);
    arguments_open(writer, "device", work->device);
    integer(writer, "context", 1);
    integer(writer, "stream", work->stream);
    integer(writer, "correlation", work->correlation);
    if (join != NULL && join->external > 0)
        integer(writer, "External id", join->external);
    if (work->graph != 0) {
        integer(writer, "graph id", work->graph);
        integer(writer, "graph node id", work->graph_node);
        if (work->fitted)
            integer(writer, "fitted", 1);
    }
}

static void work_close(struct writer *writer, const struct activity *work)
{
    const struct call_join *join = joins_call(&writer->joins, work->correlation);

    arguments_close(writer);
    if (join != NULL && join->first == work)
        flow(writer, "f", work->correlation, work->device, work->stream, work->start_ns);
}

static double product(const uint32_t size[3])
{
    return (double)size[0] * (double)size[1] * (double)size[2];
}

/* A rank's part is what it has before an all-gather and after a reduce-scatter. */
static void collective_arguments(struct writer *writer, const struct activity *kernel)
{
    static const char *const types[DTYPE_COUNT] = { "Float", "BFloat16", "Half" };
    int ranks = writer->about->ranks > 0 ? writer->about->ranks : 1;
    int64_t all = kernel->bytes / (int64_t)dtype_bytes(kernel->dtype);
    bool gathers = strcmp(kernel->collective, "_allgather_base") == 0;
    bool scatters = strcmp(kernel->collective, "_reduce_scatter_base") == 0;

    text(writer, "Collective name", kernel->collective);
    integer(writer, "In msg nelems", gathers ? all / ranks : all);
    integer(writer, "Out msg nelems", scatters ? all / ranks : all);
    integer(writer, "Group size", ranks);
    text(writer, "dtype", types[kernel->dtype]);
    text(writer, "Process Group Name", "0");
    text(writer, "Process Group Description", "default_pg");
    integer(writer, "Rank", writer->about->rank);
}

/* Blocks and warps per SM as Kineto has them (libkineto/src/DeviceProperties.cpp, blocksPerSm and
 * warpsPerSm). On the CPU device a block is a row or pack of a kernel. */
static void write_kernel(struct writer *writer, const struct activity *kernel, const char *category)
{
    const struct device_properties *device = writer->about->device;
    int sms = device->multiprocessors > 0 ? device->multiprocessors : 1;
    int lanes = device->warp_lanes > 0 ? device->warp_lanes : 1;
    double blocks = product(kernel->grid) / sms;

    work_open(writer, kernel, category);
    integer(writer, "queued", 0);
    integer(writer, "registers per thread", kernel->registers);
    integer(writer, "shared memory", kernel->shared_bytes);
    fraction(writer, "blocks per SM", blocks);
    fraction(writer, "warps per SM", blocks * product(kernel->block) / lanes);
    three(writer, "grid", kernel->grid);
    three(writer, "block", kernel->block);
    integer(writer, "est. achieved occupancy %", (int64_t)(100 * kernel->occupancy + 0.5f));
    if (kernel->collective != NULL)
        collective_arguments(writer, kernel);
    work_close(writer, kernel);
}

static void write_transfer(struct writer *writer, const struct activity *work, const char *category)
{
    int64_t duration_ns = work->end_ns - work->start_ns;

    work_open(writer, work, category);
    integer(writer, "bytes", work->bytes);
    fraction(writer, "memory bandwidth (GB/s)",
             duration_ns > 0 ? (double)work->bytes / (double)duration_ns : 0);
    work_close(writer, work);
}

/* CUPTI's name for a kind of wait, in the words of PyTorch's profiler. */
static const char *wait_name(const char *name)
{
    static const char *const names[][2] = {
        { "Stream Synchronize", "Stream Sync" },
        { "Event Synchronize", "Event Sync" },
        { "Context Synchronize", "Context Sync" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i][0]) == 0)
            return names[i][1];
    return name;
}

static void write_wait(struct writer *writer, const struct activity *wait, const char *category)
{
    const char *name = wait_name(wait->name);

    interval(writer, category, name, wait->device, WAITS_TID, wait->start_ns, wait->end_ns);
    arguments_open(writer, "device", wait->device);
    integer(writer, "context", 1);
    integer(writer, "stream", wait->stream > 0 ? (int64_t)wait->stream : -1);
    integer(writer, "correlation", wait->correlation);
    text(writer, "cuda_sync_kind", name);
    arguments_close(writer);
}

static void write_device_memory(struct writer *writer, const struct activity *memory,
                                const char *category)
{
    static const char *const kinds[] = { "Unknown", "Pageable", "Pinned", "Device" };
    bool on_device = memory->destination == ACTIVITY_MEMORY_DEVICE;

    event_open(writer, "i", category, "[device memory]", writer->host, memory->thread,
               memory->start_ns);
    text(writer, "s", "t");
    arguments_open(writer, "Device Type", on_device ? DEVICE_TYPE_CUDA : DEVICE_TYPE_CPU);
    integer(writer, "Device Id", on_device ? writer->about->device->index : -1);
    address(writer, memory->address);
    integer(writer, "Bytes", memory->bytes);
    if ((size_t)memory->destination < ARRAY_SIZE(kinds))
        text(writer, "Memory Kind", kinds[memory->destination]);
    text(writer, "Allocation", memory->asynchronous ? "stream-ordered" : "direct");
    integer(writer, "correlation", memory->correlation);
    arguments_close(writer);
}

static void write_phase(struct writer *writer, const struct activity *phase, const char *category)
{
    interval(writer, category, phase->name, writer->host, phase->thread, phase->start_ns,
             phase->end_ns);
    arguments_open(writer, "External id", ++writer->external);
    arguments_close(writer);
}

static void write_overhead(struct writer *writer, const struct activity *overhead,
                           const char *category)
{
    interval(writer, category, overhead->name, WAITS_TID, 0, overhead->start_ns, overhead->end_ns);
    arguments_open(writer, "device", overhead->device);
    arguments_close(writer);
}

/* The category says to viewers what kind of row it is; kineto.h lists them. */
static const struct {
    void (*write)(struct writer *writer, const struct activity *activity, const char *category);
    const char *category;
} activity_writers[ACTIVITY_KIND_COUNT] = {
    [ACTIVITY_RUNTIME] = { write_call, "cuda_runtime" },
    [ACTIVITY_DRIVER] = { write_call, "cuda_driver" },
    [ACTIVITY_KERNEL] = { write_kernel, "kernel" },
    [ACTIVITY_MEMCPY] = { write_transfer, "gpu_memcpy" },
    [ACTIVITY_MEMSET] = { write_transfer, "gpu_memset" },
    [ACTIVITY_SYNCHRONIZATION] = { write_wait, "cuda_sync" },
    [ACTIVITY_MEMORY] = { write_device_memory, "cpu_instant_event" },
    [ACTIVITY_PHASE] = { write_phase, "user_annotation" },
    [ACTIVITY_OVERHEAD] = { write_overhead, "overhead" },
};

static void write_row(struct writer *writer, const struct trace_row *row)
{
    switch (row->kind) {
    case TRACE_ACTIVITY:
        if ((unsigned)row->activity.kind < ACTIVITY_KIND_COUNT)
            activity_writers[row->activity.kind].write(
                writer, &row->activity, activity_writers[row->activity.kind].category);
        break;
    case TRACE_OPERATOR:
        write_operator(writer, &row->call);
        break;
    case TRACE_STEP:
        write_step(writer, &row->step);
        break;
    case TRACE_MEMORY:
        write_memory(writer, &row->memory);
        break;
    case TRACE_REPLAY: /* write_replayed() */
        break;
    }
}

static void write_projection(struct writer *writer, const struct projection *projection)
{
    const struct trace_row *row = projection->row;
    char step[40];
    const char *name = step;

    if (row->kind == TRACE_STEP)
        step_name(step, sizeof step, &row->step);
    else
        name = row->activity.name;
    interval(writer, "gpu_user_annotation", name, projection->device, projection->stream,
             projection->start_ns, projection->end_ns);
    arguments_open(writer, "External id", projection->external);
    arguments_close(writer);
}

/* An annotation that no host span has: it names its launch instead, by the correlation of that
 * call. Under the name "correlation" HolisticTraceAnalysis would take the row for device work. */
static void write_replayed(struct writer *writer, const struct graph_run *replayed)
{
    /* None of its nodes was recorded. */
    if (replayed->start_ns > replayed->end_ns)
        return;
    interval(writer, "gpu_user_annotation", replayed->span->name, replayed->device,
             replayed->stream, replayed->start_ns, replayed->end_ns);
    arguments_open(writer, "graph launch", replayed->call->call->correlation);
    integer(writer, "graph node id", replayed->span->first);
    arguments_close(writer);
}

/* --- Names of processes and threads --- */

/* Viewers take a process for a row of its own, so the host is one and the device another. Metadata
 * events ("M") name and sort them. They come last, since only then all threads were seen. */

static void name_row(struct writer *writer, const char *what, int64_t pid, int64_t tid,
                     const char *argument, const char *value)
{
    event_open(writer, "M", NULL, what, pid, tid, writer->start_ns);
    json_put(writer->json, ",\"args\":{\"");
    json_put(writer->json, argument);
    json_put(writer->json, "\":");
    json_put_string(writer->json, value);
    arguments_close(writer);
}

static void sort_row(struct writer *writer, const char *what, int64_t pid, int64_t tid,
                     int64_t index)
{
    event_open(writer, "M", NULL, what, pid, tid, writer->start_ns);
    arguments_open(writer, "sort_index", index);
    arguments_close(writer);
}

static void name_process(struct writer *writer, int64_t pid, const char *label, int64_t sort)
{
    name_row(writer, "process_name", pid, 0, "name", "chokepoint");
    name_row(writer, "process_labels", pid, 0, "labels", label);
    sort_row(writer, "process_sort_index", pid, 0, sort);
}

static void name_places(struct writer *writer)
{
    const struct device_properties *properties = writer->about->device;
    int device = properties->index;
    char name[48];

    name_process(writer, writer->host, "CPU", writer->host);
    snprintf(name, sizeof name, properties->is_gpu ? "GPU %d" : "CPU device %d", device);
    name_process(writer, device, name, DEVICE_SORT + device);
    for (int i = 0; i < writer->place_count; i++) {
        const struct place *place = &writer->places[i];
        bool waits = place->tid == WAITS_TID, host = place->pid == writer->host;
        snprintf(name, sizeof name,
                 waits  ? "waits of the host"
                 : host ? "thread %lld"
                        : "stream %lld",
                 (long long)place->tid);
        name_row(writer, "thread_name", place->pid, place->tid, "name", name);
        sort_row(writer, "thread_sort_index", place->pid, place->tid,
                 waits ? DEVICE_SORT : place->tid);
    }
}

/* --- The trace as a whole --- */

static void put_device(struct writer *writer)
{
    const struct kineto_about *about = writer->about;
    const struct device_properties *device = about->device;

    json_put(writer->json, ",\n\"deviceProperties\":[{\"id\":");
    json_put_integer(writer->json, device->index);
    text(writer, "name", device->name);
    text(writer, "kind", device->kind);
    text(writer, "isa", device->isa);
#define PUT(json_name, member, value) integer(writer, json_name, value);
    DEVICE_NUMBERS(PUT)
#undef PUT
    json_put(writer->json, "}]");
}

/* Facts that have no place in PyTorch's format. */
static void put_ours(struct writer *writer)
{
    const struct kineto_about *about = writer->about;

    json_put(writer->json, ",\n\"chokepoint\":{\"schema\":1");
    if (about->settings != NULL)
        text(writer, "settings", about->settings);
    text(writer, "clock", "CLOCK_MONOTONIC");
    key(writer, "duration_us");
    json_put_us(writer->json, writer->end_ns - writer->start_ns);
    integer(writer, "rows", trace_row_count(writer->trace));
    integer(writer, "steps", about->steps);
    integer(writer, "windows", about->windows);
    if (about->peak_flops_per_second > 0)
        integer(writer, "peak_flops_per_second", (int64_t)about->peak_flops_per_second);
    if (about->copy_bytes_per_second > 0)
        integer(writer, "copy_bytes_per_second", (int64_t)about->copy_bytes_per_second);
    if (about->step_time_us > 0) {
        fraction(writer, "step_time_us", about->step_time_us);
        fraction(writer, "traced_step_time_us", about->traced_step_time_us);
        fraction(writer, "tracing_overhead", about->traced_step_time_us / about->step_time_us - 1);
        if (isfinite(about->spread))
            fraction(writer, "tracing_spread", about->spread);
    }
    if (about->loader_reads_share > 0) {
        fraction(writer, "loader_reads_share", about->loader_reads_share);
        fraction(writer, "loader_computes_share", 1 - about->loader_reads_share);
    }
#define COUNTER(member, name, metric)                                                              \
    if (hardware_counters_known(&about->counters) && isfinite(about->counters.member))             \
        fraction(writer, #member, about->counters.member);
    HARDWARE_COUNTERS(COUNTER)
#undef COUNTER
    if (isfinite(about->wanted_cores)) {
        fraction(writer, "wanted_cores", about->wanted_cores);
        integer(writer, "cores", about->cores);
    }
    if (isfinite(about->other_cores))
        fraction(writer, "other_programs_cores", about->other_cores);
    json_put(writer->json, "}");
}

static void put_ranks(struct writer *writer)
{
    const struct kineto_about *about = writer->about;

    if (about->ranks <= 1)
        return;
    json_put(writer->json, about->device->is_gpu ? ",\n\"distributedInfo\":{\"backend\":\"nccl\""
                                                 : ",\n\"distributedInfo\":{\"backend\":\"mpi\"");
    integer(writer, "rank", about->rank);
    integer(writer, "world_size", about->ranks);
    json_put(writer->json, "}");
}

enum status kineto_write(const char *path, struct trace *trace, const struct kineto_about *about)
{
    struct writer writer = { .trace = trace, .about = about, .host = getpid(), .first = true };
    enum status status = STATUS_OK;

    trace_end(trace);
    writer.start_ns = trace_start_ns(trace);
    writer.end_ns = trace_end_ns(trace);
    TRY_OUT(joins_make(&writer.joins, trace));
    TRY_OUT(json_stream_open(&writer.json, path));
    json_put(writer.json, "{\"schemaVersion\":1");
    put_device(&writer);
    put_ranks(&writer);
    json_put(writer.json, ",\n\"record_shapes\":1,\"profile_memory\":1,\"with_flops\":1");
    text(&writer, "displayTimeUnit", "ms");
    /* The wall clock at the moment from which the times of all events count. */
    integer(&writer, "baseTimeNanoseconds", trace_start_wall_ns(writer.trace));
    text(&writer, "traceName", writer.about->name);
    if (trace_dropped(writer.trace) > 0)
        integer(&writer, "droppedRecords", trace_dropped(writer.trace));
    put_ours(&writer);
    /* Annotations on streams come before the work that they hold, outer ones (the later
     * projections) before inner ones: of equal intervals, viewers take the first as the outer. */
    struct trace_cursor cursor = { 0 };
    const struct trace_row *row;
    json_put(writer.json, ",\n\"traceEvents\":[");
    for (int64_t i = writer.joins.projection_count; i-- > 0;)
        write_projection(&writer, &writer.joins.projections[i]);
    for (int64_t i = writer.joins.replayed_count; i-- > 0;)
        write_replayed(&writer, &writer.joins.replayed[i]);
    while ((row = trace_next(writer.trace, &cursor)) != NULL) write_row(&writer, row);
    name_places(&writer);
    json_put(writer.json, "\n]}\n");
    TRY_OUT(json_stream_finish(writer.json));

out:
    joins_release(&writer.joins);
    return status;
}
