/* How the values of knobs are read and written, by the knob's kind. */
#pragma once

#include "harness/engine/settings/knobs.h"

/* The types that a knob may have; its kind says which. */
union knob_value {
    unsigned choice;
    bool yes;
    int count;
    double real;
    int64_t bytes;
    uint64_t seed;
};

/* The number of `word` in a list "a|b|c", or -1. */
int knob_word_find(const char *list, const char *word);

size_t knob_value_size(const struct knob *knob);

/* False where the knob does not take `text`. Nothing is skipped or guessed: "7 ", "+7" and "7.0"
 * are not counts. */
bool knob_value_parse(const struct knob *knob, const char *text, union knob_value *value);

/* The values that the knob takes, in words: "eager, graph or auto". */
void knob_value_advice(const struct knob *knob, char *text, size_t size);

/* Writes text that knob_value_parse() reads back as the same value; returns snprintf()'s result. */
int knob_value_print(const struct knob *knob, const union knob_value *value, char *text,
                     size_t size);
