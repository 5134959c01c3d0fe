/* A role says what bounds a step: launches (light), input and device alike (balanced), or
 * arithmetic (heavy). The sizes that achieve this differ by device. The comment on each row is the
 * step time that was measured with healthy settings, and the machine. */
#include "harness/engine/settings/roles.h"

enum { ROLE_COUNT = ROLE_HEAVY + 1 };

/* data; tokens of sequences, of images; patch; width, blocks, batch; vocabulary */
static const struct role_sizes cpu_sizes[ROLE_COUNT] = {
    /* 0.10 ms, EPYC Zen 4, 2 cores; images of 16 pixels */
    [ROLE_LIGHT] = { DATA_SEQUENCES, 8, 5, 8, 32, 4, 1, 64, .graph = true, .fp32 = true },
    /* 1.3 ms, the same; 32 pixels */
    [ROLE_BALANCED] = { DATA_IMAGES, 17, 17, 8, 64, 2, 8, 64 },
    /* 11 ms in bf16, 16 ms in fp32, Xeon with AMX, 2 cores; 48 pixels */
    [ROLE_HEAVY] = { DATA_IMAGES, 37, 37, 8, 128, 8, 2, 64 },
};

/* No step time was measured yet. */
static const struct role_sizes gpu_sizes[ROLE_COUNT] = {
    [ROLE_LIGHT] = { DATA_SEQUENCES, 16, 17, 16, 128, 4, 4, 256, .graph = true }, /* 64 pixels */
    [ROLE_BALANCED] = { DATA_IMAGES, 197, 197, 16, 384, 12, 64, 256 }, /* 224, as ViT-S/16 */
    [ROLE_HEAVY] = { DATA_IMAGES, 197, 197, 16, 768, 12, 128, 256 },   /* 224, as ViT-B/16 */
};

const struct role_sizes *role_sizes(enum model_role role, const struct device_properties *device)
{
    return device->is_large ? &gpu_sizes[role] : &cpu_sizes[role];
}

int role_head_width(int width, const struct device_properties *device)
{
    return device->is_large && width > 64 ? 64 : 32;
}
