/* The instruction set that the kernels were built for, and whether this CPU has it. */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Instruction sets, the most telling first: name, text, whether this CPU has it. Texts are gcc's
 * names on x86-64, Linux's in /proc/cpuinfo on aarch64, where they come from the kernel
 * (Documentation/arm64/elf_hwcaps.rst). AMX is missing: only oneDNN uses it. */
#if defined(__x86_64__)
#define ISA_FEATURES(X)                                                                            \
    X(avx512fp16, "avx512fp16", __builtin_cpu_supports("avx512fp16"))                              \
    X(avx512bf16, "avx512bf16", __builtin_cpu_supports("avx512bf16"))                              \
    X(avx512vbmi, "avx512vbmi", __builtin_cpu_supports("avx512vbmi"))                              \
    X(avx512vnni, "avx512vnni", __builtin_cpu_supports("avx512vnni"))                              \
    X(avx512bw, "avx512bw", __builtin_cpu_supports("avx512bw"))                                    \
    X(avx512vl, "avx512vl", __builtin_cpu_supports("avx512vl"))                                    \
    X(avx512dq, "avx512dq", __builtin_cpu_supports("avx512dq"))                                    \
    X(avx512cd, "avx512cd", __builtin_cpu_supports("avx512cd"))                                    \
    X(avx512f, "avx512f", __builtin_cpu_supports("avx512f"))                                       \
    X(avx2, "avx2", __builtin_cpu_supports("avx2"))                                                \
    X(fma, "fma", __builtin_cpu_supports("fma"))                                                   \
    X(bmi2, "bmi2", __builtin_cpu_supports("bmi2"))                                                \
    X(f16c, "f16c", __builtin_cpu_supports("f16c"))                                                \
    X(avx, "avx", __builtin_cpu_supports("avx"))                                                   \
    X(sse4_2, "sse4.2", __builtin_cpu_supports("sse4.2"))                                          \
    X(popcnt, "popcnt", __builtin_cpu_supports("popcnt"))
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define ISA_FEATURES(X)                                                                            \
    X(sve2, "sve2", (getauxval(AT_HWCAP2) & HWCAP2_SVE2) != 0)                                     \
    X(i8mm, "i8mm", (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0)                                     \
    X(bf16, "bf16", (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0)                                     \
    X(sve, "sve", (getauxval(AT_HWCAP) & HWCAP_SVE) != 0)                                          \
    X(asimddp, "asimddp", (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0)                              \
    X(asimdhp, "asimdhp", (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0)                              \
    X(asimdrdm, "asimdrdm", (getauxval(AT_HWCAP) & HWCAP_ASIMDRDM) != 0)                           \
    X(atomics, "atomics", (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0)
#else
#error "the instruction sets of this architecture are not listed here"
#endif

enum isa_feature {
#define ISA_ID(name, text, is_here) ISA_##name,
    ISA_FEATURES(ISA_ID)
#undef ISA_ID
};

/* A bit for each feature that the kernels' compiler flags allowed. */
extern const uint32_t isa_built;

const char *isa_name(void); /* the most telling feature: "avx512bf16"; "baseline" if none */

/* NO_DEVICE names the first feature that this CPU lacks. */
enum status isa_check(void);
