/* The first window of the text tells the format, whose reader then fills the rows. */
#include "harness/desk/read/reader.h"

#include "harness/desk/read/formats.h"
#include "harness/desk/read/input/read_ahead.h"
#include "harness/desk/trace/trace_rows.h"

#include <malloc.h>

enum { EVENTS_MAX = 50000000, MMAP_THRESHOLD = 128 << 10 };

/* Whether nothing in the file is an event, and something should be one. */
static bool is_none(const struct trace_file *file)
{
    return file->event_count + file->other_count == 0 && file->bad_count > 0;
}

enum status trace_file_read(struct trace_file **trace, const char *path,
                            const struct trace_file_limits *limits)
{
    enum status status = STATUS_OK;
    int64_t events_max = limits != NULL && limits->events > 0 ? limits->events : EVENTS_MAX;
    struct trace_rows rows = { .file = NULL };
    struct read_ahead *text = NULL;
    const char *bytes, *foreign;
    size_t count;
    char first[160];

    *trace = NULL;
    /* glibc raises this with each large block that is freed, and keeps what is freed below it:
     * qsort()'s copies and tables that have grown would stay beside the trace. */
    mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
    TRY_OUT(read_ahead_open(&text, path));
    TRY_OUT(read_ahead_window(text, 0, &bytes, &count));
    TRY_OUT(trace_rows_open(&rows, events_max));
    /* Looked at now: reading goes on in the same memory. */
    foreign = foreign_file(bytes, count, path);
    status = format_of(trace_formats, bytes, count, path)->read(&rows, text, path);
    if (foreign != NULL &&
        (status == STATUS_BAD_INPUT || (status == STATUS_OK && is_none(rows.file))))
        FAIL_OUT(STATUS_BAD_INPUT, "this is %s", foreign);
    TRY_OUT(status);
    read_ahead_close(text); /* settling takes memory itself */
    text = NULL;
    TRY_OUT(trace_rows_settle(&rows));
    if (rows.file->digest != NULL && (limits == NULL || !limits->digests))
        FAIL_OUT(STATUS_BAD_INPUT,
                 "%s is a digest, which holds no events: diagnose and job read it", path);
    if (is_none(rows.file)) {
        trace_file_first_bad(rows.file, first);
        FAIL_OUT(STATUS_BAD_INPUT, "%s is not a trace: nothing in it is an event; %s", path, first);
    }
    *trace = rows.file;
    rows.file = NULL;

out:
    if (status != STATUS_OK)
        status_context("reading %s", path);
    read_ahead_close(text);
    trace_rows_release(&rows);
    return status;
}
