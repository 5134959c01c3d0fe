#include "harness/simt/lanes/access.h"

#include <string.h>

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

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
    unsigned bytes = (unsigned)instruction->width * instruction->vector;
    int first = first_lane(warp->exec), end = SIMT_LANES - __builtin_clz(warp->exec);
    uint64_t apart = 0, differ = 0, start, least = UINT64_MAX, most = 0;
    bool neighbours = __builtin_popcount(warp->exec) == end - first;

    lane_addresses(access, warp, instruction);
    access->bytes = bytes;
    access->first = first;
    access->end = end;
    start = access->address[first];
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
            least = smaller(least, access->address[l]);
            most = larger(most, access->address[l]);
        }
    access->from = least;
    access->to = most + bytes > most ? most + bytes : UINT64_MAX;
}

/* Registers of 32 bits hold elements of 1, 2 and 4 bytes, those of 64 hold 8. */
#define MOVE_IN(type, held)                                                                        \
    for (int e = 0; e < instruction->vector; e++) {                                                \
        held *d = REGISTER(held, instruction->d[e]);                                               \
        uint64_t at = base + (uint64_t)e * sizeof(type);                                           \
        for (int l = access->first; l < access->end; l++) {                                        \
            type x;                                                                                \
            if (!warp->lane[l])                                                                    \
                continue;                                                                          \
            memcpy(&x, (const void *)(uintptr_t)(access->address[l] + at), sizeof x);              \
            d[l] = (held)x;                                                                        \
        }                                                                                          \
    }
#define MOVE_OUT(type, held)                                                                       \
    for (int e = 0; e < instruction->vector; e++) {                                                \
        const held *s = REGISTER(held, instruction->s[e]);                                         \
        uint64_t at = base + (uint64_t)e * sizeof(type);                                           \
        for (int l = access->first; l < access->end; l++) {                                        \
            type x = (type)s[l];                                                                   \
            if (warp->lane[l])                                                                     \
                memcpy((void *)(uintptr_t)(access->address[l] + at), &x, sizeof x);                \
        }                                                                                          \
    }

/* Words that lie next to each other, of `vector` registers in turn: what most accesses are. */
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
    if (instruction->width == 8) {
        MOVE_IN(uint64_t, uint64_t)
    } else if (instruction->width == 4) {
        MOVE_IN(uint32_t, uint32_t)
    } else if (instruction->width == 2 && instruction->is_signed) {
        MOVE_IN(int16_t, uint32_t)
    } else if (instruction->width == 2) {
        MOVE_IN(uint16_t, uint32_t)
    } else if (instruction->is_signed) {
        MOVE_IN(int8_t, uint32_t)
    } else {
        MOVE_IN(uint8_t, uint32_t)
    }
}

void access_store(const struct access *access, const struct warp *warp,
                  const struct instruction *instruction, uint64_t base)
{
    if (access->shape == ACCESS_RANGE && instruction->width == 4) {
        store_range(access, warp, instruction, base);
        return;
    }
    if (instruction->width == 8) {
        MOVE_OUT(uint64_t, uint64_t)
    } else if (instruction->width == 4) {
        MOVE_OUT(uint32_t, uint32_t)
    } else if (instruction->width == 2) {
        MOVE_OUT(uint16_t, uint32_t)
    } else {
        MOVE_OUT(uint8_t, uint32_t)
    }
}

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

int access_twice(const struct access *access, const struct warp *warp)
{
    if (access->shape == ACCESS_RANGE || access->end - access->first == 1)
        return -1;
    if (access->shape == ACCESS_ONE)
        return __builtin_popcount(warp->exec) > 1 ? access->end - 1 : -1;
    if (access_distinct(access, warp) == (unsigned)__builtin_popcount(warp->exec))
        return -1;
    for (int l = access->first; l < access->end; l++)
        for (int k = access->first; k < l; k++)
            if (warp->lane[l] && warp->lane[k] && access->address[k] == access->address[l])
                return l;
    return -1;
}
