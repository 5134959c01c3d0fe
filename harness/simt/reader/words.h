/* PTX as words: names, numbers and strings whole, everything else a character at a time. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_word {
    const char *text; /* in the module's text, which outlives it */
    int length, line;
};

/* The words of `text`, for free(). OUT_OF_MEMORY. */
enum status words_of(struct ptx_word **words, int64_t *count, const char *text, size_t bytes);

bool word_is(struct ptx_word word, const char *text);

/* Copies, cut if it does not fit. */
void word_copy(struct ptx_word word, char *to, size_t size);

/* A number as PTX writes them: decimal, 0x, and 0f or 0d with the bits of a float or double.
 * Whether it is one. */
bool word_number(struct ptx_word word, uint64_t *value);
