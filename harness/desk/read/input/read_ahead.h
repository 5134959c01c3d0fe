/* The text of a file in windows, of which the next is read and inflated by another thread while the caller works on
 * this one. Inflating is a sixth of the work on a trace. */
#ifndef HARNESS_DESK_READ_INPUT_READ_AHEAD_H
#define HARNESS_DESK_READ_INPUT_READ_AHEAD_H

#include "harness/base/status.h"

#include <stddef.h>

enum { READ_AHEAD_PADDING = 64 }; /* zeros behind a window */

struct read_ahead;

/* Errors of inflate_window_open(). */
enum status read_ahead_open(struct read_ahead **ahead, const char *path);

/* NULL is allowed. */
void read_ahead_close(struct read_ahead *ahead);

/* The next window, which lives until the following call, with READ_AHEAD_PADDING zeros behind it; *count 0 is the
 * end, also if a compressed file is cut or damaged. IO. */
enum status read_ahead_next(struct read_ahead *ahead, const char **bytes, size_t *count);

/* The same window as the next call of read_ahead_next(). IO. */
enum status read_ahead_peek(struct read_ahead *ahead, const char **bytes, size_t *count);

/* At the end: why the text ended too early; NULL: it did not. Lives as long as `ahead`. */
const char *read_ahead_damage(const struct read_ahead *ahead);

#endif
