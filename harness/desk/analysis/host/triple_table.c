/* A hash table with open addressing, at most half full. */
#include "harness/desk/analysis/host/triple_table.h"

#include <stdlib.h>

static uint32_t hash_of(struct triple triple)
{
    uint64_t hash = ((uint64_t)triple.a << 32 | triple.b) * UINT64_C(0x9e3779b97f4a7c15);

    hash = (hash ^ hash >> 32 ^ triple.c) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32);
}

static uint32_t *slot_of(const struct triple_table *table, struct triple triple)
{
    uint32_t mask = 2 * table->room - 1, slot = hash_of(triple) & mask;

    for (; table->slots[slot] != 0; slot = (slot + 1) & mask) {
        const struct triple *known = &table->items[table->slots[slot] - 1];
        if (known->a == triple.a && known->b == triple.b && known->c == triple.c)
            break;
    }
    return &table->slots[slot];
}

static enum status grow(struct triple_table *table)
{
    enum status status = STATUS_OK;
    uint32_t room = table->room > 0 ? 2 * table->room : 64;
    struct triple *items = realloc(table->items, room * sizeof *items);
    uint32_t *slots = calloc(2 * (size_t)room, sizeof *slots);

    if (items != NULL)
        table->items = items;
    if (items == NULL || slots == NULL) {
        free(slots);
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %u places of a program", room);
    }
    free(table->slots);
    table->slots = slots;
    table->room = room;
    for (uint32_t i = 0; i < table->count; i++) *slot_of(table, table->items[i]) = i + 1;

out:
    return status;
}

enum status triple_table_add(struct triple_table *table, struct triple triple, uint32_t *number)
{
    enum status status = STATUS_OK;
    uint32_t *slot;

    if (table->count == table->room)
        TRY(grow(table));
    slot = slot_of(table, triple);
    if (*slot == 0) {
        table->items[table->count++] = triple;
        *slot = table->count;
    }
    *number = *slot - 1;

out:
    return status;
}

void triple_table_release(struct triple_table *table)
{
    free(table->items);
    free(table->slots);
    *table = (struct triple_table){ .items = NULL };
}
