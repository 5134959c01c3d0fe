/* Python's json and C's printf write NaN, -nan(ind) and Infinity for floats that are not finite.
 * JSON has no such words. */
#pragma once

#include <stddef.h>

/* The length of such a word at `text`, with its sign; 0: it is something else. Letters of any
 * case. */
size_t json_words_length(const char *text);

/* Replaces such words outside strings, in place, and returns how many there were. "null" is longer
 * than "NaN", so an empty array takes their place: it is not a number either. `text` ends in '\0'
 * at `length` or later. */
size_t json_words_blank(char *text, size_t length);
