/* The tables are lists by subject; they are sorted by name once, when the first kernel is read. */
#include "harness/simt/code/opcodes.h"

#include "harness/base/sort.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct opcode_table *const tables[] = {
    &opcodes_integer, &opcodes_compare, &opcodes_real,
    &opcodes_convert, &opcodes_half,    &opcodes_move,
};

enum { OPCODES_MOST = 2048 };
static const struct opcode *sorted[OPCODES_MOST];
static size_t sorted_count;

COMPARATOR_OF_POINTERS(by_name, struct opcode, strcmp(a->name, b->name))

static void sort(void)
{
    for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            /* The tables are fixed, so the first kernel that any test reads would end here. */
            if (sorted_count == OPCODES_MOST)
                abort();
            sorted[sorted_count++] = &tables[t]->rows[i];
        }
    qsort(sorted, sorted_count, sizeof *sorted, by_name);
}

const struct opcode *opcode_find(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct opcode wanted = { .name = name };
    const struct opcode *key = &wanted, *const * found;

    pthread_once(&once, sort);
    found = bsearch(&key, sorted, sorted_count, sizeof *sorted, by_name);
    return found != NULL ? *found : NULL;
}

bool opcode_begins(const char *first)
{
    size_t length = strlen(first);

    for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
        for (size_t i = 0; i < tables[t]->count; i++)
            if (strncmp(tables[t]->rows[i].name, first, length) == 0 &&
                tables[t]->rows[i].name[length] == '.')
                return true;
    return false;
}
