/* A hash table of the texts' numbers, with open addressing and at most half full. Each text has a
 * block of its own, so that pointers to it stay valid while the table grows. */
#include "harness/base/words/intern.h"

#include "harness/base/rows.h"

#include <stdlib.h>
#include <string.h>

struct interned {
    char *text;
    size_t length;
    uint32_t hash;
};

struct intern {
    size_t longest;
    struct interned *texts;
    int64_t room;
    uint32_t count;
    uint32_t *slots;   /* number + 1; 0: free */
    size_t slot_count; /* a power of two */
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

/* The slot of a text, or the free one that it would get. */
static size_t find_slot(const struct intern *intern, const char *bytes, size_t length,
                        uint32_t hash)
{
    size_t slot = hash & (intern->slot_count - 1);

    for (; intern->slots[slot] != 0; slot = (slot + 1) & (intern->slot_count - 1)) {
        const struct interned *known = &intern->texts[intern->slots[slot] - 1];
        if (known->hash == hash && known->length == length &&
            (length == 0 || memcmp(known->text, bytes, length) == 0))
            break;
    }
    return slot;
}

static enum status grow_slots(struct intern *intern)
{
    size_t count = intern->slot_count > 0 ? 2 * intern->slot_count : 512;
    uint32_t *slots;

    TRY(rows_make(&slots, count));
    for (uint32_t i = 0; i < intern->count; i++) {
        size_t slot = intern->texts[i].hash & (count - 1);
        while (slots[slot] != 0) slot = (slot + 1) & (count - 1);
        slots[slot] = i + 1;
    }
    free(intern->slots);
    intern->slots = slots;
    intern->slot_count = count;

    return STATUS_OK;
}

enum status intern_open(struct intern **opened, size_t longest)
{
    TRY(rows_make(opened, 1));
    (*opened)->longest = longest;

    return STATUS_OK;
}

void intern_close(struct intern *intern)
{
    if (intern == NULL)
        return;
    for (uint32_t i = 0; i < intern->count; i++) free(intern->texts[i].text);
    free(intern->texts);
    free(intern->slots);
    free(intern);
}

/* Bytes of a text that are kept: up to its first zero byte, and `longest` at most. */
static size_t kept(const struct intern *intern, const char *bytes, size_t length)
{
    const char *zero;

    if (length > intern->longest)
        length = intern->longest;
    zero = length > 0 ? memchr(bytes, '\0', length) : NULL;
    return zero != NULL ? (size_t)(zero - bytes) : length;
}

enum status intern_add(struct intern *intern, const char *bytes, size_t length, uint32_t *number)
{
    uint32_t hash;
    size_t slot;
    char *text;

    length = kept(intern, bytes, length);
    hash = hash_of(bytes, length);
    if (2 * (size_t)intern->count == intern->slot_count)
        TRY(grow_slots(intern));
    slot = find_slot(intern, bytes, length, hash);
    if (intern->slots[slot] == 0) {
        TRY(rows_grow(&intern->texts, (int64_t)intern->count + 1, &intern->room));
        TRY(rows_make(&text, length + 1));
        if (length > 0)
            memcpy(text, bytes, length);
        intern->texts[intern->count] = (struct interned){ text, length, hash };
        intern->slots[slot] = ++intern->count;
    }
    *number = intern->slots[slot] - 1;

    return STATUS_OK;
}

int64_t intern_find(const struct intern *intern, const char *text)
{
    size_t length = kept(intern, text, strlen(text));

    if (intern->count == 0)
        return -1;
    return (int64_t)intern->slots[find_slot(intern, text, length, hash_of(text, length))] - 1;
}

const char *intern_text(const struct intern *intern, uint32_t number)
{
    return number < intern->count ? intern->texts[number].text : "";
}

uint32_t intern_count(const struct intern *intern)
{
    return intern->count;
}
