/* The text of a file in windows, inflated on the way where the file is gzip: memory does not depend
 * on the file's size. Several gzip members in a row are one text. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>
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

/* Whether the text is the file as it is, on a disk: it can be read from anywhere. */
bool inflate_window_is_plain(const struct inflate_window *window);

/* Reads such a text from byte `at` on, up to `size` bytes and up to the end that the file had when
 * it was opened; *count 0 is that end. Several threads may do so at once. IO. */
enum status inflate_window_read_at(const struct inflate_window *window, int64_t at, char *bytes,
                                   size_t size, size_t *count);

/* Why the text ended too early; NULL: it did not. Lives as long as `window`. */
const char *inflate_window_damage(const struct inflate_window *window);
