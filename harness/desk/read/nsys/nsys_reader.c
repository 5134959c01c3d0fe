/* The SQLite database that Nsight Systems exports (nsys export --type=sqlite), of any version since
 * 2021.
 *
 * Its rows become the events that a trace of PyTorch's profiler has, so everything else works on
 * both. Times are of the session's own clock. The table META_DATA_CAPTURE has the environment of
 * the program, secrets included: only the rank is taken from it, and no other text. */
#include "harness/base/rows.h"
#include "harness/base/system/scratch_folder.h"
#include "harness/base/system/side_program.h"
#include "harness/base/words/text.h"
#include "harness/desk/read/input/trace_format.h"
#include "harness/desk/read/nsys/nsys_reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The largest time, plus or minus, so that the difference of two times fits in 64 bits. */
#define TIME_MAX_NS INT64_C(4000000000000000000)

/* Ids of processes and threads have both in them. */
static int64_t pid_of(int64_t global)
{
    return global >> 24 & 0xffffff;
}

int nsys_process(struct nsys_reading *reading, int64_t global)
{
    int64_t pid = pid_of(global);
    int at = reading->last_process;

    if (at < reading->process_count && reading->processes[at].pid == pid)
        return at;
    for (at = 0; at < reading->process_count; at++)
        if (reading->processes[at].pid == pid)
            break;
    if (at == NSYS_PROCESSES)
        return at;
    if (at == reading->process_count)
        reading->processes[reading->process_count++] = (struct nsys_process){ .pid = pid };
    reading->last_process = at;
    return at;
}

bool nsys_is_wanted(const struct nsys_reading *reading, int process)
{
    if (process == NSYS_PROCESSES)
        return false;
    for (int i = 0; i < reading->process_count; i++)
        if (reading->processes[i].works)
            return reading->processes[process].works;
    return true;
}

int64_t nsys_correlation(int process, sqlite3_value *value)
{
    int64_t correlation = database_integer(value, 0) & 0xffffffff;

    return correlation == 0 ? 0 : (int64_t)process << 32 | correlation;
}

bool nsys_times(struct nsys_reading *reading, sqlite3_value **row, struct trace_event *event)
{
    char reason[sizeof reading->rows->file->bad_reason];

    event->start_ns = database_integer(row[NSYS_START], INT64_MIN);
    event->end_ns = database_integer(row[NSYS_END], INT64_MIN);
    if (event->start_ns >= -TIME_MAX_NS && event->end_ns <= TIME_MAX_NS &&
        event->start_ns <= event->end_ns)
        return true;
    snprintf(reason, sizeof reason, "in row %lld of %s: %s",
             (long long)database_row(reading->database), reading->table,
             event->start_ns > event->end_ns ? "it ends before it begins, or has no end"
                                             : "its times cannot be");
    trace_rows_bad(reading->rows, -1, reason);
    return false;
}

enum status nsys_thread(struct nsys_reading *reading, int64_t global, uint32_t *track)
{
    struct event_track thread = { .process = pid_of(global),
                                  .row_process = pid_of(global),
                                  .thread = global & 0xffffff };

    return trace_rows_track(reading->rows, thread, track);
}

/* Whatever was read of a damaged table is kept. */
static enum status keep_partial(struct nsys_reading *reading, const char *table, enum status status)
{
    if (status != STATUS_BAD_INPUT)
        return status;
    trace_rows_partial(reading->rows, "table %.40s: %.180s", table, status_last()->text);
    return STATUS_OK;
}

enum status nsys_scan(struct nsys_reading *reading, const char *table, const char *const *columns,
                      int count, database_visit *visit, void *context)
{
    reading->table = table;
    return keep_partial(reading, table,
                        database_scan(reading->database, table, columns, count, visit, context));
}

/* --- Calls of CUDA --- */

enum { CLASS = NSYS_END + 1, THREAD, CORRELATION, NAME, CALL_COUNT };

static enum status take_call(void *context, sqlite3_value **row)
{
    enum { DRIVER = 1 };
    struct nsys_reading *reading = context;
    struct trace_rows *rows = reading->rows;
    int64_t global = database_integer(row[THREAD], 0);
    int process = nsys_process(reading, global);
    struct trace_event event = { .kind = database_integer(row[CLASS], 0) == DRIVER
                                             ? EVENT_KIND_DRIVER
                                             : EVENT_KIND_RUNTIME,
                                 .bytes = -1,
                                 .detail = NO_DETAIL };

    if (!nsys_is_wanted(reading, process)) {
        rows->file->other_count++;
        return STATUS_OK;
    }
    if (!trace_rows_have_room(rows, rows->file->event_count) || !nsys_times(reading, row, &event))
        return STATUS_OK;
    event.correlation = nsys_correlation(process, row[CORRELATION]);
    TRY(nsys_thread(reading, global, &event.track));
    TRY(nsys_name(&reading->names, rows, row[NAME], NSYS_CALL, &event.name));
    return trace_rows_event(rows, &event);
}

/* --- The file --- */

/* Other programs write databases too. A file of Nsight Systems has none of these tables. */
static const struct {
    const char *table, *text;
} others[] = {
    { "StringTable", "of nvprof, which is not read: record with its successor, nsys profile" },
    { "rocpd_api", "of rocmProfileData, which is not read: rpd2tracing.py writes JSON of it, which "
                   "ui.perfetto.dev shows; PyTorch's profiler records what is read" },
    { "rocpd_*", "of rocprofv3, which is not read: record with PyTorch's profiler, or let "
                 "rocprofv3 write --output-format pftrace and look at that in Perfetto" },
};

static enum status check_tables(struct database *database, const char *path)
{
    static const char *const ours[] = { "CUPTI_ACTIVITY_KIND_*", "NVTX_*", "TARGET_INFO_*",
                                        "StringIds" };
    bool has;

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        TRY(database_has(database, others[i].table, &has));
        if (has)
            FAIL(STATUS_BAD_INPUT, "%s is a database %s", path, others[i].text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
        TRY(database_has(database, ours[i], &has));
        if (has)
            return STATUS_OK;
    }
    FAIL(STATUS_BAD_INPUT,
         "%s is a database, but has no table of Nsight Systems: nsys export --type=sqlite writes "
         "one",
         path);
}

static enum status read_all(struct nsys_reading *reading)
{
    static const char *const columns[CALL_COUNT] = { "start",     "end",           "eventClass",
                                                     "globalTid", "correlationId", "nameId" };
    struct trace_file *file = reading->rows->file;
    int working = 0;

    TRY(keep_partial(reading, "StringIds",
                     nsys_names_read(&reading->names, reading->database, reading->rows)));
    TRY(nsys_read_about(reading));
    TRY(nsys_read_work(reading));
    TRY(nsys_scan(reading, "CUPTI_ACTIVITY_KIND_RUNTIME", columns, CALL_COUNT, take_call, reading));
    TRY(nsys_read_ranges(reading));
    TRY(nsys_read_waits(reading));
    for (int i = 0; i < reading->process_count; i++) working += reading->processes[i].works;
    file->ranks_by_process = working > 1;
    if (working == 1 && reading->rank >= 0) {
        file->rank = reading->rank;
        file->world_size = reading->world_size;
    }

    return STATUS_OK;
}

static enum status nsys_read(struct trace_rows *rows, struct read_ahead *text, const char *path)
{
    enum status status = STATUS_OK;
    struct nsys_reading *reading = NULL;

    (void)text;
    TRY(rows_make(&reading, 1));
    reading->rows = rows;
    reading->rank = reading->world_size = -1;
    rows->file->recorder = "Nsight Systems";
    TRY_OUT(database_open(&reading->database, path));
    rows->file->text_bytes = database_bytes(reading->database);
    TRY_OUT(check_tables(reading->database, path));
    TRY_OUT(read_all(reading));

out:
    nsys_names_release(&reading->names);
    database_close(reading->database);
    free(reading->devices);
    free(reading);
    return status;
}

const struct trace_format nsys_format = {
    .endings = { ".sqlite" },
    .recognises = database_begins,
    .read = nsys_read,
};

/* --- Reports --- */

/* Only nsys knows the format of its reports: it exports them, unless an export is there already. */

#define EXPORT_SECONDS 1800.0 /* a report of 600 MB takes some minutes */

/* The export beside a report, as `nsys stats` leaves it: not one of an older report by the same
 * name. */
static bool find_beside(char path[PATH_MAX], const char *report)
{
    size_t ending = ends_in(report, ".qdrep") ? strlen(".qdrep") : strlen(".nsys-rep");
    struct stat about, exported;
    size_t length = strlen(report);

    if (length <= ending || length - ending + strlen(".sqlite") >= PATH_MAX)
        return false;
    snprintf(path, PATH_MAX, "%.*s.sqlite", (int)(length - ending), report);
    return stat(report, &about) == 0 && stat(path, &exported) == 0 &&
           exported.st_mtime >= about.st_mtime;
}

static void cut_lines(char *text)
{
    size_t length = strlen(text);

    while (length > 0 && strchr("\r\n ", text[length - 1]) != NULL) text[--length] = '\0';
    for (; *text != '\0'; text++)
        if (*text == '\n')
            *text = ' ';
}

static enum status export_report(const char *nsys, const char *report, const char *to)
{
    enum status status = STATUS_OK;
    char output[PATH_MAX + 16], ending[160];
    const char *const arguments[] = {
        "nsys", "export", "--type=sqlite", "--force-overwrite=true", output, report, NULL
    };
    struct side_program program = { .pid = 0 };

    snprintf(output, sizeof output, "--output=%s", to);
    TRY_OUT(side_program_start(&program, nsys, arguments,
                               &(struct side_program_options){ .seconds = EXPORT_SECONDS }));
    side_programs_wait(&program, 1, NULL);
    if (side_program_exited(&program, 0))
        goto out;
    side_program_ending(ending, sizeof ending, &program);
    cut_lines(program.said);
    FAIL_OUT(STATUS_BAD_INPUT, "nsys does not export %.160s: %s%s%.200s", report, ending,
             program.said[0] != '\0' ? ": " : "", program.said);

out:
    side_program_release(&program);
    return status;
}

static enum status nsys_report_read(struct trace_rows *rows, struct read_ahead *text,
                                    const char *path)
{
    enum status status = STATUS_OK;
    char found[PATH_MAX], nsys[PATH_MAX];
    struct scratch_folder folder = { .path = "" };

    if (find_beside(found, path))
        return nsys_format.read(rows, text, found);
    if (!find_program(nsys, "nsys"))
        FAIL(STATUS_BAD_INPUT,
             "this is a report of Nsight Systems, and nsys is not here to export it; where it is, "
             "run: nsys export --type=sqlite %.200s",
             path);
    TRY_OUT(scratch_folder_make(&folder, "chokepoint-nsys"));
    if (snprintf(found, sizeof found, "%s/export.sqlite", folder.path) >= (int)sizeof found)
        FAIL_OUT(STATUS_BAD_USAGE, "TMPDIR is too long");
    TRY_OUT(export_report(nsys, path, found));
    TRY_OUT(nsys_format.read(rows, text, found));

out:
    scratch_folder_remove(&folder);
    return status;
}

static bool nsys_report_recognises(const char *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    return false; /* only its name tells */
}

const struct trace_format nsys_report_format = {
    .endings = { ".nsys-rep", ".qdrep" },
    .needs_export = true,
    .recognises = nsys_report_recognises,
    .read = nsys_report_read,
};
