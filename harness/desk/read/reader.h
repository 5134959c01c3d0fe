/* The reader of trace files of any format (input/trace_format.h): ours and those of PyTorch's
 * profiler, 1.8 to 2.x, of NVIDIA and AMD devices; Chrome's JSON, as an object or an array, plain
 * or gzip, of any size; the SQLite files that Nsight Systems exports.
 *
 * A broken event is counted and skipped. If a file ends too early, or holds more than the limit,
 * the trace is what was read until then, and says so. */
#pragma once

#include "harness/base/status.h"
#include "harness/desk/read/input/trace_format.h"
#include "harness/desk/trace/trace_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_file_limits {
    int64_t events; /* kept at most; 0: 50 million, about 3 GB */
    bool digests;   /* are read, too: files of digests, whose text is kept (trace_file.digest) */
};

/* Reads all of it. IO: it cannot be read. BAD_INPUT: it is not a trace; the sentence says what and
 * where. `limits` NULL: the defaults. On failure *trace is NULL. */
enum status trace_file_read(struct trace_file **trace, const char *path,
                            const struct trace_file_limits *limits);

/* --- Formats --- */

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
