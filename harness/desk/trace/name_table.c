/* A hash table of the names' numbers, with open addressing and at most half full. Each text has a block of
 * its own, so that pointers to it stay valid while the table grows. */
#include "harness/desk/trace/name_table.h"

#include <stdlib.h>
#include <string.h>

struct name {
    char *text;
    uint32_t length;
    uint32_t hash;
};

struct name_table {
    struct name *names;
    uint32_t count, room;
    uint32_t *slots;     /* number + 1; 0: free */
    uint32_t slot_count; /* a power of two */
};

/* FNV-1a over eight bytes at a time, with the high half folded in: kernels' names are long. */
static uint32_t hash_of(const char *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ length;

    for (; length >= 8; bytes += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 29;
    }
    for (; length > 0; bytes++, length--)
        hash = (hash ^ (unsigned char)*bytes) * UINT64_C(0x100000001b3);
    return (uint32_t)(hash ^ hash >> 32);
}

static enum status grow(struct name_table *table)
{
    enum status status = STATUS_OK;
    uint32_t room = table->room > 0 ? 2 * table->room : 256;
    struct name *names = realloc(table->names, room * sizeof *names);
    uint32_t *slots = NULL;

    if (names == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %u names", room);
    table->names = names;
    slots = calloc(2 * (size_t)room, sizeof *slots);
    if (slots == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %u names", room);
    for (uint32_t i = 0; i < table->count; i++) {
        uint32_t slot = names[i].hash & (2 * room - 1);
        while (slots[slot] != 0) slot = (slot + 1) & (2 * room - 1);
        slots[slot] = i + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = 2 * room;
    table->room = room;

out:
    return status;
}

enum status name_table_open(struct name_table **opened)
{
    enum status status = STATUS_OK;
    struct name_table *table = calloc(1, sizeof *table);
    uint32_t empty;

    *opened = NULL;
    if (table == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for names");
    TRY(name_table_add(table, "", 0, &empty));
    *opened = table;
    table = NULL;

out:
    name_table_close(table);
    return status;
}

void name_table_close(struct name_table *table)
{
    if (table == NULL)
        return;
    for (uint32_t i = 0; i < table->count; i++) free(table->names[i].text);
    free(table->names);
    free(table->slots);
    free(table);
}

enum status name_table_add(struct name_table *table, const char *bytes, size_t length,
                           uint32_t *number)
{
    enum status status = STATUS_OK;
    const char *zero;
    uint32_t hash, slot;
    struct name name;

    if (length > NAME_BYTES)
        length = NAME_BYTES;
    zero = length > 0 ? memchr(bytes, '\0', length) : NULL;
    if (zero != NULL)
        length = (size_t)(zero - bytes);
    hash = hash_of(bytes, length);
    if (table->count == table->room)
        TRY(grow(table));
    for (slot = hash & (table->slot_count - 1); table->slots[slot] != 0;
         slot = (slot + 1) & (table->slot_count - 1)) {
        const struct name *known = &table->names[table->slots[slot] - 1];
        if (known->hash == hash && known->length == length &&
            (length == 0 || memcmp(known->text, bytes, length) == 0)) {
            *number = table->slots[slot] - 1;
            goto out;
        }
    }
    name = (struct name){ malloc(length + 1), (uint32_t)length, hash };
    if (name.text == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for a name of %zu bytes", length);
    if (length > 0)
        memcpy(name.text, bytes, length);
    name.text[length] = '\0';
    table->names[table->count] = name;
    table->slots[slot] = ++table->count;
    *number = table->count - 1;

out:
    return status;
}

const char *name_table_text(const struct name_table *table, uint32_t number)
{
    return number < table->count ? table->names[number].text : "";
}

uint32_t name_table_count(const struct name_table *table)
{
    return table->count;
}
