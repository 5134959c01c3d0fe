/* A role says what bounds a step: launches (light), input and device alike (balanced), or
 * arithmetic (heavy). The sizes that achieve this differ by device. The comment on each row is the
 * step time that was measured with healthy settings, and the machine. */
#include "harness/engine/settings/roles.h"

enum { ROLE_COUNT = ROLE_HEAVY + 1 };

static const struct role_sizes cpu_sizes[ROLE_COUNT] = {
    [ROLE_LIGHT] = /* 0.10 ms, EPYC Zen 4, 2 cores */
    { .data = DATA_SEQUENCES,
      .sequence_tokens = 8,
      .image_tokens = 5, /* 16 pixels */
      .patch = 8,
      .width = 32,
      .blocks = 4,
      .batch = 1,
      .vocabulary = 64,
      .graph = true,
      .fp32 = true },
    [ROLE_BALANCED] = /* 1.3 ms, the same */
    { .data = DATA_IMAGES,
      .sequence_tokens = 17,
      .image_tokens = 17, /* 32 pixels */
      .patch = 8,
      .width = 64,
      .blocks = 2,
      .batch = 8,
      .vocabulary = 64 },
    [ROLE_HEAVY] = /* 11 ms in bf16, 16 ms in fp32, Xeon with AMX, 2 cores */
    { .data = DATA_IMAGES,
      .sequence_tokens = 37,
      .image_tokens = 37, /* 48 pixels */
      .patch = 8,
      .width = 128,
      .blocks = 8,
      .batch = 2,
      .vocabulary = 64 },
};

static const struct role_sizes gpu_sizes[ROLE_COUNT] = {
    [ROLE_LIGHT] = /* not measured yet */
    { .data = DATA_SEQUENCES,
      .sequence_tokens = 16,
      .image_tokens = 17, /* 64 pixels */
      .patch = 16,
      .width = 128,
      .blocks = 4,
      .batch = 4,
      .vocabulary = 256,
      .graph = true },
    [ROLE_BALANCED] = /* not measured yet */
    { .data = DATA_IMAGES,
      .sequence_tokens = 197,
      .image_tokens = 197, /* 224 pixels, as ViT-S/16 */
      .patch = 16,
      .width = 384,
      .blocks = 12,
      .batch = 64,
      .vocabulary = 256 },
    [ROLE_HEAVY] = /* not measured yet */
    { .data = DATA_IMAGES,
      .sequence_tokens = 197,
      .image_tokens = 197, /* 224 pixels, as ViT-B/16 */
      .patch = 16,
      .width = 768,
      .blocks = 12,
      .batch = 128,
      .vocabulary = 256 },
};

const struct role_sizes *role_sizes(enum model_role role, const struct device_properties *device)
{
    return device->is_large ? &gpu_sizes[role] : &cpu_sizes[role];
}

int role_head_width(int width, const struct device_properties *device)
{
    return device->is_large && width > 64 ? 64 : 32;
}
