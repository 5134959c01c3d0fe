/* The instruction set that the kernels were built for, and whether this CPU has it. */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Instruction sets, the most telling first: name, gcc's macro, gcc's name of it. AMX is
 * missing: only oneDNN uses it. */
#define ISA_FEATURES(X)                                                                            \
    X(avx512fp16, "avx512fp16")                                                                    \
    X(avx512bf16, "avx512bf16")                                                                    \
    X(avx512vbmi, "avx512vbmi")                                                                    \
    X(avx512vnni, "avx512vnni")                                                                    \
    X(avx512bw, "avx512bw")                                                                        \
    X(avx512vl, "avx512vl")                                                                        \
    X(avx512dq, "avx512dq")                                                                        \
    X(avx512cd, "avx512cd")                                                                        \
    X(avx512f, "avx512f")                                                                          \
    X(avx2, "avx2")                                                                                \
    X(fma, "fma")                                                                                  \
    X(bmi2, "bmi2")                                                                                \
    X(f16c, "f16c")                                                                                \
    X(avx, "avx")                                                                                  \
    X(sse4_2, "sse4.2")                                                                            \
    X(popcnt, "popcnt")

enum isa_feature {
#define ISA_ID(name, text) ISA_##name,
    ISA_FEATURES(ISA_ID)
#undef ISA_ID
};

/* A bit for each feature that the kernels' compiler flags allowed. */
extern const uint32_t isa_built;

const char *isa_name(void); /* the most telling feature: "avx512bf16" */

/* NO_DEVICE names the first feature that this CPU lacks. */
enum status isa_check(void);
