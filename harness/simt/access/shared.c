/* Checks and counts of accesses to shared memory: 32 banks of a word each. Between two barriers,
 * warps must not use a word that one of them writes. */
#include "harness/simt/access/access.h"

enum { BANKS = 32, PHASE_BITS = 20 };
#define SEVERAL UINT32_C(0xfff) /* readers */

/* A stamp: the phase above, the warp below; 0: none yet. */
static uint32_t stamp_of(const struct warp *warp)
{
    return (warp->group->phase << (32 - PHASE_BITS)) | (warp->number + 1);
}

static bool is_others(uint32_t was, uint32_t stamp)
{
    return was != 0 && was != stamp && (was ^ stamp) >> (32 - PHASE_BITS) == 0;
}

/* A barrier between the access that left stamp `was` and this one was needed. A barrier that was
 * needed for others does as well; if none is, the last one counts. So the fewest count that would
 * do. */
static void need(struct warp *warp, uint32_t was, uint32_t stamp)
{
    struct warp_group *group = warp->group;
    uint32_t phase = group->phase & ((1u << PHASE_BITS) - 1), before = was >> (32 - PHASE_BITS);

    if (was == 0 || before >= phase || group->needed > before || ((was ^ stamp) & SEVERAL) == 0)
        return;
    group->needed = phase;
    warp->launch->kernel->barrier_counts[group->opener].needed++;
}

/* A read needs a barrier after a write by another warp, and a change after any use by one. */
static void need_barriers(struct warp *warp, uint64_t word, bool changes)
{
    struct warp_group *group = warp->group;
    uint32_t stamp = stamp_of(warp);

    need(warp, group->writer[word], stamp);
    if (!changes)
        return;
    need(warp, group->reader[word], stamp);
    need(warp, group->second[word], stamp);
}

/* Two readers of different warps are enough to know: a write must come after both. */
static void note_reader(struct warp_group *group, uint64_t word, uint32_t stamp)
{
    uint32_t was = group->reader[word];

    if (was != 0 && ((was ^ stamp) & SEVERAL) != 0)
        group->second[word] = was;
    group->reader[word] = is_others(was, stamp) ? stamp | SEVERAL : stamp;
}

/* One word of one lane: races, what nobody wrote, and whether a barrier was needed. */
static bool check_word(struct warp *warp, const struct instruction *instruction, int lane,
                       uint64_t word, unsigned mask, bool store, bool atomic)
{
    struct warp_group *group = warp->group;
    uint32_t stamp = stamp_of(warp);

    if (is_others(group->writer[word], stamp) || (store && is_others(group->reader[word], stamp))) {
        warp_find(
            warp, instruction, SIMT_RACE, lane,
            "byte %llu of shared memory, which another warp of the block has used since the last "
            "barrier",
            4 * (unsigned long long)word);
        return warp->exec != 0;
    }
    if (group->phase > 0) {
        need_barriers(warp, word, store || atomic);
        if (!atomic)
            need(warp, group->adder[word], stamp);
    }
    if (store) {
        group->written[word] = (uint8_t)(group->written[word] | mask);
        group->writer[word] = stamp;
        return true;
    }
    if ((group->written[word] & mask) != mask) {
        warp_find(warp, instruction, SIMT_UNWRITTEN, lane, "byte %llu of shared memory",
                  4 * (unsigned long long)word);
        return warp->exec != 0;
    }
    if (atomic)
        group->adder[word] = is_others(group->adder[word], stamp) ? stamp | SEVERAL : stamp;
    else
        note_reader(group, word, stamp);
    return true;
}

/* A pass serves a word of each bank: accesses of 8 or 16 bytes go by halves or quarters of the
 * warp. */
static void count_passes(const struct warp *warp, const struct instruction *instruction,
                         const struct access *access)
{
    struct access_cost cost = { 0 };
    int lanes = access->bytes <= 4 ? 32 : access->bytes == 8 ? 16 : 8;

    for (int from = 0; from < SIMT_LANES; from += lanes) {
        uint64_t words[BANKS][SIMT_LANES];
        unsigned held[BANKS] = { 0 }, most = 0;

        for (int l = from; l < from + lanes; l++)
            for (uint64_t word = access->address[l] / 4;
                 warp->lane[l] && word <= (access->address[l] + access->bytes - 1) / 4; word++) {
                unsigned bank = word % BANKS, k = 0;
                while (k < held[bank] && words[bank][k] != word) k++;
                if (k == held[bank])
                    words[bank][held[bank]++] = word;
                most = held[bank] > most ? held[bank] : most;
            }
        cost.touched += most;
        cost.wanted += most > 0;
    }
    access_count(access, warp, instruction, COUNTED_SHARED, &cost);
}

bool shared_check(struct warp *warp, const struct instruction *instruction,
                  const struct access *access, bool store, bool atomic)
{
    int wrong = access_misaligned(access, warp);

    if (wrong >= 0) {
        warp_find(warp, instruction, SIMT_MISALIGNED, wrong, "byte %llu of shared memory for %u",
                  (unsigned long long)access->address[wrong], access->bytes);
        return false;
    }
    for (int l = access->first; l < access->end; l++) {
        uint64_t at = access->address[l], last = at + access->bytes - 1;
        unsigned mask = access->bytes >= 4 ? 15 : ((1u << access->bytes) - 1) << at % 4;

        if (!warp->lane[l])
            continue;
        if (at >= warp->group->shared_bytes || last >= warp->group->shared_bytes) {
            warp_find(warp, instruction, SIMT_OUT_OF_BOUNDS, l,
                      "byte %lld of shared memory, which has %zu", (long long)at,
                      warp->group->shared_bytes);
            return false;
        }
        for (uint64_t word = at / 4; word <= last / 4; word++)
            if (!check_word(warp, instruction, l, word, mask, store, atomic))
                return false;
    }
    wrong = store ? access_twice(access, warp) : -1;
    if (wrong >= 0)
        warp_find(warp, instruction, SIMT_SAME_ADDRESS, wrong, "byte %llu of shared memory",
                  (unsigned long long)access->address[wrong]);
    if (warp->exec != 0)
        count_passes(warp, instruction, access);
    return warp->exec != 0;
}
