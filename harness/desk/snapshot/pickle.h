/* A pickle as data: numbers, texts, lists and dictionaries. Nothing in it is run: an operation that
 * would import, call or build anything is refused with its name and place.
 *
 * The file is read once, in pieces. Values are known by numbers, 0 is None. Lists and tuples that
 * the file names again are one value, however often they come. Only those members of dictionaries
 * are kept that the caller names. So memory is bounded by the file: 8 bytes per value, and 4 per
 * item; a text is kept once. */
#pragma once

#include "harness/base/status.h"
#include "harness/base/words/intern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PICKLE_MEMBERS = 32,     /* names of members, at most */
    PICKLE_TEXT_BYTES = 4096 /* of a text, that are kept */
};

struct pickle {
    uint64_t *values; /* pickle_values.c says how they are packed */
    int64_t count, room;
    uint32_t *items;
    int64_t item_count, item_room;
    struct intern *texts; /* the caller's words come first */
    int members;
    uint32_t root;
    int64_t bytes; /* of the file */
};

/* `words` [word_count]: texts that are known by their place in it; the first `members` of them are
 * the names of members, PICKLE_MEMBERS at most. IO; BAD_INPUT: the file is none, or does more than
 * hold data; OUT_OF_MEMORY. Release in every case. */
enum status pickle_read(struct pickle *pickle, const char *path, const char *const *words,
                        int word_count, int members);
void pickle_release(struct pickle *pickle);

/* The member of a dictionary with that name, a place in the caller's words; 0, None: there is none,
 * or `value` is no dictionary. */
uint32_t pickle_member(const struct pickle *pickle, uint32_t value, int name);

/* How many items a list has; 0: it is none. */
int64_t pickle_length(const struct pickle *pickle, uint32_t value);
uint32_t pickle_item(const struct pickle *pickle, uint32_t value, int64_t number);

/* A number of the caller's beside a list that has items, 0 at first; NULL: `value` is no such
 * list. */
uint32_t *pickle_note(struct pickle *pickle, uint32_t value);

/* The value as a whole number of 61 bits; larger ones lose their highest bits. */
int64_t pickle_integer(const struct pickle *pickle, uint32_t value, int64_t otherwise);

const char *pickle_text(const struct pickle *pickle, uint32_t value); /* "": it is none */

/* Whether the value is that text, a place in the caller's words. */
bool pickle_is(const struct pickle *pickle, uint32_t value, int word);

/* The values of a pickle while they are read. */
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
