/* Numbers triples in the order in which they come: 0, 1, 2, ... */
#pragma once

#include "harness/base/system/arena.h"

#include <stdint.h>

struct triple {
    uint32_t a, b, c;
};

/* Start with zeros and `arena` set. */
struct triple_table {
    struct arena *arena;
    struct triple *items;
    uint32_t count;
    int64_t room;
    uint32_t *slots; /* number + 1; 0: free; twice as many as there is room */
};

/* The number of that triple; if it is `count` before the call, the triple is new. */
uint32_t triple_table_add(struct triple_table *table, struct triple triple);
