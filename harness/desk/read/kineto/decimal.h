/* Numbers as JSON writes them, read exactly: a time that went through a double loses
 * nanoseconds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Microseconds as nanoseconds, rounded to the nearest, halves away from zero. False: `text` is no
 * number of JSON, or beyond 2^62 ns (146 years). */
bool decimal_us_to_ns(const char *text, size_t length, int64_t *ns);

/* A whole number. False: it has a fraction, or does not fit. */
bool decimal_integer(const char *text, size_t length, int64_t *value);
