/* The reading of one export of Nsight Systems, in parts: names, processes and devices first, then
 * the work of devices, the calls of the host, and the ranges that programs mark.
 *
 * Columns are asked for by name and may be missing, as versions of the export differ; a missing
 * table means that nothing of its kind happened or was traced. Statuses of all functions: those of
 * nsys_database.h. */
#pragma once

#include "harness/desk/read/nsys/nsys_database.h"
#include "harness/desk/read/nsys/nsys_names.h"
#include "harness/desk/trace/trace_rows.h"

struct nsys_process {
    int64_t pid;
    bool works;     /* a device does its work */
    bool has_loads; /* ranges say when it waits for data */
};

enum { NSYS_PROCESSES = 1024 }; /* more are no run's on one machine */

/* The device that a process calls by a number of its own. */
struct nsys_device {
    int64_t pid, ordinal, gpu;
};

struct nsys_reading {
    struct trace_rows *rows;
    struct database *database;
    const char *table; /* that is being read */
    struct nsys_names names;
    struct nsys_process processes[NSYS_PROCESSES];
    int process_count, last_process;
    struct nsys_device *devices;
    int64_t device_count, device_room;
    int64_t rank, world_size; /* as the environment of the program states them; -1: it does not */
};

/* The number of a process, a new one if need be; NSYS_PROCESSES: there are too many. `global` is an
 * id of a process or a thread, as nsys has them. */
int nsys_process(struct nsys_reading *reading, int64_t global);

/* A correlation that no other process of the file has. */
int64_t nsys_correlation(int process, sqlite3_value *value);

/* Sets the times, which all tables have in their first two columns; false: they cannot be, which is
 * counted as a broken event. */
enum { NSYS_START, NSYS_END };
bool nsys_times(struct nsys_reading *reading, sqlite3_value **row, struct trace_event *event);

/* The track of a thread. */
enum status nsys_thread(struct nsys_reading *reading, int64_t global, uint32_t *track);

/* Scans a table, and if it is damaged, keeps what was read until then: the trace is partial. */
enum status nsys_scan(struct nsys_reading *reading, const char *table, const char *const *columns,
                      int count, database_visit *visit, void *context);

/* Devices, the clock, ranks, and what nsys says of itself. */
enum status nsys_read_about(struct nsys_reading *reading);

/* The device, as the machine numbers it. */
int64_t nsys_gpu(const struct nsys_reading *reading, int64_t pid, int64_t ordinal);

/* Kernels, copies, memsets, and graphs that were launched whole. */
enum status nsys_read_work(struct nsys_reading *reading);

/* Whether the host's rows of a process count: those of a launcher, or of a loader's workers, would
 * stand beside the loop. Work must have been read. */
bool nsys_is_wanted(const struct nsys_reading *reading, int process);

/* Waits in the operating system. Calls and ranges must have been read. */
enum status nsys_read_waits(struct nsys_reading *reading);

/* NVTX ranges: operators, annotations and steps. */
enum status nsys_read_ranges(struct nsys_reading *reading);
