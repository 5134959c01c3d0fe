/* The memory that a device has given out, so that a copy can be refused that its kind does not fit.
 * An array sorted by address, under a lock for many readers: every copy looks up both of its sides,
 * and only allocations write. */
#include "harness/device/plugin/regions.h"

#include "harness/base/bisect.h"

#include <stdlib.h>
#include <string.h>

void regions_init(struct regions *regions)
{
    memset(regions, 0, sizeof *regions);
    pthread_rwlock_init(&regions->lock, NULL);
}

void regions_release(struct regions *regions)
{
    pthread_rwlock_destroy(&regions->lock);
    free(regions->items);
}

/* The first region that begins beyond `address`. */
static size_t upper_bound(const struct regions *regions, uintptr_t address)
{
    size_t low = 0, high = regions->count;

    BISECT(low, high, i, regions->items[i].begin <= address);
    return low;
}

enum status regions_add(struct regions *regions, const void *memory, size_t bytes,
                        enum activity_memory kind, bool ordered)
{
    enum status status = STATUS_OK;
    uintptr_t begin = (uintptr_t)memory;
    size_t at;

    pthread_rwlock_wrlock(&regions->lock);
    if (regions->count == regions->room) {
        size_t room = regions->room * 2 + 64;
        struct region *items = realloc(regions->items, room * sizeof *items);
        if (items == NULL)
            FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory to record one more allocation");
        regions->items = items;
        regions->room = room;
    }
    at = upper_bound(regions, begin);
    memmove(&regions->items[at + 1], &regions->items[at],
            (regions->count - at) * sizeof *regions->items);
    regions->items[at] = (struct region){ begin, begin + bytes, kind, ordered };
    regions->count++;

out:
    pthread_rwlock_unlock(&regions->lock);
    return status;
}

struct region regions_find(struct regions *regions, const void *memory)
{
    struct region region = { .kind = ACTIVITY_MEMORY_PAGEABLE };
    size_t after;

    pthread_rwlock_rdlock(&regions->lock);
    after = upper_bound(regions, (uintptr_t)memory);
    if (after > 0 && regions->items[after - 1].begin == (uintptr_t)memory)
        region = regions->items[after - 1];
    pthread_rwlock_unlock(&regions->lock);
    return region;
}

size_t regions_remove(struct regions *regions, const void *memory, enum activity_memory kind)
{
    uintptr_t begin = (uintptr_t)memory;
    size_t bytes = 0, after;

    pthread_rwlock_wrlock(&regions->lock);
    after = upper_bound(regions, begin);
    if (after > 0) {
        struct region *region = &regions->items[after - 1];
        if (region->begin == begin && region->kind == kind) {
            bytes = region->end - region->begin;
            memmove(region, region + 1, (regions->count - after) * sizeof *region);
            regions->count--;
        }
    }
    pthread_rwlock_unlock(&regions->lock);
    return bytes;
}

/* Memory in no region, or only in part, is pageable: nothing here gave it out as a whole. */
enum activity_memory regions_kind(struct regions *regions, const void *memory, size_t bytes)
{
    uintptr_t begin = (uintptr_t)memory;
    enum activity_memory kind = ACTIVITY_MEMORY_PAGEABLE;
    size_t after;

    pthread_rwlock_rdlock(&regions->lock);
    after = upper_bound(regions, begin);
    if (after > 0 && bytes <= regions->items[after - 1].end - begin &&
        begin < regions->items[after - 1].end)
        kind = regions->items[after - 1].kind;
    pthread_rwlock_unlock(&regions->lock);
    return kind;
}

static enum status check_side(bool wants_device, enum activity_memory side, const char *direction,
                              const void *memory, size_t bytes)
{
    if ((side == ACTIVITY_MEMORY_DEVICE) != wants_device)
        FAIL(
            STATUS_BAD_USAGE,
            "copy of %zu bytes %s %p: that is %s device memory, but the copy's kind says otherwise",
            bytes, direction, memory, wants_device ? "not (all) in" : "in");

    return STATUS_OK;
}

enum status regions_copy_sides(struct regions *regions, enum copy_kind kind, const void *to,
                               const void *from, size_t bytes, struct copy_sides *sides)
{
    sides->source = regions_kind(regions, from, bytes);
    sides->destination = regions_kind(regions, to, bytes);
    sides->pageable =
        sides->source == ACTIVITY_MEMORY_PAGEABLE || sides->destination == ACTIVITY_MEMORY_PAGEABLE;
    TRY(check_side(kind != COPY_HOST_TO_DEVICE, sides->source, "from", from, bytes));
    return check_side(kind != COPY_DEVICE_TO_HOST, sides->destination, "to", to, bytes);
}

enum status regions_check_memset(struct regions *regions, const void *memory, size_t bytes)
{
    if (regions_kind(regions, memory, bytes) != ACTIVITY_MEMORY_DEVICE)
        FAIL(STATUS_BAD_USAGE, "memset of %zu bytes at %p: that is not (all) in device memory",
             bytes, memory);

    return STATUS_OK;
}
