/* The formats that traces are read from. */
#pragma once

#include "harness/desk/read/input/trace_format.h"

#include <stdbool.h>
#include <stddef.h>

enum { FORMAT_ENDINGS_TEXT = 200 };

/* All of them; NULL ends them, here and below. */
extern const struct trace_format *const trace_formats[];

/* The format of a file, by how it begins, or else by the ending of its path, or else the last one,
 * whose reader says what is wrong with it. */
const struct trace_format *format_of(const struct trace_format *const formats[], const char *bytes,
                                     size_t count, const char *path);

/* Whether a file of that name ends as one of a format that needs no export. */
bool formats_have_ending(const struct trace_format *const formats[], const char *name);

/* ".json or .json.gz" */
void formats_endings(char text[FORMAT_ENDINGS_TEXT], const struct trace_format *const formats[]);

/* --- Files that are no traces --- */

/* Names a file that is no trace: people try what else their tools write. */

/* "a report of Nsight Systems, which ... ", by the first bytes or the end of the name; NULL:
 * nothing that is known. The bytes are those before any decompression of gzip was needed. */
const char *foreign_file(const char *bytes, size_t count, const char *path);

/* Whether a file that begins so is a pickle with the parts of a snapshot of PyTorch's memory. */
bool file_is_snapshot(const char *bytes, size_t count);
