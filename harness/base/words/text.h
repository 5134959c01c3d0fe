/* Text that grows in a buffer of fixed size, such as a sentence for the user.
 *
 * Nothing is written past the buffer, however long the parts are. A text that does not fit ends in
 * "..." after a whole character of UTF-8, and stays as it is from then on. No part may be stored in
 * the buffer itself. */
#pragma once

#include "harness/base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Appends to `text`, a string in a buffer of `size` bytes. Whether all of it fits. */
bool text_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool text_append_list(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Appends one more item of a list: `separator` goes before it unless the text is empty so far. */
bool text_join(char *text, size_t size, const char *separator, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A new text as long as it needs to be, which the caller frees. OUT_OF_MEMORY: *text is NULL. */
enum status text_make(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum status text_make_list(char **text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Whether `name` is something followed by `ending`. False if it is the ending alone. */
bool ends_in(const char *name, const char *ending);
