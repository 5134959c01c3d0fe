/* The addresses of an access, and the moves between registers and memory. Three shapes have ways of
 * their own, since most accesses of words are of neighbours, or of one address. */
#include "harness/simt/access/access.h"

#include <string.h>

static void lane_addresses(struct access *access, const struct warp *warp,
                           const struct instruction *instruction)
{
    uint64_t offset = (uint64_t)instruction->offset;

    if (instruction->s[SIMT_BASE] < 0) {
        for (int l = 0; l < SIMT_LANES; l++) access->address[l] = offset;
    } else if (instruction->address_words) {
        const uint32_t *base = REGISTER(uint32_t, instruction->s[SIMT_BASE]);
        for (int l = 0; l < SIMT_LANES; l++) access->address[l] = base[l] + offset;
    } else {
        const uint64_t *base = REGISTER(uint64_t, instruction->s[SIMT_BASE]);
        for (int l = 0; l < SIMT_LANES; l++) access->address[l] = base[l] + offset;
    }
}

void access_find(struct access *access, const struct warp *warp,
                 const struct instruction *instruction)
{
    lane_addresses(access, warp, instruction);
    access->bytes = (unsigned)instruction->width * instruction->vector;
    access_shape_of(access, warp);
}

void access_shape_of(struct access *access, const struct warp *warp)
{
    unsigned bytes = access->bytes;
    int first = first_lane(warp->exec), end = SIMT_LANES - __builtin_clz(warp->exec);
    uint64_t apart = 0, differ = 0, start, least = UINT64_MAX, most = 0;
    bool neighbours = __builtin_popcount(warp->exec) == end - first;

    access->first = first;
    access->end = end;
    start = access->address[first];
    /* Differences are gathered without a branch, from all lanes, so that the loop becomes vector
     * instructions; lanes that take no part are masked out. */
    for (int l = 0; l < SIMT_LANES; l++) {
        uint64_t takes_part = (uint64_t)(int64_t)(int32_t)warp->lane[l];
        apart |= (access->address[l] ^ (start + (uint64_t)(l - first) * bytes)) & takes_part;
        differ |= (access->address[l] ^ start) & takes_part;
    }
    if (neighbours && apart == 0) {
        access->shape = ACCESS_RANGE;
        access->from = start;
        access->to = start + (uint64_t)(end - first) * bytes;
        if (access->to < start) /* beyond the last address, where nothing is */
            access->to = UINT64_MAX;
        return;
    }
    access->shape = differ == 0 ? ACCESS_ONE : ACCESS_SCATTERED;
    for (int l = first; l < end; l++)
        if (warp->lane[l]) {
            least = access->address[l] < least ? access->address[l] : least;
            most = access->address[l] > most ? access->address[l] : most;
        }
    access->from = least;
    access->to = most + bytes > most ? most + bytes : UINT64_MAX;
}

/* Elements of any shape: loads into registers of 32 bits, or 64 for elements of 8 bytes, and stores
 * from them. With constants for `bytes` and `is_signed` each use is a loop of its own. */
static inline __attribute__((always_inline)) void
move_in(const struct access *access, const struct warp *warp, const struct instruction *instruction,
        uint64_t base, const size_t bytes, const bool is_signed)
{
    for (int e = 0; e < instruction->vector; e++) {
        uint64_t *wide = REGISTER(uint64_t, instruction->d[e]), at = base + (uint64_t)e * bytes;
        uint32_t *narrow = REGISTER(uint32_t, instruction->d[e]);
        for (int l = access->first; l < access->end; l++) {
            uint64_t x = 0;
            if (!warp->lane[l])
                continue;
            memcpy(&x, (const void *)(uintptr_t)(access->address[l] + at), bytes);
            if (is_signed)
                x = (uint64_t)((int64_t)(x << (64 - 8 * bytes)) >> (64 - 8 * bytes));
            if (bytes == 8)
                wide[l] = x;
            else
                narrow[l] = (uint32_t)x;
        }
    }
}

static inline __attribute__((always_inline)) void move_out(const struct access *access,
                                                           const struct warp *warp,
                                                           const struct instruction *instruction,
                                                           uint64_t base, const size_t bytes)
{
    for (int e = 0; e < instruction->vector; e++) {
        const uint64_t *wide = REGISTER(uint64_t, instruction->s[e]);
        const uint32_t *narrow = REGISTER(uint32_t, instruction->s[e]);
        uint64_t at = base + (uint64_t)e * bytes;
        for (int l = access->first; l < access->end; l++)
            if (warp->lane[l])
                memcpy((void *)(uintptr_t)(access->address[l] + at),
                       bytes == 8 ? (const void *)&wide[l] : &narrow[l], bytes);
    }
}

/* Words that lie next to each other, of `vector` registers one after the other: most accesses are
 * such. */
static void load_range(const struct access *access, const struct warp *warp,
                       const struct instruction *instruction, uint64_t base)
{
    const uint32_t *from = (const uint32_t *)(uintptr_t)(access->from + base);
    uint32_t *d[SIMT_DESTINATIONS];
    int count = access->end - access->first;

    for (int e = 0; e < instruction->vector; e++)
        d[e] = REGISTER(uint32_t, instruction->d[e]) + access->first;
    if (instruction->vector == 1) {
        memcpy(d[0], from, (size_t)count * sizeof *from);
    } else if (instruction->vector == 2) {
#pragma GCC ivdep
        for (int l = 0; l < count; l++) {
            d[0][l] = from[2 * l];
            d[1][l] = from[2 * l + 1];
        }
    } else {
#pragma GCC ivdep
        for (int l = 0; l < count; l++) {
            d[0][l] = from[4 * l];
            d[1][l] = from[4 * l + 1];
            d[2][l] = from[4 * l + 2];
            d[3][l] = from[4 * l + 3];
        }
    }
}

static void store_range(const struct access *access, const struct warp *warp,
                        const struct instruction *instruction, uint64_t base)
{
    uint32_t *to = (uint32_t *)(uintptr_t)(access->from + base);
    const uint32_t *s[SIMT_DESTINATIONS];
    int count = access->end - access->first;

    for (int e = 0; e < instruction->vector; e++)
        s[e] = REGISTER(uint32_t, instruction->s[e]) + access->first;
    if (instruction->vector == 1) {
        memcpy(to, s[0], (size_t)count * sizeof *to);
    } else if (instruction->vector == 2) {
#pragma GCC ivdep
        for (int l = 0; l < count; l++) {
            to[2 * l] = s[0][l];
            to[2 * l + 1] = s[1][l];
        }
    } else {
#pragma GCC ivdep
        for (int l = 0; l < count; l++) {
            to[4 * l] = s[0][l];
            to[4 * l + 1] = s[1][l];
            to[4 * l + 2] = s[2][l];
            to[4 * l + 3] = s[3][l];
        }
    }
}

void access_load(const struct access *access, const struct warp *warp,
                 const struct instruction *instruction, uint64_t base)
{
    if (access->shape == ACCESS_RANGE && instruction->width == 4) {
        load_range(access, warp, instruction, base);
        return;
    }
    if (instruction->width == 8)
        move_in(access, warp, instruction, base, 8, false);
    else if (instruction->width == 4)
        move_in(access, warp, instruction, base, 4, false);
    else if (instruction->width == 2 && instruction->is_signed)
        move_in(access, warp, instruction, base, 2, true);
    else if (instruction->width == 2)
        move_in(access, warp, instruction, base, 2, false);
    else if (instruction->is_signed)
        move_in(access, warp, instruction, base, 1, true);
    else
        move_in(access, warp, instruction, base, 1, false);
}

void access_store(const struct access *access, const struct warp *warp,
                  const struct instruction *instruction, uint64_t base)
{
    if (access->shape == ACCESS_RANGE && instruction->width == 4) {
        store_range(access, warp, instruction, base);
        return;
    }
    if (instruction->width == 8)
        move_out(access, warp, instruction, base, 8);
    else if (instruction->width == 4)
        move_out(access, warp, instruction, base, 4);
    else if (instruction->width == 2)
        move_out(access, warp, instruction, base, 2);
    else
        move_out(access, warp, instruction, base, 1);
}

/* Lanes of a range are whole accesses apart, so all are aligned if the first one is. */
int access_misaligned(const struct access *access, const struct warp *warp)
{
    uint64_t wrong = 0, mask = access->bytes - 1;

    if (access->shape != ACCESS_SCATTERED)
        return access->from & mask ? access->first : -1;
    for (int l = 0; l < SIMT_LANES; l++) wrong |= warp->lane[l] ? access->address[l] & mask : 0;
    for (int l = access->first; wrong != 0 && l < access->end; l++)
        if (warp->lane[l] && access->address[l] & mask)
            return l;
    return -1;
}

/* The value that a store puts into element `e`. */
static uint64_t stored(const struct warp *warp, const struct instruction *instruction, int e, int l)
{
    if (instruction->width == 8)
        return REGISTER(uint64_t, instruction->s[e])[l];
    return REGISTER(uint32_t, instruction->s[e])[l] & UINT32_MAX >> (32 - 8 * instruction->width);
}

static bool differ(const struct warp *warp, const struct instruction *instruction, int k, int l)
{
    for (int e = 0; e < instruction->vector; e++)
        if (stored(warp, instruction, e, k) != stored(warp, instruction, e, l))
            return true;
    return false;
}

/* Lanes are compared in pairs only if the count of addresses says that two are the same. */
int access_twice(const struct access *access, const struct warp *warp,
                 const struct instruction *instruction)
{
    if (access->shape == ACCESS_RANGE || access->end - access->first == 1 ||
        instruction->run != lanes_store ||
        access_distinct(access, warp) == (unsigned)__builtin_popcount(warp->exec))
        return -1;
    for (int l = access->first; l < access->end; l++)
        for (int k = access->first; k < l; k++)
            if (warp->lane[l] && warp->lane[k] && access->address[k] == access->address[l] &&
                differ(warp, instruction, k, l))
                return l;
    return -1;
}

bool access_changes(const struct access *access, const struct warp *warp,
                    const struct instruction *instruction, int lane, uint64_t base)
{
    if (instruction->run != lanes_store)
        return true;
    for (int l = access->first; l < access->end; l++)
        for (int e = 0; warp->lane[l] && (lane < 0 || l == lane) && e < instruction->vector; e++) {
            uint64_t value = stored(warp, instruction, e, l);
            if (memcmp((const char *)(uintptr_t)(access->address[l] + base) +
                           (size_t)e * instruction->width,
                       &value, instruction->width) != 0)
                return true;
        }
    return false;
}
