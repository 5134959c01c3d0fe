/* The values of a pickle while they are read. */
#pragma once

#include "harness/desk/snapshot/pickle.h"

enum pickle_type { PICKLE_NONE, PICKLE_INTEGER, PICKLE_TEXT, PICKLE_LIST, PICKLE_DICT };

enum pickle_type pickle_type_of(const struct pickle *pickle, uint32_t value);

/* As pickle_read() begins. */
enum status pickle_begin(struct pickle *pickle, const char *const *words, int word_count,
                         int members);

/* A new value. `content`: the bits of a number, the number of a text; 0 for a list or a dictionary,
 * which are empty. */
enum status pickle_add(struct pickle *pickle, enum pickle_type type, uint64_t content,
                       uint32_t *number);

/* As pickle_add(), but the same small number is one value. */
enum status pickle_add_integer(struct pickle *pickle, int64_t integer, uint32_t *number);

/* Adds values to the end of a list. */
enum status pickle_append(struct pickle *pickle, uint32_t list, const uint32_t *values,
                          int64_t count);

/* Adds members to a dictionary: names and values in turn, `count` of both. Names that the caller
 * did not give are left out. */
enum status pickle_set_members(struct pickle *pickle, uint32_t dict, const uint32_t *pairs,
                               int64_t count);
