/* Lanes of a warp together: shuffles and votes. Every lane of the mask that is alive must come at
 * the same time ("Parallel Synchronization and Communication Instructions": otherwise what happens
 * is undefined). */
#include "harness/simt/code/lanes.h"

#include <string.h>

void warp_check_members(struct warp *warp, const struct instruction *instruction, uint32_t mask)
{
    uint32_t absent = mask & warp->live & ~warp->exec, strange = warp->exec & ~mask;

    warp->meetings++;
    if (absent != 0)
        warp_find(warp, instruction, SIMT_LANE_MASK, first_lane(absent),
                  "the mask is 0x%08x; lanes 0x%08x of it are elsewhere", mask, absent);
    else if (strange != 0)
        warp_find(warp, instruction, SIMT_LANE_MASK, first_lane(strange),
                  "the mask is 0x%08x; lanes 0x%08x are here without being in it", mask, strange);
}

/* A mask of members must be the same in all lanes, so any lane's will do. */
static uint32_t mask_of(const struct warp *warp, int32_t place)
{
    return REGISTER(uint32_t, place)[first_lane(warp->exec)];
}

/* Most shuffles: each lane exchanges with the one whose number differs in a bit. With a constant
 * bit the loop is a few vector instructions; anything unusual takes the general way. */
#define EXCHANGE(bit)                                                                              \
    case bit:                                                                                      \
        for (int l = 0; l < SIMT_LANES; l++) taken[l] = a[l ^ (bit)];                              \
        break;

static bool exchange(struct warp *warp, const struct instruction *instruction)
{
    const uint32_t *a = REGISTER(uint32_t, instruction->s[0]);
    const uint32_t *by = REGISTER(uint32_t, instruction->s[1]);
    const uint32_t *clamp = REGISTER(uint32_t, instruction->s[2]);
    const uint32_t *mask = REGISTER(uint32_t, instruction->s[3]);
    uint32_t taken[SIMT_LANES], differ = 0;

    if (!warp->full || instruction->mode != SHUFFLE_BFLY)
        return false;
    for (int l = 0; l < SIMT_LANES; l++) differ |= (by[l] ^ by[0]) | (clamp[l] ^ 31) | ~mask[l];
    if (differ != 0)
        return false;
    switch (by[0]) {
        EXCHANGE(1)
        EXCHANGE(2)
        EXCHANGE(4)
        EXCHANGE(8)
        EXCHANGE(16)
    default:
        return false;
    }
    warp->meetings++;
    memcpy(REGISTER(uint32_t, instruction->d[0]), taken, sizeof taken);
    if (instruction->d[1] >= 0)
        memset(REGISTER(uint32_t, instruction->d[1]), 0xff, sizeof taken);
    return true;
}

/* Sources: the number, the lane or distance, the clamp with the segments' mask above it, the
 * members. */
void lanes_shuffle(struct warp *warp, const struct instruction *instruction)
{
    const uint32_t *a = REGISTER(uint32_t, instruction->s[0]);
    const uint32_t *by = REGISTER(uint32_t, instruction->s[1]);
    const uint32_t *clamp = REGISTER(uint32_t, instruction->s[2]);
    uint32_t taken[SIMT_LANES], inside[SIMT_LANES], absent = 0;

    if (warp->exec == 0 || exchange(warp, instruction))
        return;
    warp_check_members(warp, instruction, mask_of(warp, instruction->s[3]));
    for (int l = 0; l < SIMT_LANES; l++) {
        int away = (int)(by[l] & 31), segment = (int)(clamp[l] >> 8 & 31),
            last = (int)(clamp[l] & 31);
        int bound = (l & segment) | (last & ~segment), from;
        bool in;

        switch ((enum shuffle_mode)instruction->mode) {
        case SHUFFLE_BFLY:
            from = l ^ away;
            break;
        case SHUFFLE_DOWN:
            from = l + away;
            break;
        case SHUFFLE_UP:
            from = l - away;
            break;
        default:
            from = (l & segment) | (away & ~segment);
            break;
        }
        in = instruction->mode == SHUFFLE_UP ? from >= bound : from <= bound;
        from = in ? from : l;
        absent |= (uint32_t)(warp->lane[l] != 0 && !(warp->exec >> from & 1)) << l;
        taken[l] = a[from];
        inside[l] = in ? UINT32_MAX : 0;
    }
    if (absent != 0)
        warp_find(warp, instruction, SIMT_LANE_MASK, first_lane(absent),
                  "lanes 0x%08x read from a lane that takes no part", absent);
    LANES(uint32_t, REGISTER(uint32_t, instruction->d[0]), v = taken[l])
    if (instruction->d[1] >= 0) {
        LANES(uint32_t, REGISTER(uint32_t, instruction->d[1]), v = inside[l])
    }
}

static uint32_t bits_of(const uint32_t *lanes)
{
    uint32_t bits = 0;

    for (int l = 0; l < SIMT_LANES; l++) bits |= (lanes[l] & 1) << l;
    return bits;
}

void lanes_vote(struct warp *warp, const struct instruction *instruction)
{
    uint32_t bits, result = 0;

    if (warp->exec == 0)
        return;
    warp_check_members(warp, instruction, mask_of(warp, instruction->s[1]));
    bits = bits_of(REGISTER(uint32_t, instruction->s[0])) & warp->exec;
    switch ((enum vote_mode)instruction->mode) {
    case VOTE_ANY:
        result = bits != 0;
        break;
    case VOTE_ALL:
        result = bits == warp->exec;
        break;
    case VOTE_UNI:
        result = bits == 0 || bits == warp->exec;
        break;
    }
    LANES(uint32_t, REGISTER(uint32_t, instruction->d[0]), v = 0u - result)
}

void lanes_ballot(struct warp *warp, const struct instruction *instruction)
{
    uint32_t bits;

    if (warp->exec == 0)
        return;
    warp_check_members(warp, instruction, mask_of(warp, instruction->s[1]));
    bits = bits_of(REGISTER(uint32_t, instruction->s[0])) & warp->exec;
    LANES(uint32_t, REGISTER(uint32_t, instruction->d[0]), v = bits)
}

/* All lanes that take part get what their numbers come to. */
void lanes_reduce(struct warp *warp, const struct instruction *instruction)
{
    const uint32_t *a = REGISTER(uint32_t, instruction->s[0]);
    bool is_signed = instruction->mode & REDUCE_SIGNED;
    uint32_t result;

    if (warp->exec == 0)
        return;
    warp_check_members(warp, instruction, mask_of(warp, instruction->s[1]));
    result = a[first_lane(warp->exec)];
    for (int l = first_lane(warp->exec) + 1; l < SIMT_LANES; l++) {
        bool is_less = is_signed ? (int32_t)a[l] < (int32_t)result : a[l] < result;
        if (!warp->lane[l])
            continue;
        switch (instruction->mode & (REDUCE_SIGNED - 1)) {
        case REDUCE_ADD:
            result += a[l];
            break;
        case REDUCE_MIN:
            result = is_less ? a[l] : result;
            break;
        case REDUCE_MAX:
            result = is_less ? result : a[l];
            break;
        case REDUCE_AND:
            result &= a[l];
            break;
        case REDUCE_OR:
            result |= a[l];
            break;
        default:
            result ^= a[l];
            break;
        }
    }
    LANES(uint32_t, REGISTER(uint32_t, instruction->d[0]), v = result)
}

/* match.any: the lanes with the same number as this one. match.all: all lanes if they have one
 * number, else none. */
void lanes_match(struct warp *warp, const struct instruction *instruction)
{
    uint64_t x[SIMT_LANES];
    uint32_t same[SIMT_LANES];

    if (warp->exec == 0)
        return;
    warp_check_members(warp, instruction, mask_of(warp, instruction->s[1]));
    for (int l = 0; l < SIMT_LANES; l++)
        x[l] = instruction->width == 8 ? REGISTER(uint64_t, instruction->s[0])[l]
                                       : REGISTER(uint32_t, instruction->s[0])[l];
    for (int l = 0; l < SIMT_LANES; l++) {
        same[l] = 0;
        for (int k = 0; k < SIMT_LANES; k++) same[l] |= (uint32_t)(x[k] == x[l]) << k;
        same[l] &= warp->exec;
        if (instruction->mode && same[l] != warp->exec)
            same[l] = 0;
    }
    if (instruction->d[0] >= 0) {
        LANES(uint32_t, REGISTER(uint32_t, instruction->d[0]), v = same[l])
    }
    if (instruction->d[1] >= 0) {
        LANES(uint32_t, REGISTER(uint32_t, instruction->d[1]), v = 0u - (same[l] != 0))
    }
}

/* Each thread votes before the barrier, and learns what came of it after. Votes of the next barrier
 * are counted apart, since warps come to that before others have read these. */
void lanes_barrier_vote(struct warp *warp, const struct instruction *instruction)
{
    uint32_t bits = bits_of(REGISTER(uint32_t, instruction->s[0])) & warp->exec;

    warp->group->said_yes[warp->group->phase % 2] += (uint32_t)__builtin_popcount(bits);
    warp->group->said_no[warp->group->phase % 2] +=
        (uint32_t)__builtin_popcount(warp->exec & ~bits);
}

void lanes_barrier_result(struct warp *warp, const struct instruction *instruction)
{
    uint32_t passed = (warp->group->phase + 1) % 2, yes = warp->group->said_yes[passed];
    bool all = warp->group->said_no[passed] == 0;
    uint32_t result = instruction->mode == BARRIER_COUNT ? yes
                      : instruction->mode == BARRIER_OR  ? 0u - (yes > 0)
                                                         : 0u - all;

    LANES(uint32_t, REGISTER(uint32_t, instruction->d[0]), v = result)
}

void lanes_active(struct warp *warp, const struct instruction *instruction)
{
    LANES(uint32_t, REGISTER(uint32_t, instruction->d[0]), v = warp->exec)
}

void lanes_together(struct warp *warp, const struct instruction *instruction)
{
    if (warp->exec != 0)
        warp_check_members(warp, instruction, mask_of(warp, instruction->s[0]));
}
