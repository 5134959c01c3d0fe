/* The arguments of a kernel that is run alone: arrays filled by a pattern, and scalars. */
#pragma once

#include "harness/base/status.h"
#include "harness/simt/simt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, as it is written, bytes */
#define KERNEL_TYPES(X)                                                                            \
    X(F32, "f32", 4)                                                                               \
    X(F64, "f64", 8)                                                                               \
    X(I32, "i32", 4)                                                                               \
    X(U32, "u32", 4)                                                                               \
    X(I64, "i64", 8)                                                                               \
    X(U64, "u64", 8)                                                                               \
    X(I16, "i16", 2)                                                                               \
    X(U16, "u16", 2)                                                                               \
    X(I8, "i8", 1)                                                                                 \
    X(U8, "u8", 1)                                                                                 \
    X(F16, "f16", 2)                                                                               \
    X(BF16, "bf16", 2)

enum kernel_type {
#define KERNEL_TYPE(name, text, bytes) KERNEL_##name,
    KERNEL_TYPES(KERNEL_TYPE)
#undef KERNEL_TYPE
        KERNEL_TYPE_COUNT
};

enum kernel_pattern {
    KERNEL_UNWRITTEN, /* a kernel that reads it before it writes it has a finding */
    KERNEL_ZERO,
    KERNEL_IOTA,
    KERNEL_RANDOM,
    KERNEL_SMALL, /* whole numbers from 1 to 16, whose sums are exact in any order */
    KERNEL_VALUE, /* those above are the patterns that have a name in a list of arguments */
    KERNEL_FILE,  /* of an .npy file */
};

enum { KERNEL_ARGUMENTS_MOST = 256 };

struct kernel_argument {
    enum kernel_type type;
    int64_t count; /* of elements; 0: a scalar, which is `value` */
    enum kernel_pattern pattern;
    double value;   /* of VALUE, and of a scalar; exact up to 2^53 */
    uint32_t below; /* RANDOM integers are 0 .. below - 1; 0: below 2^31 or the type's most.
                       Floats are [0, 1) */
    uint64_t seed;  /* of RANDOM */
    char *data;     /* of FILE: the elements */

    bool joins; /* a further member of the struct that the argument before begins, which is
                   one parameter of the kernel */
    int size[3],
        channels; /* as a texture: extents, of which those not given are 1; numbers of a texel */
    bool linear, normalized, wraps;

    /* For the kernels of lessons, which know their launch: */
    bool per_block;      /* `count` is for each block of the grid */
    int64_t row, filled; /* SMALL: rows of `row` elements, of which the first `filled` are numbers
                            and the rest zero; 0: there is no rest */
};

const char *kernel_type_name(enum kernel_type type);
size_t kernel_type_bytes(enum kernel_type type);
/* The array's bytes; 0: a scalar. And the parameter's or member's: an address has 8 on any host. */
uint64_t kernel_argument_bytes(const struct kernel_argument *argument);
size_t kernel_argument_own(const struct kernel_argument *argument);

/* "f32[1024]:random,u32[64]:zero,f32[1024],i32:1024": a type for each argument; [elements] for an
 * array, ":" and a pattern, which may be a number, or nothing: unwritten. Elements and numbers may
 * end in k or M (1024, 1048576), or be products: f32[512*512]. "random<256" and "random@7" bound
 * the numbers and give the seed, which is otherwise the argument's place. "x.npy" is an array of a
 * file. "{i32:4,f32[16]:zero}" is a struct by value, whose members lie as in C.
 * "u8x4[64x48]:iota/linear" has the extents of a texture, numbers of a texel, and how it is
 * sampled: linear, normalized, wrap. BAD_USAGE says which one is wrong. kernel_arguments_release()
 * frees what files had. */
enum status kernel_arguments_parse(struct kernel_argument *arguments, int *count, const char *text);

void kernel_arguments_release(struct kernel_argument *arguments, int count);

/* The bytes that the array begins with; those of an UNWRITTEN one are all ones. */
void kernel_argument_fill(const struct kernel_argument *argument, void *elements);

/* Element `index` of an array as a number. */
double kernel_element(enum kernel_type type, const void *elements, int64_t index);

/* The bytes of a scalar, at most 8. */
void kernel_scalar(const struct kernel_argument *argument, void *bytes);

/* Names and parameters of kernels as their source has them. */

/* "takes 3 arguments: f32[], f32[], i32": the types as the C++ name has them where it is simple,
 * else as the PTX has them. */
void kernel_wants(char *text, size_t size, const char *name, const struct simt_shape *shape);
