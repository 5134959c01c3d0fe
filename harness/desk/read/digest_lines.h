/* A file of digests has a line for each trace. */
#pragma once

#include "harness/base/status.h"
#include "harness/desk/trace/trace_file.h"

#include <stddef.h>

enum {
    DIGEST_LINE_MOST = 1 << 20,  /* bytes of text; a digest has a tenth of that */
    DIGEST_FILE_MOST = 256 << 20 /* of lines that are held together */
};

/* Whether text that begins so is a file of digests. */
bool digest_begins(const char *bytes, size_t count);

int64_t digest_lines_count(const struct trace_file *trace);

/* Makes a trace for each of the `count` lines, 1 or more; parts[0] is `trace` itself.
 * OUT_OF_MEMORY: parts are NULL, and `trace` is as it was. */
enum status digest_lines_split(struct trace_file *trace, struct trace_file **parts, int64_t count);
