/* Checks and counts of accesses to shared memory: 32 banks of a word each. Between two barriers,
 * warps must not use a word that one of them writes. */
#include "harness/simt/access/access.h"

#include "harness/base/words/text.h"

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
static void need_barriers(struct warp *warp, const struct shared_word *word, bool changes)
{
    uint32_t stamp = stamp_of(warp);

    need(warp, word->writer, stamp);
    if (!changes)
        return;
    need(warp, word->reader, stamp);
    need(warp, word->second, stamp);
}

/* Two readers of different warps are enough to know: a write must come after both. */
static void note_reader(struct shared_word *word, uint32_t stamp)
{
    uint32_t was = word->reader;

    if (was != 0 && ((was ^ stamp) & SEVERAL) != 0)
        word->second = was;
    word->reader = is_others(was, stamp) ? stamp | SEVERAL : stamp;
}

/* A warp's meeting and a lane of it; several lanes may have read. */
enum { MEETING_SHIFT = 6, SEVERAL_LANES = 32 };

static uint32_t meeting_of(const struct warp *warp, int lane)
{
    return warp->meetings << MEETING_SHIFT | (uint32_t)lane;
}

/* Whether another lane of the warp left `was`, with no meeting of the lanes since. */
static bool is_near(uint32_t was, uint32_t now)
{
    return was != now && (was ^ now) >> MEETING_SHIFT == 0;
}

/* Whether another lane takes part in the access, to the same word. */
static bool meets_another(const struct warp *warp, const struct access *access, int lane,
                          uint64_t place)
{
    for (int l = 0; l < SIMT_LANES; l++)
        if (l != lane && warp->lane[l] && access->address[l] / 4 <= place &&
            (access->address[l] + access->bytes - 1) / 4 >= place)
            return true;
    return false;
}

/* Lanes of a warp go on together here, which no GPU promises: one that reads what another has
 * written, or writes what another has read, must meet it in between. Lanes that all read a word and
 * all write it lose each other's change, and to meet would not help. Returns false after a finding.
 */
static bool check_lanes(struct warp *warp, const struct instruction *instruction,
                        const struct access *access, int lane, struct shared_word *word,
                        uint64_t place, bool store)
{
    uint32_t stamp = stamp_of(warp), now = meeting_of(warp, lane);
    bool wrote = word->writer == stamp && is_near(word->wrote, now);
    bool read = store && word->reader == stamp && is_near(word->read, now);

    if (read && meets_another(warp, access, lane, place)) {
        warp_find(warp, instruction, SIMT_RACE, lane,
                  "byte %llu of shared memory, which other lanes of its warp read and write, too",
                  4 * (unsigned long long)place);
        return warp->exec != 0;
    }
    if ((wrote && !store) || read) {
        warp_find(warp, instruction, SIMT_NO_SYNCWARP, lane,
                  "byte %llu of shared memory, which another lane of its warp has %s before",
                  4 * (unsigned long long)place, read ? "read" : "written");
        return warp->exec != 0;
    }
    if (store)
        word->wrote = now;
    else
        word->read = is_near(word->read, now) && word->reader == stamp ? now | SEVERAL_LANES : now;
    return true;
}

/* Another warp has used the word since the last barrier. If that was a read of what nobody had
 * written yet, the first such read is the one to tell of. */
static bool find_missing(struct warp *warp, const struct instruction *instruction, int lane,
                         uint64_t place, bool unwritten)
{
    struct warp_group *group = warp->group;

    if (group->suspect.kind != SIMT_NONE && unwritten) {
        group->suspect.kind = SIMT_NO_BARRIER;
        text_append(group->suspect.detail, sizeof group->suspect.detail,
                    ", which warp %u of the block writes with no barrier in between", warp->number);
        group_settle(warp->launch, group);
        if (warp->launch->ended) {
            warp->live = 0;
            warp_take(warp, 0);
        }
        return warp->exec != 0;
    }
    warp_find(warp, instruction, SIMT_NO_BARRIER, lane,
              "byte %llu of shared memory, which another warp of the block has used since the last "
              "barrier",
              4 * (unsigned long long)place);
    return warp->exec != 0;
}

/* One word of one lane: races, what nobody wrote, and whether a barrier was needed. */
static bool check_word(struct warp *warp, const struct instruction *instruction,
                       const struct access *access, int lane, uint64_t place, unsigned mask,
                       bool store, bool atomic)
{
    struct warp_group *group = warp->group;
    struct shared_word *word = &group->words[place];
    uint32_t stamp = stamp_of(warp);
    bool read = store && is_others(word->reader, stamp);

    if (read || (is_others(word->writer, stamp) &&
                 (!store || access_changes(access, warp, instruction, lane,
                                           (uint64_t)(uintptr_t)group->shared))))
        return find_missing(warp, instruction, lane, place,
                            store && (word->written & mask) != mask);
    if (group->phase > 0) {
        need_barriers(warp, word, store || atomic);
        if (!atomic)
            need(warp, word->adder, stamp);
    }
    if (!atomic && !check_lanes(warp, instruction, access, lane, word, place, store))
        return false;
    if (store) {
        word->written = (uint8_t)(word->written | mask);
        word->writer = stamp;
        return true;
    }
    if ((word->written & mask) != mask && group->suspect.kind == SIMT_NONE) {
        warp_describe(warp, instruction, SIMT_UNWRITTEN, lane, &group->suspect,
                      "byte %llu of shared memory", 4 * (unsigned long long)place);
        if (warp_allows(warp, SIMT_UNWRITTEN))
            group->suspect.kind = SIMT_NONE;
    }
    if (atomic)
        word->adder = is_others(word->adder, stamp) ? stamp | SEVERAL : stamp;
    else
        note_reader(word, stamp);
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

        /* Neighbours, or one address: no bank has two words. */
        if (access->shape != ACCESS_SCATTERED) {
            most = (warp->exec >> from & (UINT32_MAX >> (32 - lanes))) != 0;
            cost.touched += most;
            cost.wanted += most;
            continue;
        }
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
    int wrong = access_misaligned(access, warp), step = 1;

    if (wrong >= 0) {
        warp_find(warp, instruction, SIMT_MISALIGNED, wrong, "byte %llu of shared memory for %u",
                  (unsigned long long)access->address[wrong], access->bytes);
        return false;
    }
    /* If all lanes load one word, checking the first and the last is as good as checking all. */
    if (!store && !atomic && access->shape == ACCESS_ONE && access->end - access->first > 1)
        step = access->end - access->first - 1;
    for (int l = access->first; l < access->end; l += step) {
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
            if (!check_word(warp, instruction, access, l, word, mask, store, atomic))
                return false;
    }
    wrong = store ? access_twice(access, warp, instruction) : -1;
    if (wrong >= 0)
        warp_find(warp, instruction, SIMT_SAME_ADDRESS, wrong, "byte %llu of shared memory",
                  (unsigned long long)access->address[wrong]);
    if (warp->exec != 0)
        count_passes(warp, instruction, access);
    return warp->exec != 0;
}
