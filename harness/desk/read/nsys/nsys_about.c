/* Small tables of an export: devices, the clock, the environment, and what nsys says of itself. */
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/desk/read/nsys/nsys_reading.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Devices --- */

static int64_t in_range(sqlite3_value *value, int64_t most)
{
    int64_t number = database_integer(value, 0);

    return number >= 0 && number <= most ? number : 0;
}

enum {
    GPU_ID,
    GPU_ORDINAL,
    GPU_NAME,
    GPU_MEMORY,
    GPU_SMS,
    GPU_LANES,
    GPU_MAJOR,
    GPU_MINOR,
    GPU_COUNT
};

static enum status take_gpu(void *context, sqlite3_value **row)
{
    struct nsys_reading *reading = context;
    struct trace_file *file = reading->rows->file;
    const char *name = database_text(row[GPU_NAME], NULL);
    int64_t id = database_integer(row[GPU_ID], file->device_count);
    struct event_device device = { .bf16_matrix_units = -1,
                                   .fp16_matrix_units = -1,
                                   .tf32 = -1,
                                   .fused_attention = -1,
                                   .shares_host_cores = -1 };

    if (file->device_count == TRACE_FILE_DEVICES)
        return STATUS_OK;
    device.id = reading->device_count > 0 ? id : database_integer(row[GPU_ORDINAL], id);
    snprintf(device.name, sizeof device.name, "%s", name != NULL ? name : "");
    device.memory_bytes = in_range(row[GPU_MEMORY], INT64_MAX);
    device.multiprocessors = (int)in_range(row[GPU_SMS], INT_MAX);
    device.warp_lanes = (int)in_range(row[GPU_LANES], SHRT_MAX);
    device.compute_major = (int)in_range(row[GPU_MAJOR], SHRT_MAX);
    device.compute_minor = (int)in_range(row[GPU_MINOR], SHRT_MAX);
    file->devices[file->device_count++] = device;

    return STATUS_OK;
}

static enum status take_ordinal(void *context, sqlite3_value **row)
{
    enum { MOST = 1 << 16 };
    struct nsys_reading *reading = context;
    struct nsys_device device = { database_integer(row[0], -1), database_integer(row[1], -1),
                                  database_integer(row[2], -1) };

    if (device.gpu < 0 || reading->device_count == MOST)
        return STATUS_OK;
    TRY(rows_grow(&reading->devices, reading->device_count + 1, &reading->device_room));
    reading->devices[reading->device_count++] = device;

    return STATUS_OK;
}

COMPARATOR(by_ordinal, struct nsys_device, ASCENDING(pid) ?: ASCENDING(ordinal))

int64_t nsys_gpu(const struct nsys_reading *reading, int64_t pid, int64_t ordinal)
{
    struct nsys_device key = { .pid = pid, .ordinal = ordinal };
    const struct nsys_device *found =
        reading->device_count > 0
            ? bsearch(&key, reading->devices, (size_t)reading->device_count, sizeof key, by_ordinal)
            : NULL;

    return found != NULL ? found->gpu : ordinal;
}

/* --- The recording --- */

static enum status take_clock(void *context, sqlite3_value **row)
{
    struct nsys_reading *reading = context;

    reading->rows->file->base_ns = database_integer(row[0], 0);
    return STATUS_OK;
}

/* The number of the variable: 12 if the row is "NAME" and "12", or anything and "NAME=12"; -1: it
 * is of another. */
static int64_t number_of(const char *name, const char *value, const char *variable)
{
    size_t length = strlen(variable);
    int64_t number = 0;

    if (strcmp(name, variable) != 0) {
        if (strncmp(value, variable, length) != 0 || value[length] != '=')
            return -1;
        value += length + 1;
    }
    if (*value == '\0')
        return -1;
    for (; *value != '\0'; value++) {
        if (!isdigit((unsigned char)*value) || number > INT_MAX)
            return -1;
        number = 10 * number + (*value - '0');
    }
    return number;
}

/* A launcher tells each rank its number in the environment. */
static enum status take_capture(void *context, sqlite3_value **row)
{
    struct nsys_reading *reading = context;
    const char *name = database_text(row[0], NULL), *value = database_text(row[1], NULL);
    int64_t rank, world;

    if (value == NULL)
        return STATUS_OK;
    rank = number_of(name != NULL ? name : "", value, "RANK");
    world = number_of(name != NULL ? name : "", value, "WORLD_SIZE");
    reading->rank = rank >= 0 ? rank : reading->rank;
    reading->world_size = world >= 0 ? world : reading->world_size;
    return STATUS_OK;
}

/* --- nsys about itself --- */

static bool has(const char *text, const char *word)
{
    return strcasestr(text, word) != NULL;
}

static void say(struct trace_file *file, const char *text)
{
    size_t length = strlen(file->recorder_said), size = sizeof file->recorder_said;

    if (length + strlen(text) + strlen("; ") < size && strstr(file->recorder_said, text) == NULL)
        snprintf(file->recorder_said + length, size - length, "%s%s", length > 0 ? "; " : "", text);
}

/* Events that were lost, and kinds of events of which there are none. */
static enum status take_diagnostic(void *context, sqlite3_value **row)
{
    struct nsys_reading *reading = context;
    struct trace_file *file = reading->rows->file;
    char text[160];
    const char *value = database_text(row[0], NULL);
    size_t length;
    bool lost;

    if (value == NULL)
        return STATUS_OK;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(value, "\r\n"), value);
    length = strlen(text);
    while (length > 0 && (text[length - 1] == '.' || text[length - 1] == ' '))
        text[--length] = '\0';
    lost = has(text, "lost") || has(text, "dropped") || has(text, "overflow");
    file->recorder_lost = file->recorder_lost || lost;
    if (lost || has(text, "not collected") || (has(text, "no ") && has(text, "events collected")))
        say(file, text);
    return STATUS_OK;
}

static void add_cost(struct nsys_reading *reading, sqlite3_value **row)
{
    struct trace_file *file = reading->rows->file;
    struct trace_event event;

    if (nsys_times(reading, row, &event) &&
        event.end_ns - event.start_ns < INT64_MAX / 2 - file->recorder_ns)
        file->recorder_ns += event.end_ns - event.start_ns;
}

static enum status take_profiler_cost(void *context, sqlite3_value **row)
{
    add_cost(context, row);
    return STATUS_OK;
}

/* CUPTI's own: what else is in that table is the program's, such as loading a module. */
static enum status take_cost(void *context, sqlite3_value **row)
{
    enum { BUFFER_FLUSH = 3, INSTRUMENTATION = 4, RESOURCE = 5 };
    int64_t type = database_integer(row[2], 0);

    if (type == BUFFER_FLUSH || type == INSTRUMENTATION || type == RESOURCE)
        add_cost(context, row);
    return STATUS_OK;
}

enum status nsys_read_about(struct nsys_reading *reading)
{
    static const char *const
        clock[] = { "utcEpochNs" },
        *const ordinals[] = { "pid", "cudaId", "gpuId" }, *const capture[] = { "name", "value" },
        *const diagnostics[] = { "text" }, *const costs[] = { "start", "end", "overheadType" };
    static const char *const gpus[GPU_COUNT] = { "id",           "cuDevice",    "name",
                                                 "totalMemory",  "smCount",     "threadsPerWarp",
                                                 "computeMajor", "computeMinor" };

    TRY(nsys_scan(reading, "TARGET_INFO_CUDA_DEVICE", ordinals, 3, take_ordinal, reading));
    sort_items(reading->devices, reading->device_count, sizeof *reading->devices, by_ordinal);
    TRY(nsys_scan(reading, "TARGET_INFO_GPU", gpus, GPU_COUNT, take_gpu, reading));
    TRY(nsys_scan(reading, "TARGET_INFO_SESSION_START_TIME", clock, 1, take_clock, reading));
    TRY(nsys_scan(reading, "META_DATA_CAPTURE", capture, 2, take_capture, reading));
    TRY(nsys_scan(reading, "DIAGNOSTIC_EVENT", diagnostics, 1, take_diagnostic, reading));
    TRY(nsys_scan(reading, "PROFILER_OVERHEAD", costs, 2, take_profiler_cost, reading));
    return nsys_scan(reading, "CUPTI_ACTIVITY_KIND_OVERHEAD", costs, 3, take_cost, reading);
}
