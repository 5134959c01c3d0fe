/* Digests (diagnosis/digest/digest.h): a line of JSON for each trace. The text alone is taken here,
 * and split into one trace a line; digest.c reads what a line says. */
#include "harness/base/rows.h"
#include "harness/desk/read/digest_lines.h"
#include "harness/desk/read/input/read_ahead.h"
#include "harness/desk/read/input/trace_format.h"
#include "harness/desk/trace/trace_rows.h"

#include <stdlib.h>
#include <string.h>

static const char BEGIN[] = "{\"chokepoint_digest\":";

bool digest_begins(const char *bytes, size_t count)
{
    return count >= sizeof BEGIN - 1 && memcmp(bytes, BEGIN, sizeof BEGIN - 1) == 0;
}

/* The longest that ends or goes on behind *line, where the last one begins. */
static int64_t longest_line(const char *text, int64_t *line, int64_t length)
{
    int64_t longest = 0;
    const char *end;

    while ((end = memchr(text + *line, '\n', (size_t)(length - *line))) != NULL) {
        longest = end - text - *line > longest ? end - text - *line : longest;
        *line = end - text + 1;
    }
    return length - *line > longest ? length - *line : longest;
}

static enum status digest_read(struct trace_rows *rows, struct read_ahead *text, const char *path)
{
    const char *bytes;
    char **all = &rows->file->digest;
    int64_t room = 0, length = 0, line = 0;
    int64_t number = 0;
    size_t count;

    do {
        TRY(read_ahead_window(text, number++, &bytes, &count));
        if (length + (int64_t)count > DIGEST_FILE_MOST)
            FAIL(STATUS_BAD_INPUT, "%s has more than %d MB of digests; give them in several files",
                 path, DIGEST_FILE_MOST >> 20);
        TRY(rows_grow(all, length + (int64_t)count + 1, &room));
        memcpy(*all + length, bytes, count);
        length += (int64_t)count;
        (*all)[length] = '\0';
        /* Asked window by window, so that a file of another kind is refused before it fills memory.
         */
        if (longest_line(*all, &line, length) > DIGEST_LINE_MOST)
            FAIL(STATUS_BAD_INPUT, "%s is no digest: a line of it is longer than %d KB", path,
                 DIGEST_LINE_MOST >> 10);
    } while (count > 0);
    if (read_ahead_damage(text) != NULL)
        FAIL(STATUS_BAD_INPUT, "%s is a digest that is damaged: %s", path, read_ahead_damage(text));
    if (length == 0 || (*all)[length - 1] != '\n')
        FAIL(STATUS_BAD_INPUT, "%s is a digest that is cut: its last line has no end", path);

    return STATUS_OK;
}

const struct trace_format digest_format = {
    .endings = { ".digest", ".digest.gz" },
    .recognises = digest_begins,
    .read = digest_read,
};

/* The first line stays in `trace`, which has the others cut off at the end: until then nothing of
 * it is changed, so a failure leaves it whole. */
enum status digest_lines_split(struct trace_file *trace, struct trace_file **parts, int64_t count)
{
    enum status status = STATUS_OK;
    char *line = strchr(trace->digest, '\n');

    for (int64_t i = 0; i < count; i++) parts[i] = NULL;
    for (int64_t i = 1; i < count && line != NULL; i++) {
        struct trace_rows rows;
        char *next = strchr(line + 1, '\n');
        TRY_OUT(trace_rows_open(&rows, 1));
        parts[i] = rows.file;
        rows.file = NULL;
        trace_rows_release(&rows);
        parts[i]->digest =
            strndup(line + 1, next != NULL ? (size_t)(next - line) : strlen(line + 1));
        if (parts[i]->digest == NULL)
            FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for a digest");
        line = next;
    }
    *strchr(trace->digest, '\n') = '\0';
    parts[0] = trace;

out:
    for (int64_t i = 1; i < count && status != STATUS_OK; i++) {
        trace_file_close(parts[i]);
        parts[i] = NULL;
    }
    return status;
}

int64_t digest_lines_count(const struct trace_file *trace)
{
    int64_t count = 0;

    for (const char *at = trace->digest; (at = strchr(at, '\n')) != NULL; at++) count++;
    return count;
}
