/* The first window of the text tells the format, whose reader then fills the rows. If that finds
 * nothing, the same window tells what else the file may be. */
#include "harness/desk/read/reader.h"

#include "harness/base/words/text.h"
#include "harness/desk/read/foreign_files.h"
#include "harness/desk/read/input/read_ahead.h"
#include "harness/desk/trace/trace_rows.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

/* --- Formats --- */

/* A new format is a file, a line in CMakeLists.txt and a name here: those with the surest signs
 * first; the last gets what nobody recognises. */
#define FORMATS(X) X(nsys) X(nsys_report) X(digest) X(kineto)

#define DECLARE(name) extern const struct trace_format name##_format;
FORMATS(DECLARE)

#define ROW(name) &name##_format,
const struct trace_format *const trace_formats[] = { FORMATS(ROW) NULL };

static bool has_ending(const struct trace_format *format, const char *name)
{
    for (const char *const *ending = format->endings; *ending != NULL; ending++)
        if (ends_in(name, *ending))
            return true;
    return false;
}

const struct trace_format *format_of(const struct trace_format *const formats[], const char *bytes,
                                     size_t count, const char *path)
{
    for (int i = 0; formats[i] != NULL; i++)
        if (formats[i]->recognises(bytes, count))
            return formats[i];
    while (formats[1] != NULL && !has_ending(formats[0], path)) formats++;
    return formats[0];
}

bool formats_have_ending(const struct trace_format *const formats[], const char *name)
{
    while (*formats != NULL && ((*formats)->needs_export || !has_ending(*formats, name))) formats++;
    return *formats != NULL;
}

void formats_endings(char text[FORMAT_ENDINGS_TEXT], const struct trace_format *const formats[])
{
    int length = 0;

    for (; *formats != NULL; formats++)
        for (const char *const *ending = (*formats)->endings;
             !(*formats)->needs_export && *ending != NULL; ending++)
            if (length < FORMAT_ENDINGS_TEXT)
                length += snprintf(text + length, (size_t)(FORMAT_ENDINGS_TEXT - length), "%s%s",
                                   length > 0 ? " or " : "", *ending);
}

/* --- Reading --- */

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
    const struct foreign_file *foreign;
    const char *bytes;
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
        FAIL_OUT(STATUS_BAD_INPUT, "this is %s: %s", foreign->name, foreign->instead);
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
