/* The addresses that are device memory or pinned host memory: everything else is pageable. */
#pragma once

#include "harness/device/device.h"

#include <pthread.h>

struct region {
    uintptr_t begin, end;
    enum activity_memory kind;
    bool ordered; /* allocated in the order of a stream */
};

/* Safe to use from several threads. */
struct regions {
    pthread_rwlock_t lock;
    struct region *items; /* sorted by address */
    size_t count, room;
};

void regions_init(struct regions *regions);
void regions_release(struct regions *regions);

/* OUT_OF_MEMORY leaves the regions as they were. */
enum status regions_add(struct regions *regions, const void *memory, size_t bytes,
                        enum activity_memory kind, bool ordered);

/* The region that begins at `memory`; of kind PAGEABLE if there is none. */
struct region regions_find(struct regions *regions, const void *memory);

/* Forgets the region of `kind` that begins at `memory`; its bytes, or 0 where there is none. */
size_t regions_remove(struct regions *regions, const void *memory, enum activity_memory kind);

/* The kind of memory that holds [memory, memory + bytes): PAGEABLE where no region holds all of
 * it. */
enum activity_memory regions_kind(struct regions *regions, const void *memory, size_t bytes);

/* The two sides of a copy. */
struct copy_sides {
    enum activity_memory source, destination;
    bool pageable; /* one of them is */
};

/* Finds both sides. BAD_USAGE: `kind` and the memory disagree on which side is device memory. */
enum status regions_copy_sides(struct regions *regions, enum copy_kind kind, const void *to,
                               const void *from, size_t bytes, struct copy_sides *sides);

/* BAD_USAGE: not all of it is device memory. */
enum status regions_check_memset(struct regions *regions, const void *memory, size_t bytes);
