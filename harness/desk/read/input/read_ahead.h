/* The text of a file in windows. A plain file is read by whoever asks for a window; any other is
 * read and inflated by another thread, ahead of those who work on the windows. Inflating is a sixth
 * of the work on a trace. */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
    /* Bytes of windows but the last, which are of two sizes in turn. In a trace with events in
     * window 0, one thread reads the odd ones and joins the rows of the even ones to its own, which
     * takes a quarter of the time of reading them; another thread reads the even ones. */
    READ_AHEAD_EVEN = 512 << 10,
    READ_AHEAD_ODD = 384 << 10,
    READ_AHEAD_PADDING = 64, /* zeros behind a window */
};

struct read_ahead;

/* The bytes of a window that is not the last. */
static inline size_t read_ahead_bytes(int64_t number)
{
    return number % 2 == 0 ? READ_AHEAD_EVEN : READ_AHEAD_ODD;
}

/* Errors of inflate_window_open(). */
enum status read_ahead_open(struct read_ahead **ahead, const char *path);

/* NULL is allowed. */
void read_ahead_close(struct read_ahead *ahead);

/* Window number `number`, with READ_AHEAD_PADDING zeros behind it. One that is not full is the
 * last; those behind it are empty, also if a compressed file is cut or damaged. Windows are asked
 * for in order, the first as often as one likes. Two neighbours may be asked for at once, in two
 * threads, and live until the one behind them is asked for. IO. */
enum status read_ahead_window(struct read_ahead *ahead, int64_t number, const char **bytes,
                              size_t *count);

/* At the end: why the text ended too early; NULL: it did not. Lives as long as `ahead`. */
const char *read_ahead_damage(const struct read_ahead *ahead);
