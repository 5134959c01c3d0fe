/* Chrome's JSON, as PyTorch's profiler (Kineto) and our own recorder write it. */
#ifndef HARNESS_DESK_READ_KINETO_KINETO_READER_H
#define HARNESS_DESK_READ_KINETO_KINETO_READER_H

#include "harness/desk/read/input/read_ahead.h"
#include "harness/desk/trace/trace_rows.h"

/* Fills the rows with all of `text`. IO; BAD_INPUT: it is not a trace; OUT_OF_MEMORY. */
enum status kineto_read(struct trace_rows *rows, struct read_ahead *text, const char *path);

#endif
