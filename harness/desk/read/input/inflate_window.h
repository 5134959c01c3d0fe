/* The text of a file in windows, inflated on the way where the file is gzip: memory does not depend on
 * the file's size. Several gzip members in a row are one text. */
#ifndef HARNESS_DESK_READ_INPUT_INFLATE_WINDOW_H
#define HARNESS_DESK_READ_INPUT_INFLATE_WINDOW_H

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct inflate_window;

/* IO when the file cannot be opened, BAD_INPUT when it is a folder; both name it. */
enum status inflate_window_open(struct inflate_window **window, const char *path);

/* NULL is allowed. */
void inflate_window_close(struct inflate_window *window);

/* Up to `size` bytes of text; *count 0 is the end, also where a compressed file is cut or damaged
 * (inflate_window_damage()). IO. */
enum status inflate_window_read(struct inflate_window *window, char *bytes, size_t size,
                                size_t *count);

/* Why the text ended too early; NULL: it did not. Lives as long as `window`. */
const char *inflate_window_damage(const struct inflate_window *window);

#endif
