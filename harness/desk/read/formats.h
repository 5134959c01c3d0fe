/* The formats that traces are read from. */
#ifndef HARNESS_DESK_READ_FORMATS_H
#define HARNESS_DESK_READ_FORMATS_H

#include "harness/desk/read/input/trace_format.h"

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

#endif
