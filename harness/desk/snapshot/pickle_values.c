/* A value is a word: its type in the low 3 bits, and above them a number, the number of a text, or
 * the place of its items. The place of a list is that of two items, its length and the caller's
 * note, which its own follow; bits from ROOM_SHIFT on say for how many there is room, 0: for as
 * many as there are. The place of a dictionary is that of a mask of the members that it has, whose
 * values follow in the order of their names. */
#include "harness/desk/snapshot/pickle.h"

#include "harness/base/rows.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 256, /* values 1 to SMALL are the numbers from 0 on */
    TYPE_BITS = 3,
    ROOM_SHIFT = 48,
    LIST_HEAD = 2
};

#define PLACE_MASK  ((UINT64_C(1) << (ROOM_SHIFT - TYPE_BITS)) - 1)
#define VALUES_MOST INT64_C(0xfffffff0)

/* --- Values --- */

enum status pickle_add_integer(struct pickle *pickle, int64_t integer, uint32_t *number)
{
    if (integer < 0 || integer >= SMALL)
        return pickle_add(pickle, PICKLE_INTEGER, (uint64_t)integer, number);
    *number = (uint32_t)integer + 1;

    return STATUS_OK;
}

enum pickle_type pickle_type_of(const struct pickle *pickle, uint32_t value)
{
    return (enum pickle_type)(pickle->values[value] & ((1 << TYPE_BITS) - 1));
}

static uint64_t word_of(enum pickle_type type, uint64_t content)
{
    return content << TYPE_BITS | type;
}

/* Where the items of a list or a dictionary are; 0: it has none. */
static int64_t place_of(const struct pickle *pickle, uint32_t value)
{
    return (int64_t)(pickle->values[value] >> TYPE_BITS & PLACE_MASK);
}

enum status pickle_add(struct pickle *pickle, enum pickle_type type, uint64_t content,
                       uint32_t *number)
{
    if (pickle->count == VALUES_MOST)
        FAIL(STATUS_BAD_INPUT, "the pickle has too many values");
    TRY(rows_grow(&pickle->values, pickle->count + 1, &pickle->room));
    *number = (uint32_t)pickle->count;
    pickle->values[pickle->count++] = word_of(type, content);

    return STATUS_OK;
}

/* Room for `count` more items, whose first is at *place. */
static enum status add_items(struct pickle *pickle, int64_t count, int64_t *place)
{
    *place = pickle->item_count;
    if (pickle->item_count + count > (int64_t)PLACE_MASK)
        FAIL(STATUS_BAD_INPUT, "the pickle has too many items");
    TRY(rows_grow(&pickle->items, pickle->item_count + count, &pickle->item_room));
    pickle->item_count += count;

    return STATUS_OK;
}

/* How many items a list has room for. */
static int64_t room_of(const struct pickle *pickle, uint32_t list)
{
    int64_t bits = (int64_t)(pickle->values[list] >> ROOM_SHIFT);

    return bits > 0 ? INT64_C(1) << bits : pickle_length(pickle, list);
}

/* Moves a list to where it has room for `need` items. The first time it gets no more than that,
 * later twice as many. */
static enum status move_list(struct pickle *pickle, uint32_t list, int64_t need)
{
    int64_t from = place_of(pickle, list), to, room = need;
    uint64_t bits = 0;

    if (from != 0) {
        for (bits = 1; INT64_C(1) << bits < need;) bits++;
        room = INT64_C(1) << bits;
    }
    TRY(add_items(pickle, LIST_HEAD + room, &to));
    if (from != 0)
        memcpy(pickle->items + to, pickle->items + from,
               (size_t)(LIST_HEAD + pickle->items[from]) * sizeof *pickle->items);
    else
        memset(pickle->items + to, 0, LIST_HEAD * sizeof *pickle->items);
    pickle->values[list] = word_of(PICKLE_LIST, (uint64_t)to) | bits << ROOM_SHIFT;

    return STATUS_OK;
}

enum status pickle_append(struct pickle *pickle, uint32_t list, const uint32_t *values,
                          int64_t count)
{
    int64_t length = pickle_length(pickle, list), need = length + count;
    uint32_t *items;

    if (count == 0)
        return STATUS_OK;
    if (need > VALUES_MOST / 2)
        FAIL(STATUS_BAD_INPUT, "a list of the pickle is too long");
    if (need > room_of(pickle, list))
        TRY(move_list(pickle, list, need));
    items = pickle->items + place_of(pickle, list);
    memcpy(items + LIST_HEAD + length, values, (size_t)count * sizeof *values);
    items[0] = (uint32_t)need;

    return STATUS_OK;
}

enum status pickle_set_members(struct pickle *pickle, uint32_t dict, const uint32_t *pairs,
                               int64_t count)
{
    uint32_t kept[PICKLE_MEMBERS], mask = 0, before;
    int64_t place = place_of(pickle, dict), at = place + 1;

    before = place != 0 ? pickle->items[place] : 0;
    for (uint32_t left = before; left != 0; left &= left - 1)
        kept[__builtin_ctz(left)] = pickle->items[at++];
    mask = before;
    for (int64_t i = 0; i < count; i += 2) {
        uint64_t name = pickle->values[pairs[i]] >> TYPE_BITS;
        if (pickle_type_of(pickle, pairs[i]) != PICKLE_TEXT || name >= (uint64_t)pickle->members)
            continue;
        kept[name] = pairs[i + 1];
        mask |= UINT32_C(1) << name;
    }
    if (mask != before) {
        TRY(add_items(pickle, 1 + __builtin_popcount(mask), &place));
        pickle->values[dict] = word_of(PICKLE_DICT, (uint64_t)place);
    }
    if (mask == 0)
        return STATUS_OK;
    pickle->items[place] = mask;
    for (at = place + 1; mask != 0; mask &= mask - 1)
        pickle->items[at++] = kept[__builtin_ctz(mask)];

    return STATUS_OK;
}

/* --- Before and after --- */

/* None, the small numbers, a place 0 that no list has, and the caller's words. */
enum status pickle_begin(struct pickle *pickle, const char *const *words, int word_count,
                         int members)
{
    uint32_t number = 0;
    int64_t place;

    *pickle = (struct pickle){ .members = members };
    TRY(pickle_add(pickle, PICKLE_NONE, 0, &number));
    for (uint64_t i = 0; i < SMALL; i++) TRY(pickle_add(pickle, PICKLE_INTEGER, i, &number));
    TRY(add_items(pickle, 1, &place));
    TRY(intern_open(&pickle->texts, PICKLE_TEXT_BYTES));
    for (int i = 0; i < word_count; i++)
        TRY(intern_add(pickle->texts, words[i], strlen(words[i]), &number));

    return STATUS_OK;
}

void pickle_release(struct pickle *pickle)
{
    free(pickle->values);
    free(pickle->items);
    intern_close(pickle->texts);
    *pickle = (struct pickle){ .count = 0 };
}
/* --- Questions --- */

uint32_t pickle_member(const struct pickle *pickle, uint32_t value, int name)
{
    int64_t place = pickle_type_of(pickle, value) == PICKLE_DICT ? place_of(pickle, value) : 0;
    uint32_t mask = place != 0 ? pickle->items[place] : 0, bit = UINT32_C(1) << name;

    return (mask & bit) != 0 ? pickle->items[place + 1 + __builtin_popcount(mask & (bit - 1))] : 0;
}

int64_t pickle_length(const struct pickle *pickle, uint32_t value)
{
    int64_t place = pickle_type_of(pickle, value) == PICKLE_LIST ? place_of(pickle, value) : 0;

    return place != 0 ? pickle->items[place] : 0;
}

uint32_t pickle_item(const struct pickle *pickle, uint32_t value, int64_t number)
{
    return pickle->items[place_of(pickle, value) + LIST_HEAD + number];
}

uint32_t *pickle_note(struct pickle *pickle, uint32_t value)
{
    return pickle_length(pickle, value) > 0 ? &pickle->items[place_of(pickle, value) + 1] : NULL;
}

int64_t pickle_integer(const struct pickle *pickle, uint32_t value, int64_t otherwise)
{
    return pickle_type_of(pickle, value) == PICKLE_INTEGER
               ? (int64_t)pickle->values[value] >> TYPE_BITS
               : otherwise;
}

const char *pickle_text(const struct pickle *pickle, uint32_t value)
{
    return pickle_type_of(pickle, value) == PICKLE_TEXT
               ? intern_text(pickle->texts, (uint32_t)(pickle->values[value] >> TYPE_BITS))
               : "";
}

bool pickle_is(const struct pickle *pickle, uint32_t value, int word)
{
    return pickle->values[value] == word_of(PICKLE_TEXT, (uint64_t)word);
}
