/* The sizes of the model by device and role: the one table of them. */
#pragma once

#include "harness/device/device.h"
#include "harness/engine/settings/config.h"

struct role_sizes {
    enum data_kind data; /* data=auto */
    int sequence_tokens; /* the class token included, here and below */
    int image_tokens;
    int patch; /* images: pixels per side */
    int width, blocks, batch;
    int vocabulary; /* sequences */
    bool graph;     /* launch=auto is a graph */
    bool fp32;      /* precision=auto is fp32: products too small to gain by matrix units */
};

const struct role_sizes *role_sizes(enum model_role role, const struct device_properties *device);

/* Elements of one attention head: 64 on a GPU, as in vision transformers, where the width is more
 * than one such head; else 32. */
int role_head_width(int width, const struct device_properties *device);
