/* Tables of device work, one function for a row of each. */
#include "harness/desk/read/nsys/nsys_reading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Columns that all tables of work have. */
#define WORK_COLUMNS "start", "end", "deviceId", "streamId", "correlationId", "globalPid"

enum { DEVICE = NSYS_END + 1, STREAM, CORRELATION, PROCESS, WORK_COUNT };

/* All of the event but its name and details. *keep is false if the event cannot be kept. */
static enum status take_work(struct nsys_reading *reading, sqlite3_value **row,
                             enum event_kind kind, struct trace_event *event, bool *keep)
{
    struct trace_rows *rows = reading->rows;
    int64_t global = database_integer(row[PROCESS], 0);
    int process = nsys_process(reading, global);
    struct event_track track = { .on_device = true, .thread = database_integer(row[STREAM], -1) };

    *event = (struct trace_event){ .kind = kind, .bytes = -1, .detail = NO_DETAIL };
    *keep = process < NSYS_PROCESSES && trace_rows_have_room(rows, rows->file->event_count) &&
            nsys_times(reading, row, event);
    if (!*keep)
        return STATUS_OK;
    reading->processes[process].works = true;
    event->correlation = nsys_correlation(process, row[CORRELATION]);
    track.row_process = reading->processes[process].pid;
    track.process = nsys_gpu(reading, track.row_process, database_integer(row[DEVICE], -1));
    return trace_rows_track(rows, track, &event->track);
}

/* --- Kernels --- */

enum {
    DEMANGLED = WORK_COUNT,
    SHORT_NAME,
    REGISTERS,
    GRID,
    BLOCK = GRID + 3,
    STATIC_SHARED = BLOCK + 3,
    DYNAMIC_SHARED,
    GRAPH,
    GRAPH_NODE,
    KERNEL_COUNT
};

static uint32_t size_of(sqlite3_value *value)
{
    int64_t size = database_integer(value, 0);

    return size > 0 && size <= UINT32_MAX ? (uint32_t)size : 0;
}

/* As CUPTI's users compute them: the blocks of the grid for each multiprocessor, and their
 * warps. */
static void take_spread(struct event_kernel *kernel, const struct event_device *device)
{
    const uint32_t *grid = kernel->grid, *block = kernel->block;
    double blocks = (double)grid[0] * grid[1] * grid[2];
    double threads = (double)block[0] * block[1] * block[2];

    if (device == NULL || device->multiprocessors <= 0 || device->warp_lanes <= 0)
        return;
    kernel->blocks_per_sm = (float)(blocks / device->multiprocessors);
    kernel->warps_per_sm =
        (float)(blocks * ceil(threads / device->warp_lanes) / device->multiprocessors);
}

static enum status take_kernel(void *context, sqlite3_value **row)
{
    struct nsys_reading *reading = context;
    struct trace_rows *rows = reading->rows;
    struct event_kernel kernel = { .registers = size_of(row[REGISTERS]),
                                   .shared_bytes =
                                       size_of(row[STATIC_SHARED]) + size_of(row[DYNAMIC_SHARED]),
                                   .blocks_per_sm = NAN,
                                   .warps_per_sm = NAN,
                                   .occupancy_percent = NAN };
    struct trace_event event;
    bool keep;

    TRY(take_work(reading, row, EVENT_KIND_KERNEL, &event, &keep));
    if (!keep)
        return STATUS_OK;
    for (int i = 0; i < 3; i++) {
        kernel.grid[i] = size_of(row[GRID + i]);
        kernel.block[i] = size_of(row[BLOCK + i]);
    }
    take_spread(&kernel, trace_file_device(rows->file, rows->file->tracks[event.track].process));
    if (database_integer(row[GRAPH_NODE], 0) != 0)
        kernel.graph = database_integer(row[GRAPH], 1) != 0 ? database_integer(row[GRAPH], 1) : 1;
    TRY(nsys_name(&reading->names, rows, row[DEMANGLED], NSYS_KERNEL, &event.name));
    if (event.name == 0)
        TRY(nsys_name(&reading->names, rows, row[SHORT_NAME], NSYS_KERNEL, &event.name));
    TRY(trace_rows_kernel(rows, &kernel, &event.detail));
    return trace_rows_event(rows, &event);
}

/* --- Copies and memsets --- */

enum { BYTES = WORK_COUNT, COPY_KIND, FROM_KIND, TO_KIND, COPY_COUNT };

/* Memory that is managed moves by itself, beside kernels: no call has made such a copy. */
static bool is_migration(int64_t kind)
{
    enum { FIRST = 11, LAST = 13 };

    return kind >= FIRST && kind <= LAST;
}

static enum status take_copy(void *context, sqlite3_value **row)
{
    struct nsys_reading *reading = context;
    int64_t kind = database_integer(row[COPY_KIND], 0);
    char text[80];
    const char *name = nsys_copy_name(text, kind, database_integer(row[FROM_KIND], -1),
                                      database_integer(row[TO_KIND], -1));
    struct trace_event event;
    bool keep;

    if (is_migration(kind)) {
        reading->rows->file->other_count++;
        return STATUS_OK;
    }
    TRY(take_work(reading, row, EVENT_KIND_MEMCPY, &event, &keep));
    if (!keep)
        return STATUS_OK;
    event.bytes = database_integer(row[BYTES], -1);
    if (name == NULL)
        name = "Memcpy";
    TRY(trace_rows_name(reading->rows, name, strlen(name), &event.name));
    return trace_rows_event(reading->rows, &event);
}

static enum status take_memset(void *context, sqlite3_value **row)
{
    struct nsys_reading *reading = context;
    static const char name[] = "Memset (Device)";
    struct trace_event event;
    bool keep;

    TRY(take_work(reading, row, EVENT_KIND_MEMSET, &event, &keep));
    if (!keep)
        return STATUS_OK;
    event.bytes = database_integer(row[BYTES], -1);
    TRY(trace_rows_name(reading->rows, name, strlen(name), &event.name));
    return trace_rows_event(reading->rows, &event);
}

/* --- Graphs --- */

enum { GRAPH_ID = WORK_COUNT, GRAPH_COUNT };

/* A launch of a graph is one row, and stands for all the kernels in it. */
static enum status take_graph(void *context, sqlite3_value **row)
{
    struct nsys_reading *reading = context;
    int64_t number = database_integer(row[GRAPH_ID], 0);
    struct event_kernel kernel = { .blocks_per_sm = NAN,
                                   .warps_per_sm = NAN,
                                   .occupancy_percent = NAN,
                                   .graph = number != 0 ? number : 1 };
    char name[64];
    struct trace_event event;
    bool keep;

    TRY(take_work(reading, row, EVENT_KIND_KERNEL, &event, &keep));
    if (!keep)
        return STATUS_OK;
    snprintf(name, sizeof name, "CUDA graph %lld, whole", (long long)number);
    TRY(trace_rows_name(reading->rows, name, strlen(name), &event.name));
    TRY(trace_rows_kernel(reading->rows, &kernel, &event.detail));
    reading->rows->file->whole_graph_count++;
    return trace_rows_event(reading->rows, &event);
}

enum status nsys_read_work(struct nsys_reading *reading)
{
    static const char *const kernels[KERNEL_COUNT] = {
        WORK_COLUMNS,
        "demangledName",
        "shortName",
        "registersPerThread",
        "gridX",
        "gridY",
        "gridZ",
        "blockX",
        "blockY",
        "blockZ",
        "staticSharedMemory",
        "dynamicSharedMemory",
        "graphId",
        "graphNodeId",
    };
    static const char *const copies[COPY_COUNT] = { WORK_COLUMNS, "bytes", "copyKind", "srcKind",
                                                    "dstKind" };
    static const char *const graphs[GRAPH_COUNT] = { WORK_COLUMNS, "graphId" };
    bool newer;

    TRY(nsys_scan(reading, "CUPTI_ACTIVITY_KIND_KERNEL", kernels, KERNEL_COUNT, take_kernel,
                  reading));
    TRY(nsys_scan(reading, "CUPTI_ACTIVITY_KIND_MEMCPY", copies, COPY_COUNT, take_copy, reading));
    TRY(nsys_scan(reading, "CUPTI_ACTIVITY_KIND_MEMSET", copies, COPY_COUNT, take_memset, reading));
    TRY(nsys_scan(reading, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graphs, GRAPH_COUNT, take_graph,
                  reading));
    TRY(database_has(reading->database, "CUPTI_ACTIVITY_KIND_KERNEL_*", &newer));
    if (newer)
        trace_rows_partial(reading->rows, "it has a table CUPTI_ACTIVITY_KIND_KERNEL_..., which is "
                                          "newer than what is read here");
    return STATUS_OK;
}
