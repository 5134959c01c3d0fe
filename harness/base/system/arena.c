/* A list of mappings. Small items share blocks, the first of which holds the arena itself; a large
 * array has a mapping of its own, which the kernel can enlarge without copying. Fresh mappings are
 * zeros, and pages that nobody touches cost nothing, so blocks may be generous.
 *
 * Under AddressSanitizer what is not handed out is poisoned, with a gap behind every array, and an
 * array that grows always moves: so accesses beyond an end, or through a pointer from before, are
 * found as they are with malloc(). */
#include "harness/base/system/arena.h"

#include "harness/base/system/machine.h"
#include "harness/base/system/thread.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
enum { GAP = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes)   ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
enum { GAP = 0 };
#endif

enum {
    ALIGNMENT = 16,
    BLOCK_BYTES = 1 << 18,
    LARGE_BYTES = 1 << 16, /* from here on an array has its own mapping */
    ROOM_FIRST = 16,
};

/* The beginning of a mapping. */
struct mapping {
    struct mapping *next, *before;
    size_t bytes; /* of the mapping */
} __attribute__((aligned(64)));

struct arena {
    struct mapping own; /* the first mapping; this struct lies at its beginning */
    struct arena *root, *parent;
    struct arena *scratch, *parts, *next; /* those of this arena; the next one of the parent's */
    char *free;
    size_t free_bytes;

    /* Used by the root only. */
    jmp_buf *out; /* of the innermost arena_run(); NULL: none */
    int64_t lacked_count;
    size_t lacked_size;
} __attribute__((aligned(64)));

/* --- Mappings --- */

/* NULL: the system has no memory. Poisoned behind the mapping's head. */
static struct mapping *map_bytes(size_t bytes)
{
    struct mapping *mapping =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (mapping == MAP_FAILED)
        return NULL;
    mapping->bytes = bytes;
    ASAN_POISON_MEMORY_REGION(mapping + 1, bytes - sizeof *mapping);
    return mapping;
}

static void unmap(struct mapping *mapping)
{
    size_t bytes = mapping->bytes;

    ASAN_UNPOISON_MEMORY_REGION(mapping, bytes);
    munmap(mapping, bytes);
}

/* The same mapping with more bytes, maybe elsewhere. NULL: there is no memory, and the mapping is
 * as it was. */
static struct mapping *enlarge(struct mapping *mapping, size_t bytes)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    struct mapping *moved = map_bytes(bytes);

    if (moved == NULL)
        return NULL;
    ASAN_UNPOISON_MEMORY_REGION(mapping, mapping->bytes);
    ASAN_UNPOISON_MEMORY_REGION(moved, mapping->bytes);
    memcpy(moved, mapping, mapping->bytes);
    unmap(mapping);
#else
    struct mapping *moved = mremap(mapping, mapping->bytes, bytes, MREMAP_MAYMOVE);

    if (moved == MAP_FAILED)
        return NULL;
#endif
    moved->bytes = bytes;
    return moved;
}

static void link_mapping(struct arena *arena, struct mapping *mapping)
{
    mapping->before = &arena->own;
    mapping->next = arena->own.next;
    if (mapping->next != NULL)
        mapping->next->before = mapping;
    arena->own.next = mapping;
}

/* --- Arenas --- */

static struct arena *map_arena(void)
{
    struct arena *arena = (struct arena *)map_bytes(BLOCK_BYTES);

    if (arena == NULL)
        return NULL;
    ASAN_UNPOISON_MEMORY_REGION(arena, sizeof *arena);
    arena->root = arena;
    arena->free = (char *)(arena + 1);
    arena->free_bytes = BLOCK_BYTES - sizeof *arena;
    return arena;
}

struct arena *arena_open(void)
{
    return map_arena();
}

static _Noreturn void lack(const struct arena *arena, int64_t count, size_t size)
{
    struct arena *root = arena->root;

    root->lacked_count = count;
    root->lacked_size = size;
    if (root->out == NULL) {
        fprintf(stderr, "no memory for %lld items of %zu bytes\n", (long long)count, size);
        abort();
    }
    longjmp(*root->out, 1);
}

struct arena *arena_scratch(struct arena *arena)
{
    struct arena *scratch = map_arena();

    if (scratch == NULL)
        lack(arena, 1, BLOCK_BYTES);
    scratch->root = arena->root;
    scratch->parent = arena;
    scratch->next = arena->scratch;
    arena->scratch = scratch;
    return scratch;
}

void arena_close(struct arena *arena)
{
    struct mapping *next;

    if (arena == NULL)
        return;
    while (arena->scratch != NULL) arena_close(arena->scratch);
    while (arena->parts != NULL) {
        struct arena *part = arena->parts;
        arena->parts = part->next;
        arena_close(part);
    }
    if (arena->parent != NULL) {
        struct arena **link = &arena->parent->scratch;
        while (*link != arena) link = &(*link)->next;
        *link = arena->next;
    }
    for (struct mapping *mapping = &arena->own; mapping != NULL; mapping = next) {
        next = mapping->next;
        unmap(mapping);
    }
}

enum status arena_run(struct arena *arena, void (*work)(struct arena *arena, void *context),
                      void *context)
{
    jmp_buf out, *outer;

    if (arena == NULL)
        return status_fail(STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "no memory left to begin");
    outer = arena->out;
    if (setjmp(out) == 0) {
        arena->out = &out;
        work(arena, context);
        arena->out = outer;
        return STATUS_OK;
    }
    arena->out = outer;
    while (arena->scratch != NULL) arena_close(arena->scratch);
    return status_fail(STATUS_OUT_OF_MEMORY, __FILE__, __LINE__,
                       "no memory left for %lld items of %zu bytes", (long long)arena->lacked_count,
                       arena->lacked_size);
}

/* --- Two at once --- */

struct beside {
    struct arena *arena;
    void (*work)(struct arena *arena, void *context);
    void *context;
    enum status status;
};

static void *run_beside(void *argument)
{
    struct beside *beside = argument;

    beside->status = arena_run(beside->arena, beside->work, beside->context);
    return NULL;
}

static struct arena *add_part(struct arena *arena)
{
    struct arena *part = map_arena();

    if (part == NULL)
        lack(arena, 1, BLOCK_BYTES);
    part->next = arena->parts;
    arena->parts = part;
    return part;
}

void arena_run_both(struct arena *arena, void (*work)(struct arena *arena, void *context),
                    void (*beside)(struct arena *arena, void *context), void *context)
{
    struct beside other = { add_part(arena), beside, context, STATUS_OK };
    struct arena *root = arena->root, *part = other.arena;
    jmp_buf out, *outer = root->out;
    volatile bool has_thread = false;
    bool is_lacking;
    pthread_t thread;

    if (machine_cores() > 1)
        has_thread = thread_start(&thread, "beside", run_beside, &other) == 0;
    is_lacking = setjmp(out) != 0;
    if (!is_lacking) {
        root->out = &out;
        work(arena, context);
    }
    root->out = outer;
    if (has_thread)
        pthread_join(thread, NULL);
    else if (!is_lacking)
        run_beside(&other);
    part->root = root; /* so that more can be taken from it */
    if (is_lacking)
        lack(arena, root->lacked_count, root->lacked_size);
    if (other.status != STATUS_OK)
        lack(arena, part->lacked_count, part->lacked_size);
}

/* --- Items --- */

/* False: more than there can be. */
static bool bytes_for(size_t *bytes, int64_t count, size_t size)
{
    if (count < 0 || __builtin_mul_overflow((size_t)count, size, bytes) ||
        *bytes > PTRDIFF_MAX - (size_t)BLOCK_BYTES)
        return false;
    *bytes = (*bytes + GAP + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}

/* The place of items; NULL: the system has no memory for another mapping. */
static void *find_place(struct arena *arena, size_t bytes)
{
    bool large = bytes >= LARGE_BYTES;
    struct mapping *mapping;
    char *place;

    if (large || bytes > arena->free_bytes) {
        mapping = map_bytes(large ? sizeof *mapping + bytes : BLOCK_BYTES);
        if (mapping == NULL)
            return NULL;
        link_mapping(arena, mapping);
        if (large)
            return mapping + 1;
        arena->free = (char *)(mapping + 1);
        arena->free_bytes = BLOCK_BYTES - sizeof *mapping;
    }
    place = arena->free;
    arena->free += bytes;
    arena->free_bytes -= bytes;
    return place;
}

void *arena_alloc(struct arena *arena, int64_t count, size_t size)
{
    size_t bytes;
    void *items = bytes_for(&bytes, count, size) ? find_place(arena, bytes) : NULL;

    if (items == NULL)
        lack(arena, count, size);
    ASAN_UNPOISON_MEMORY_REGION(items, (size_t)count * size);
    return items;
}

/* NULL: there is no memory. */
static void *grow_large(void *items, size_t bytes)
{
    struct mapping *mapping = enlarge((struct mapping *)items - 1, sizeof *mapping + bytes);

    if (mapping == NULL)
        return NULL;
    mapping->before->next = mapping;
    if (mapping->next != NULL)
        mapping->next->before = mapping;
    return mapping + 1;
}

void *arena_grow(struct arena *arena, void *items, int64_t *room, size_t size)
{
    int64_t more = *room == 0 ? ROOM_FIRST : *room > INT64_MAX / 2 ? INT64_MAX : 2 * *room;
    size_t bytes = 0, before = 0;
    void *grown;

    bytes_for(&before, *room, size);
    if (*room == 0 || before < LARGE_BYTES) {
        grown = arena_alloc(arena, more, size);
        if (*room > 0) {
            memcpy(grown, items, (size_t)*room * size);
            ASAN_POISON_MEMORY_REGION(items, (size_t)*room * size);
        }
    } else {
        grown = bytes_for(&bytes, more, size) ? grow_large(items, bytes) : NULL;
        if (grown == NULL)
            lack(arena, more, size);
        ASAN_UNPOISON_MEMORY_REGION(grown, (size_t)more * size);
    }
    *room = more;
    return grown;
}
