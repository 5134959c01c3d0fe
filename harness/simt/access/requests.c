/* Counts of requests: the sectors that they touch, and the worst one of each instruction. Sectors
 * beyond those that the bytes fill have a cause each: rows that begin inside a sector, lanes that
 * take no part, or lanes that are far from each other, which is what remains. */
#include "harness/simt/access/access.h"

#include <string.h>

enum { SECTOR = 32, NEAR_SECTORS = 2048 };

static unsigned sectors_between(uint64_t from, uint64_t to)
{
    return (unsigned)((to - 1) / SECTOR - from / SECTOR + 1);
}

/* Scattered lanes: counted in a bitmap if they are near each other, in a list if not. An access is
 * aligned and has at most 32 bytes, so that it is in one sector. */
static unsigned scattered_sectors(const struct access *access, const struct warp *warp)
{
    uint64_t base = access->from / SECTOR, seen[NEAR_SECTORS / 64], far[SIMT_LANES];
    unsigned count = 0, width = sectors_between(access->from, access->to);

    if (access->to / SECTOR - base < NEAR_SECTORS) {
        memset(seen, 0, (width + 63) / 64 * sizeof *seen);
        for (int l = access->first; l < access->end; l++)
            if (warp->lane[l]) {
                uint64_t sector = access->address[l] / SECTOR - base;
                seen[sector / 64] |= UINT64_C(1) << sector % 64;
            }
        for (unsigned i = 0; i < (width + 63) / 64; i++)
            count += (unsigned)__builtin_popcountll(seen[i]);
        return count;
    }
    for (int l = access->first; l < access->end; l++) {
        unsigned k = count;
        if (!warp->lane[l])
            continue;
        while (k > 0 && far[k - 1] != access->address[l] / SECTOR) k--;
        if (k == 0)
            far[count++] = access->address[l] / SECTOR;
    }
    return count;
}

/* How many addresses there are. Mostly they rise from lane to lane. */
unsigned access_distinct(const struct access *access, const struct warp *warp)
{
    unsigned count = 0;
    uint64_t last = 0;

    for (int l = access->first; l < access->end; l++) {
        bool is_new = true;
        if (!warp->lane[l])
            continue;
        if (count > 0 && access->address[l] <= last)
            for (int k = access->first; k < l && is_new; k++)
                is_new = !warp->lane[k] || access->address[k] != access->address[l];
        last = access->address[l] > last ? access->address[l] : last;
        count += is_new;
    }
    return count;
}

/* Sectors of stretches of bytes without gaps, each from a multiple of 32 on. Lanes are put in order
 * first. */
static unsigned settled_sectors(const struct access *access, const struct warp *warp)
{
    uint64_t order[SIMT_LANES] = { access->from }, from, to;
    unsigned count = 0, sectors = 0;

    for (int l = access->first; l < access->end; l++) {
        unsigned k = count;
        if (!warp->lane[l])
            continue;
        for (; k > 0 && order[k - 1] > access->address[l]; k--) order[k] = order[k - 1];
        order[k] = access->address[l];
        count++;
    }
    from = order[0];
    to = from + access->bytes;
    for (unsigned k = 1; k < count; k++) {
        if (order[k] > to) {
            sectors += (unsigned)((to - from + SECTOR - 1) / SECTOR);
            from = order[k];
        }
        to = order[k] + access->bytes;
    }
    return sectors + (unsigned)((to - from + SECTOR - 1) / SECTOR);
}

/* Whether the lanes that take part would lie next to each other if all between them took part: an
 * `if` left them out, and it is not their addresses that are at fault. */
static bool has_holes(const struct access *access, const struct warp *warp)
{
    for (int l = access->first; l < access->end; l++)
        if (warp->lane[l] &&
            access->address[l] != access->from + (uint64_t)(l - access->first) * access->bytes)
            return false;
    return __builtin_popcount(warp->exec) < access->end - access->first;
}

void access_count_global(const struct access *access, const struct warp *warp,
                         const struct instruction *instruction)
{
    struct access_cost cost = { 0 };
    unsigned settled;

    if (access->shape != ACCESS_SCATTERED) {
        cost.touched = sectors_between(access->from, access->to);
        cost.wanted = (unsigned)((access->to - access->from + SECTOR - 1) / SECTOR);
        cost.shifted = cost.touched - cost.wanted;
    } else {
        cost.touched = scattered_sectors(access, warp);
        cost.wanted = (access_distinct(access, warp) * access->bytes + SECTOR - 1) / SECTOR;
        if (cost.touched > cost.wanted && has_holes(access, warp)) {
            settled = (unsigned)((access->to - access->from + SECTOR - 1) / SECTOR);
            cost.holes = settled < cost.touched ? settled : cost.touched;
            cost.holes -= cost.holes > cost.wanted ? cost.wanted : cost.holes;
        } else {
            settled = cost.touched > cost.wanted ? settled_sectors(access, warp) : cost.touched;
        }
        cost.shifted = cost.touched > settled ? cost.touched - settled : 0;
    }
    access_count(access, warp, instruction, COUNTED_GLOBAL, &cost);
}

/* Word w of lane l is the word 32 w + l of the warp's. */
void access_count_local(const struct access *access, const struct warp *warp,
                        const struct instruction *instruction)
{
    struct access spread = *access;
    struct access_cost cost = { 0 };

    spread.from = UINT64_MAX;
    spread.to = 0;
    for (int l = access->first; l < access->end; l++) {
        if (!warp->lane[l])
            continue;
        spread.address[l] = access->address[l] / 4 * 4 * SIMT_LANES + 4 * (uint64_t)l;
        spread.from = spread.address[l] < spread.from ? spread.address[l] : spread.from;
        spread.to = spread.address[l] + 4 > spread.to ? spread.address[l] + 4 : spread.to;
    }
    cost.touched = scattered_sectors(&spread, warp) * ((access->bytes + 3) / 4);
    cost.wanted = ((unsigned)__builtin_popcount(warp->exec) * access->bytes + SECTOR - 1) / SECTOR;
    access_count(access, warp, instruction, COUNTED_LOCAL, &cost);
}

/* The first request is kept until one wastes more. */
static void keep_worst(struct access_counts *counts, const struct access *access,
                       const struct warp *warp, int space, const struct access_cost *cost)
{
    if (counts->sample.mask != 0 &&
        cost->touched - cost->wanted <= counts->sample.touched - counts->sample.wanted)
        return;
    memcpy(counts->sample.address, access->address, sizeof counts->sample.address);
    counts->sample.mask = warp->exec;
    counts->sample.bytes = access->bytes;
    counts->sample.touched = cost->touched;
    counts->sample.wanted = cost->wanted;
    counts->sample.shared = space == COUNTED_SHARED;
}

void access_count(const struct access *access, const struct warp *warp,
                  const struct instruction *instruction, int space, const struct access_cost *cost)
{
    struct access_counts *counts = &warp->launch->kernel->accesses[instruction->slot];
    struct simt_accesses *of = &counts->of[space];
    unsigned lanes = (unsigned)__builtin_popcount(warp->exec);

    of->requests++;
    of->lanes += lanes;
    of->bytes += (uint64_t)lanes * access->bytes;
    of->touched += cost->touched;
    of->wanted += cost->wanted;
    of->shifted += cost->shifted;
    of->holes += cost->holes;
    if (instruction->run == lanes_atomic ||
        (instruction->stores && access->shape != ACCESS_RANGE && lanes > 1))
        of->conflicts += lanes - access_distinct(access, warp);
    if (space != COUNTED_LOCAL)
        keep_worst(counts, access, warp, space, cost);
}
