/* A pickle as data: numbers, texts, lists and dictionaries. Nothing in it is run: an operation that would import, call or
 * build anything is refused with its name and place.
 *
 * Values are known by numbers. Lists and tuples that the file names again are one value, however often they come, so memory is
 * bounded by the file: 16 bytes per value, and 8 per item. */
#ifndef HARNESS_DESK_SNAPSHOT_PICKLE_H
#define HARNESS_DESK_SNAPSHOT_PICKLE_H

#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pickle_type {
    PICKLE_NONE,
    PICKLE_INTEGER,
    PICKLE_REAL,
    PICKLE_TEXT,
    PICKLE_LIST,
    PICKLE_DICT
};

struct pickle_node {
    uint8_t type;
    uint8_t room_bits; /* of a list or a dictionary: it has room for 1 << room_bits items */
    uint32_t count;    /* items, or bytes of a text; a dictionary has two items per member */
    union {
        int64_t integer; /* beyond 63 bits as its two's complement */
        double real;
        uint64_t at; /* in the bytes, or in the items */
    };
};

struct pickle {
    const char *bytes; /* the caller's */
    struct pickle_node *nodes;
    int64_t count, room;
    uint32_t *items;
    int64_t item_count, item_room;
    uint32_t root;
};

/* `bytes` must live as long. BAD_INPUT: it is none, or does more than hold data; OUT_OF_MEMORY. Release in every case. */
enum status pickle_read(struct pickle *pickle, const char *bytes, size_t size);
void pickle_release(struct pickle *pickle);

bool pickle_text_is(const struct pickle *pickle, uint32_t node, const char *text);

/* The member of a dictionary of that name; -1: there is none, or it is no dictionary. */
int64_t pickle_member(const struct pickle *pickle, int64_t node, const char *name);

/* How many items a list has; 0: it is none, or -1. */
int64_t pickle_length(const struct pickle *pickle, int64_t node);
uint32_t pickle_item(const struct pickle *pickle, int64_t node, int64_t number);

/* The node as a whole number. */
int64_t pickle_integer(const struct pickle *pickle, int64_t node, int64_t otherwise);

#endif
