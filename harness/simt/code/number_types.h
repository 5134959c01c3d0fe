/* The types of numbers that instructions have, and how they are rounded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* name, bits, letter of a form, signed, bits of the exponent (0: an integer) and of the mantissa */
#define NUMBER_TYPES(X)                                                                            \
    X(u8, 8, 'b', 0, 0, 0)                                                                         \
    X(s8, 8, 'b', 1, 0, 0)                                                                         \
    X(u16, 16, 'h', 0, 0, 0)                                                                       \
    X(s16, 16, 'h', 1, 0, 0)                                                                       \
    X(u32, 32, 'w', 0, 0, 0)                                                                       \
    X(s32, 32, 'w', 1, 0, 0)                                                                       \
    X(u64, 64, 'd', 0, 0, 0)                                                                       \
    X(s64, 64, 'd', 1, 0, 0)                                                                       \
    X(f16, 16, 'h', 1, 5, 10)                                                                      \
    X(bf16, 16, 'h', 1, 8, 7)                                                                      \
    X(tf32, 32, 'w', 1, 8, 10)                                                                     \
    X(f32, 32, 'w', 1, 8, 23)                                                                      \
    X(f64, 64, 'd', 1, 11, 52)                                                                     \
    X(e4m3, 8, 'b', 1, 4, 3)                                                                       \
    X(e5m2, 8, 'b', 1, 5, 2)                                                                       \
    X(u4, 4, 'b', 0, 0, 0)                                                                         \
    X(s4, 4, 'b', 1, 0, 0)

enum number_kind {
#define NUMBER_KIND(name, ...) NUMBER_##name,
    NUMBER_TYPES(NUMBER_KIND)
#undef NUMBER_KIND
        NUMBER_TYPE_COUNT
};

struct number_type {
    const char *name;
    int bits;
    char form;
    int is_signed, exponent, mantissa;
};
extern const struct number_type number_types[];

enum number_rounding { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP, ROUND_AWAY };
enum number_flags {
    NUMBER_WHOLE = 1,   /* to a whole number */
    NUMBER_FLUSHED = 2, /* below 2^-126 it is 0 */
    NUMBER_HELD = 4,    /* real numbers in [0, 1], integers in what the type holds */
    NUMBER_FINITE = 8,  /* no infinity */
    NUMBER_RELU = 16    /* 0 for less than that */
};

int number_find(const char *name); /* -1: there is none */
long double number_read(int type, uint64_t bits);
uint64_t number_write(int type, long double value, enum number_rounding rounding, int flags);
