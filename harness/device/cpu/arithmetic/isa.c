/* Refuses a plugin whose kernels use instructions that this CPU lacks. Compares the bits that the
 * compiler's flags allowed (isa_built.c) with those that the CPU reports. */
#include "harness/device/cpu/arithmetic/isa.h"

static const char *const names[] = {
#define ISA_NAME(name, text, is_here) [ISA_##name] = text,
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

#define ISA_ASK(name, text, is_here) missing &= (is_here) ? ~(1u << ISA_##name) : ~0u;
    ISA_FEATURES(ISA_ASK)
#undef ISA_ASK
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (missing & 1u << i)
            FAIL(STATUS_NO_DEVICE,
                 "the CPU device's kernels were built for a CPU with %s, which this one lacks; "
                 "build on this machine, or with -DCHOKEPOINT_CPU=portable",
                 names[i]);

    return STATUS_OK;
}
