/* The instructions that lanes do, by their whole name: "add.s32". One that is in no table is
 * unknown.
 *
 * A form lists the registers, destinations before the colon: p a predicate, h 16 bits, w 32, d 64,
 * b 8 bits of a register of 16 or 32. 16-bit numbers stand in words, whose upper half means
 * nothing. */
#pragma once

#include "harness/simt/code/code.h"

struct opcode {
    const char *name;
    simt_operation *run;
    const char *form;
};

/* NULL: unknown. */
const struct opcode *opcode_find(const char *name);

/* Whether a row's name begins with `first` and a dot. */
bool opcode_begins(const char *first);

/* The tables. */
struct opcode_table {
    const struct opcode *rows;
    size_t count;
};
extern const struct opcode_table opcodes_integer, opcodes_compare, opcodes_real, opcodes_convert,
    opcodes_half, opcodes_move;

/* Instructions that the reader takes apart itself. */
simt_operation lanes_pack16, lanes_unpack16, lanes_pack32, lanes_unpack32;
simt_operation lanes_shuffle, lanes_vote, lanes_ballot, lanes_reduce, lanes_active, lanes_together;
simt_operation lanes_barrier_vote, lanes_barrier_result; /* before and after a barrier */
simt_operation lanes_parameter, lanes_load, lanes_store, lanes_atomic;
simt_operation lanes_match, lanes_clock, lanes_convert, lanes_nothing, lanes_fence;

simt_operation lanes_stage, lanes_unstage, lanes_product, lanes_tile_access, lanes_rows;
simt_operation lanes_copy_read, lanes_copy_write, lanes_copy_commit, lanes_copy_wait;
simt_operation lanes_texture, lanes_surface;

/* Functions of the system, with the places of their parameters as calls.c puts them. */
simt_operation lanes_print, lanes_assert, lanes_allocate, lanes_release;

enum texture_mode { TEXTURE_REAL = 4, TEXTURE_WHOLE = 8 }; /* added to the dimensions */
enum clock_mode { CLOCK_LOW, CLOCK_HIGH, CLOCK_WHOLE, CLOCK_NONE };

enum shuffle_mode { SHUFFLE_BFLY, SHUFFLE_DOWN, SHUFFLE_UP, SHUFFLE_IDX };
enum vote_mode { VOTE_ANY, VOTE_ALL, VOTE_UNI };
enum barrier_mode { BARRIER_AND, BARRIER_OR, BARRIER_COUNT };
enum reduce_mode {
    REDUCE_ADD,
    REDUCE_MIN,
    REDUCE_MAX,
    REDUCE_AND,
    REDUCE_OR,
    REDUCE_XOR,
    REDUCE_SIGNED = 16
};
enum atomic_mode {
    ATOMIC_ADD,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCH,
    ATOMIC_CAS,
    ATOMIC_INC,
    ATOMIC_DEC,
    ATOMIC_MODES,
    ATOMIC_FLOAT = 16, /* added to the mode */
    ATOMIC_SIGNED = 32,
    ATOMIC_F16 = 64,
    ATOMIC_BF16 = 128
};
