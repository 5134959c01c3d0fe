/* Checks of accesses to global memory. Each access has remembered the block that it was in last,
 * and if all lanes are in one piece of a block the piece is checked as a whole. */
#include "harness/simt/access/access.h"

typedef unsigned long long wide;

/* The block that holds all of the access; NULL: several do, or none. */
static struct memory_block *block_of(const struct warp *warp, const struct instruction *instruction,
                                     const struct access *access)
{
    struct memory_block **cached = &warp->launch->cache[instruction->slot];

    if (*cached == NULL || access->from < (*cached)->first || access->to > (*cached)->end)
        *cached = memory_find(warp->launch->memory, access->from);
    return *cached != NULL && access->to <= (*cached)->end ? *cached : NULL;
}

/* Returns false, since the launch ends here. */
static bool out_of_bounds(struct warp *warp, const struct instruction *instruction, int lane,
                          uint64_t address)
{
    char around[160];

    memory_around(warp->launch->memory, address, around, sizeof around);
    warp_find(warp, instruction, SIMT_OUT_OF_BOUNDS, lane, "0x%llx, %s", (wide)address, around);
    return false;
}

/* One range of bytes of a block, by one lane or by neighbours. */
static bool check_range(struct warp *warp, const struct instruction *instruction,
                        const struct access *access, int lane, struct memory_block *block,
                        uint64_t from, uint64_t to, bool store, bool atomic)
{
    uint32_t stamp = block->number | warp->stamp, other = 0;
    uint64_t bytes = to - from;

    if (block->closed != NULL && memory_is_closed(block, from, bytes))
        return out_of_bounds(warp, instruction, lane, from);
    if (!store && !memory_is_written(block, from, bytes)) {
        warp_find(warp, instruction, SIMT_UNWRITTEN, lane, "byte %llu of %llu",
                  (wide)(from - block->first), (wide)(block->end - block->first));
        if (warp->exec == 0)
            return false;
    }
    if (block->unordered && !atomic && memory_unordered(block, from, bytes, store, &other)) {
        warp_find(warp, instruction, SIMT_UNORDERED, lane, "byte %llu of %llu, of stream %u",
                  (wide)(from - block->first), (wide)(block->end - block->first), other);
        return warp->exec != 0;
    }
    if (!store && !atomic && !warp->group->acquires &&
        memory_added_by_others(block, from, bytes, warp->group->place)) {
        warp_find(warp, instruction, SIMT_RACE, lane,
                  "0x%llx, which another block changes by atomic operations in this launch",
                  (wide)from);
        return warp->exec != 0;
    }
    if (warp->group->phase > 0 && memory_used_by(block, from, bytes, stamp, store))
        warp->launch->kernel->shares_global = true;
    /* The last block of a reduction in one pass comes after all others' results: fences and a
     * ticket that is taken atomically say so. Warps that write what is there already, and nobody
     * has read, do no harm. */
    if (!atomic &&
        (store ? memory_races_store(block, from, bytes, stamp, &other) &&
                     (memory_read_by_others(block, from, bytes, stamp) ||
                      access_changes(access, warp, instruction, bytes == access->bytes ? lane : -1,
                                     0))
               : memory_races_load(block, from, bytes, stamp, &other)) &&
        !warp->group->joined) {
        char user[40] = "several warps";
        if ((other & MEMORY_SEVERAL) != MEMORY_SEVERAL)
            snprintf(user, sizeof user, "warp %u", (other & MEMORY_SEVERAL) - 1);
        warp_find(warp, instruction, SIMT_RACE, lane,
                  "0x%llx, which %s of the grid used in this launch", (wide)from, user);
        return warp->exec != 0;
    }
    if (store)
        memory_set_written(block, from, bytes);
    else if (!atomic && instruction->space != SPACE_CONST && warp->launch->grid->counts_fresh)
        warp->launch->kernel->accesses[instruction->slot].of[COUNTED_GLOBAL].fresh +=
            memory_fresh(block, from, bytes, warp->group->place);
    return true;
}

/* Atomic operations are counted by address. */
static bool count_atomic(struct warp *warp, const struct instruction *instruction, int lane,
                         struct memory_block *block, uint64_t address)
{
    if (memory_add_atomic(block, address, warp->group->place) == STATUS_OK)
        return true;
    warp_find(warp, instruction, SIMT_LIMITS, lane, "no memory for counts of atomic operations");
    return false;
}

bool global_check(struct warp *warp, const struct instruction *instruction,
                  const struct access *access, bool store, bool atomic)
{
    struct memory_block *block = block_of(warp, instruction, access);
    int wrong = access_misaligned(access, warp);

    warp->group->acquires |= instruction->acquires;
    warp->group->joined |= instruction->acquires && warp->group->fenced;

    if (wrong >= 0) {
        warp_find(warp, instruction, SIMT_MISALIGNED, wrong, "0x%llx for %u bytes",
                  (wide)access->address[wrong], access->bytes);
        return false;
    }
    if (block != NULL && access->shape != ACCESS_SCATTERED && !atomic) {
        if (!check_range(warp, instruction, access, access->first, block, access->from, access->to,
                         store, atomic))
            return false;
    } else {
        for (int l = access->first; l < access->end; l++) {
            uint64_t at = access->address[l];
            struct memory_block *own = block;
            if (!warp->lane[l])
                continue;
            if (own == NULL)
                own = memory_find(warp->launch->memory, at);
            if (own == NULL || at + access->bytes > own->end)
                return out_of_bounds(warp, instruction, l, at);
            if (!check_range(warp, instruction, access, l, own, at, at + access->bytes, store,
                             atomic) ||
                (atomic && !count_atomic(warp, instruction, l, own, at)))
                return false;
        }
    }
    wrong = store && !atomic ? access_twice(access, warp, instruction) : -1;
    if (wrong >= 0)
        warp_find(warp, instruction, SIMT_SAME_ADDRESS, wrong, "0x%llx",
                  (wide)access->address[wrong]);
    return warp->exec != 0;
}
