/* A format of trace files. Each is one const row, NAME_format, which FORMATS in reader.c lists.
 *
 * A reader of a format fills rows (trace_rows.h), and knows no other format. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct read_ahead;
struct trace_rows;

enum { FORMAT_ENDINGS = 4 };

struct trace_format {
    const char *endings[FORMAT_ENDINGS + 1]; /* of its files' names: ".json"; NULL ends them */

    /* Another program has to export its files first: in a folder they are passed over, as their
     * exports may be there. */
    bool needs_export;

    /* Whether a file that begins so is one, after inflating. `count` is 0 for an empty file, and
     * 256 KiB unless the file is shorter. */
    bool (*recognises)(const char *bytes, size_t count);

    /* Reads all of it: `text` gives the bytes from the first one on. A format that has to seek may
     * open `path` itself, unless that is a pipe. Broken events and early ends are noted in the
     * rows. IO; BAD_INPUT: it is not a trace, the sentence says what and where; OUT_OF_MEMORY. The
     * caller settles the rows. */
    enum status (*read)(struct trace_rows *rows, struct read_ahead *text, const char *path);
};
