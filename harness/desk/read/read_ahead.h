/* The text of a file in windows, of which the next is read and inflated by another thread while the caller works on
 * this one. Inflating is a sixth of the work on a trace. */
#ifndef HARNESS_DESK_READ_READ_AHEAD_H
#define HARNESS_DESK_READ_READ_AHEAD_H

#include "harness/base/status.h"

#include <stddef.h>

struct inflate_window;
struct read_ahead;

/* OUT_OF_MEMORY. `window` must live longer, and is the reader's until it is closed. */
enum status read_ahead_open(struct read_ahead **ahead, struct inflate_window *window);

/* NULL is allowed. */
void read_ahead_close(struct read_ahead *ahead);

/* The next window, which lives until the following call, with SPLITTER_PADDING zeros behind it (event_splitter.h);
 * *count 0 is the end. IO. */
enum status read_ahead_next(struct read_ahead *ahead, const char **bytes, size_t *count);

#endif
