/* A table with open addressing, at most half full. */
#include "harness/device/cuda/cupti/cupti_names.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 256 };

struct entry {
    char *given;
    char *shown; /* may be `given` */
};

struct cupti_names {
    struct entry *slots;
    size_t count, room; /* room is a power of two */
    char *(*demangle)(const char *mangled, char *buffer, size_t *length, int *result);
};

enum status cupti_names_open(struct cupti_names **result)
{
    struct cupti_names *names = calloc(1, sizeof *names);
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

    *result = NULL;
    if (names != NULL)
        names->slots = calloc(SLOTS_FIRST, sizeof *names->slots);
    if (names == NULL || names->slots == NULL) {
        free(names);
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for the names of a trace");
    }
    names->room = SLOTS_FIRST;
    if (library != NULL)
        *(void **)&names->demangle = dlsym(library, "__cxa_demangle");
    *result = names;

    return STATUS_OK;
}

void cupti_names_close(struct cupti_names *names)
{
    if (names == NULL)
        return;
    for (size_t i = 0; i < names->room; i++) {
        if (names->slots[i].shown != names->slots[i].given)
            free(names->slots[i].shown);
        free(names->slots[i].given);
    }
    free(names->slots);
    free(names);
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static uint64_t hash(const char *name)
{
    uint64_t value = 0xcbf29ce484222325u;

    for (; *name != '\0'; name++) value = (value ^ (unsigned char)*name) * 0x100000001b3u;
    return value;
}

static struct entry *find(const struct cupti_names *names, const char *given)
{
    size_t at = hash(given) & (names->room - 1);

    while (names->slots[at].given != NULL && strcmp(names->slots[at].given, given) != 0)
        at = (at + 1) & (names->room - 1);
    return &names->slots[at];
}

static bool grow(struct cupti_names *names)
{
    struct cupti_names larger = *names;

    larger.room = 2 * names->room;
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < names->room; i++)
        if (names->slots[i].given != NULL)
            *find(&larger, names->slots[i].given) = names->slots[i];
    free(names->slots);
    *names = larger;
    return true;
}

static const char *keep(struct cupti_names *names, const char *given, bool mangled)
{
    struct entry *entry = find(names, given);
    int result = 0;

    if (entry->given != NULL)
        return entry->shown;
    if (2 * (names->count + 1) > names->room) {
        if (!grow(names))
            return "[no memory for its name]";
        entry = find(names, given);
    }
    entry->given = strdup(given);
    if (entry->given == NULL)
        return "[no memory for its name]";
    names->count++;
    entry->shown = NULL;
    if (mangled && names->demangle != NULL)
        entry->shown = names->demangle(given, NULL, NULL, &result);
    if (entry->shown == NULL)
        entry->shown = entry->given;
    return entry->shown;
}

const char *cupti_names_kernel(struct cupti_names *names, const char *mangled)
{
    /* Anything else would be read as a type: "f" as float. */
    return mangled == NULL ? "[unnamed kernel]"
                           : keep(names, mangled, strncmp(mangled, "_Z", 2) == 0);
}

const char *cupti_names_plain(struct cupti_names *names, const char *name)
{
    return keep(names, name, false);
}
