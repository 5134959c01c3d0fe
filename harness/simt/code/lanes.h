/* Shared by the files with instructions: a warp, and loops over its lanes that compilers turn into
 * vector instructions. A register is an array of 32 lanes; a lane that takes no part keeps what it
 * had. */
#pragma once

#include "harness/simt/code/memory.h"
#include "harness/simt/code/opcodes.h"

#include <stdio.h>

/* Memory of kernels' malloc(): blocks begin with this, and what they had to give follows. */
struct heap_block {
    struct heap_block *next;
    uint64_t bytes;
};
struct lane_heap {
    struct heap_block *first;
    uint64_t bytes;
};

/* The accesses to a word of shared memory. A stamp is a warp in a phase, between two barriers. The
 * last write and read also have the lane of the warp, and at which of its meetings it was
 * (shared.c). */
struct shared_word {
    uint32_t writer, reader;
    uint32_t second; /* the last reader of another warp than `reader` */
    uint32_t adder;  /* the last atomic operation */
    uint32_t wrote, read;
    uint8_t written; /* which of its bytes have been */
};

/* A block of the grid. */
struct warp_group {
    unsigned char *shared; /* memory, and what is known of it */
    struct shared_word *words;
    size_t shared_bytes, reserved; /* reserved: where the system's own begin */
    uint32_t phase;                /* barriers passed */
    bool fenced;                   /* it has passed a fence */
    bool acquires; /* or read what others change: by a volatile load, or an atomic operation whose
                      result it takes */
    bool joined;   /* and that after a fence: it comes after blocks that did the same before */
    uint32_t said_yes[2], said_no[2]; /* threads' votes at barriers, of this phase and the other */
    uint32_t needed;                  /* the last of them that ordered accesses */
    int32_t opener;                   /* the instruction of the last one */
    uint32_t number[3];               /* in the grid */
    uint32_t place;                   /* among the blocks of the grid, from 1 on */

    /* A read of what nobody wrote, which another warp may still write before the next barrier. */
    struct simt_finding suspect;
};

struct grid_launch {
    struct simt *simt;
    struct lane_heap *heap;
    const struct simt_texture *textures;
    int64_t texture_count;
    FILE *output; /* of printf(); NULL: nowhere */
    uint64_t printed;
    uint64_t most, left; /* instructions that it may have, and may have still */
    struct memory *memory;
    struct simt_kernel *kernel;
    const struct simt_grid *grid;
    struct simt_finding *finding;    /* the first one */
    bool ended;                      /* by it, or by another one that nothing can follow */
    const unsigned char *parameters; /* aligned to 16 bytes */
    struct memory_block **cache;     /* [slots]: where the last access was */
    unsigned warps;                  /* of a block */
};

/* Lanes that go on at `pc` until `meet`. When lanes part, the uppermost entry becomes three: where
 * they meet again, and the two ways, each with fewer lanes than before. So 31 times two entries can
 * lie below one that has a single lane. */
struct lane_entry {
    int32_t pc, meet;
    uint32_t mask;
};
enum { SIMT_STACK = 2 * SIMT_LANES };

struct warp {
    _Alignas(64) uint32_t lane[SIMT_LANES]; /* all ones if the lane takes part */
    unsigned char *registers;
    struct grid_launch *launch;
    struct warp_group *group;
    unsigned char *local;          /* [lanes][local bytes] */
    unsigned char *calls;          /* [lanes][bytes of calls] */
    uint32_t exec;                 /* the lanes that take part, as bits */
    uint32_t live;                 /* those that have not ended */
    bool full;                     /* all take part */
    bool waits;                    /* at a barrier */
    uint32_t number;               /* in its block */
    uint32_t stamp;                /* of its accesses to global memory */
    uint32_t meetings;             /* how often its lanes have met: __syncwarp(), shuffles, votes */
    uint32_t (*stage)[SIMT_LANES]; /* registers of matrix instructions; NULL: it has none */
    struct pending_copy *copies;   /* copies.c */
    int64_t copy_count, copy_room, copy_groups;
    uint32_t carry[SIMT_LANES]; /* of a sum of several words */
    struct lane_entry stack[SIMT_STACK];
    int depth;
};

/* In warps.c: the lanes of `mask` take part from now on. */
void warp_take(struct warp *warp, uint32_t mask);

/* In findings.c: reports, for lane `lane`, and ends the launch unless it is allowed. */
void warp_find(struct warp *warp, const struct instruction *instruction,
               enum simt_finding_kind kind, int lane, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* In together.c: reports lanes of the mask that are elsewhere, and others that are here. */
void warp_check_members(struct warp *warp, const struct instruction *instruction, uint32_t mask);

/* In half.c: the sums of two pairs of numbers of 16 bits. */
uint32_t half_sums(uint32_t a, uint32_t b, bool bf16);

/* The same for what may turn out to be something else: fills *finding, and nothing ends. */
void warp_describe(const struct warp *warp, const struct instruction *instruction,
                   enum simt_finding_kind kind, int lane, struct simt_finding *finding,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));

bool warp_allows(const struct warp *warp, enum simt_finding_kind kind);

/* The suspect of a block is what it seems to be. */
void group_settle(struct grid_launch *launch, struct warp_group *group);

static inline int first_lane(uint32_t mask)
{
    return mask != 0 ? __builtin_ctz(mask) : 0;
}

/* The lanes of a register, as numbers of a type. */
#define REGISTER(type, place) ((type *)(void *)(warp->registers + (place)))

/* Runs a statement for each lane `l`, which sets `v`; then v is lane l of `d`. */
#define LANES(type, d, ...)                                                                        \
    if (warp->full) {                                                                              \
        _Pragma("GCC ivdep") for (int l = 0; l < SIMT_LANES; l++)                                  \
        {                                                                                          \
            type v;                                                                                \
            __VA_ARGS__;                                                                           \
            (d)[l] = v;                                                                            \
        }                                                                                          \
    } else {                                                                                       \
        _Pragma("GCC ivdep") for (int l = 0; l < SIMT_LANES; l++)                                  \
        {                                                                                          \
            type v;                                                                                \
            __VA_ARGS__;                                                                           \
            (d)[l] = warp->lane[l] ? v : (d)[l];                                                   \
        }                                                                                          \
    }

/* Functions of one, two or three sources, x, y and z. `held` is the type of a lane, `type` that of
 * the number. */
#define UNARY(function, held, type, result, expression)                                            \
    static void function(struct warp *warp, const struct instruction *instruction)                 \
    {                                                                                              \
        result *d = REGISTER(result, instruction->d[0]);                                           \
        const held *a = REGISTER(held, instruction->s[0]);                                         \
        LANES(result, d, type x = (type)a[l]; v = (result)(expression))                            \
    }
#define BINARY(function, held, type, result, expression)                                           \
    static void function(struct warp *warp, const struct instruction *instruction)                 \
    {                                                                                              \
        result *d = REGISTER(result, instruction->d[0]);                                           \
        const held *a = REGISTER(held, instruction->s[0]), *b = REGISTER(held, instruction->s[1]); \
        LANES(result, d, type x = (type)a[l]; type y = (type)b[l]; v = (result)(expression))       \
    }
#define TERNARY(function, held, type, third, result, expression)                                   \
    static void function(struct warp *warp, const struct instruction *instruction)                 \
    {                                                                                              \
        result *d = REGISTER(result, instruction->d[0]);                                           \
        const held *a = REGISTER(held, instruction->s[0]), *b = REGISTER(held, instruction->s[1]); \
        const third *c = REGISTER(third, instruction->s[2]);                                       \
        LANES(result, d, type x = (type)a[l]; type y = (type)b[l]; third z = c[l];                 \
              v = (result)(expression))                                                            \
    }

/* Comparisons of real numbers: X(name, expression of x and y, ...). With NaN the plain ones are
 * false, of ne too, and those that end in u are true. */
#define REAL_COMPARISONS(X, ...)                                                                   \
    X(eq, x == y, __VA_ARGS__)                                                                     \
    X(ne, (x < y) | (x > y), __VA_ARGS__)                                                          \
    X(lt, x < y, __VA_ARGS__)                                                                      \
    X(le, x <= y, __VA_ARGS__)                                                                     \
    X(gt, x > y, __VA_ARGS__)                                                                      \
    X(ge, x >= y, __VA_ARGS__)                                                                     \
    X(equ, !((x < y) | (x > y)), __VA_ARGS__)                                                      \
    X(neu, !(x == y), __VA_ARGS__)                                                                 \
    X(ltu, !(x >= y), __VA_ARGS__)                                                                 \
    X(leu, !(x > y), __VA_ARGS__)                                                                  \
    X(gtu, !(x <= y), __VA_ARGS__)                                                                 \
    X(geu, !(x < y), __VA_ARGS__)                                                                  \
    X(num, (x == x) & (y == y), __VA_ARGS__)                                                       \
    X(nan, (x != x) | (y != y), __VA_ARGS__)
