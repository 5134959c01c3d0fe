/* A hash table with open addressing, at most half full. */
#include "harness/base/system/triple_table.h"

static uint32_t *slot_of(const struct triple_table *table, struct triple triple)
{
    uint64_t hash = ((uint64_t)triple.a << 32 | triple.b) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t mask = (uint32_t)(2 * table->room - 1), slot;

    hash = (hash ^ hash >> 32 ^ triple.c) * UINT64_C(0x9e3779b97f4a7c15);
    slot = (uint32_t)(hash >> 32) & mask;
    for (; table->slots[slot] != 0; slot = (slot + 1) & mask) {
        const struct triple *known = &table->items[table->slots[slot] - 1];
        if (known->a == triple.a && known->b == triple.b && known->c == triple.c)
            break;
    }
    return &table->slots[slot];
}

uint32_t triple_table_add(struct triple_table *table, struct triple triple)
{
    uint32_t *slot;

    if (table->count == table->room) {
        table->items = arena_grow(table->arena, table->items, &table->room, sizeof *table->items);
        table->slots = ARENA_NEW(table->arena, uint32_t, 2 * table->room);
        for (uint32_t i = 0; i < table->count; i++) *slot_of(table, table->items[i]) = i + 1;
    }
    slot = slot_of(table, triple);
    if (*slot == 0) {
        table->items[table->count++] = triple;
        *slot = table->count;
    }
    return *slot - 1;
}
