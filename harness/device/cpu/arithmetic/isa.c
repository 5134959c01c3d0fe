/* Refuses a plugin whose kernels use instructions that this CPU lacks. Compares the bits that the
 * compiler's flags allowed (isa_built.c) with those that the CPU reports. */
#include "harness/device/cpu/arithmetic/isa.h"

static const char *const names[] = {
#define ISA_NAME(name, text) [ISA_##name] = text,
    ISA_FEATURES(ISA_NAME)
#undef ISA_NAME
};

const char *isa_name(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (isa_built & 1u << i)
            return names[i];
    return "baseline";
}

enum status isa_check(void)
{
    uint32_t missing = isa_built;

#if defined(__x86_64__)
#define ISA_ASK(name, text)                                                                        \
    if (__builtin_cpu_supports(text))                                                              \
        missing &= ~(1u << ISA_##name);
    ISA_FEATURES(ISA_ASK)
#undef ISA_ASK
#endif
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (missing & 1u << i)
            FAIL(STATUS_NO_DEVICE,
                 "the CPU device's kernels were built for a CPU with %s, which this one lacks; "
                 "build on this machine, or with -DCHOKEPOINT_CPU=x86-64-v3",
                 names[i]);

    return STATUS_OK;
}
