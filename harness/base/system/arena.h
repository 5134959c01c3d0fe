/* Memory that is given back as a whole.
 *
 * Whoever analyses a trace opens an arena, takes from it what is to stay, and closes it when nobody
 * needs the results any more. A pass that needs tables only while it runs takes those from a
 * scratch arena, and closes that at its end: closing returns the memory to the system.
 *
 * Nothing that takes memory from an arena can fail. Where the system has none left, control leaves
 * the work and returns to the arena_run() that started it, which closes the scratch arenas and
 * reports the failure once. So the work must hold nothing else that wants to be released: no file,
 * no lock, no malloc().
 *
 * An arena and its scratch arenas belong to one thread at a time. */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct arena;

/* NULL: no memory, which arena_run() reports. */
struct arena *arena_open(void);

/* An arena for the time of a pass. SCRATCH_ARENA(name, of) declares one that is closed where its
 * scope ends. */
struct arena *arena_scratch(struct arena *arena);
#define SCRATCH_ARENA(name, of)                                                                    \
    __attribute__((cleanup(arena_leave))) struct arena *name = arena_scratch(of)

/* Everything in it is gone, its scratch arenas too. NULL is allowed. */
void arena_close(struct arena *arena);
static inline void arena_leave(struct arena **scratch)
{
    arena_close(*scratch);
}

/* Does `work`. OUT_OF_MEMORY: the arena is NULL, or had too little memory for the work, which ended
 * midway; what it had taken stays until the arena is closed. Outside of arena_run() lack of memory
 * ends the program. */
enum status arena_run(struct arena *arena, void (*work)(struct arena *arena, void *context),
                      void *context);

/* Within arena_run(): does `work` with this arena, and `beside` with one that becomes a part of it,
 * in two threads if there are two cores. Neither may change what the other looks at. Lack of memory
 * in either ends both. */
void arena_run_both(struct arena *arena, void (*work)(struct arena *arena, void *context),
                    void (*beside)(struct arena *arena, void *context), void *context);

/* Room for `count` items of `size` bytes, all zeros, aligned for any type. Never NULL, even for no
 * items. */
void *arena_alloc(struct arena *arena, int64_t count, size_t size);
#define ARENA_NEW(arena, type, count) ((type *)arena_alloc(arena, count, sizeof(type)))

/* Doubles the room of an array of this arena, whose new items are zeros, and returns its new place.
 * A large array is not copied, and takes memory only as its items are written. Start with NULL and
 * a room of 0. */
void *arena_grow(struct arena *arena, void *items, int64_t *room, size_t size);

/* Sees to it that `array` has room for one more than `count` items. */
#define ARENA_ROOM(arena, array, count, room)                                                      \
    do {                                                                                           \
        if ((count) == (room))                                                                     \
            (array) = arena_grow(arena, array, &(room), sizeof *(array));                          \
    } while (0)
