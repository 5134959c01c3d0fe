/* Numbers triples in the order in which they come: 0, 1, 2, ... */
#ifndef HARNESS_DESK_ANALYSIS_HOST_TRIPLE_TABLE_H
#define HARNESS_DESK_ANALYSIS_HOST_TRIPLE_TABLE_H

#include "harness/base/status.h"

#include <stdint.h>

struct triple {
    uint32_t a, b, c;
};

/* Start with zeros. */
struct triple_table {
    struct triple *items;
    uint32_t count, room;
    uint32_t *slots; /* number + 1; 0: free; twice as many as there is room */
};

/* The number of that triple; if it is `count` before the call, the triple is new. OUT_OF_MEMORY. */
enum status triple_table_add(struct triple_table *table, struct triple triple, uint32_t *number);
void triple_table_release(struct triple_table *table);

#endif
