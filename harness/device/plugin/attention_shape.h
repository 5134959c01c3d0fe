/* Plans of fused attention are looked up by their shape. */
#ifndef HARNESS_DEVICE_PLUGIN_ATTENTION_SHAPE_H
#define HARNESS_DEVICE_PLUGIN_ATTENTION_SHAPE_H

#include "harness/device/device.h"

/* Whether one plan serves both. */
bool attention_shapes_equal(const struct attention_shape *a, const struct attention_shape *b);

#endif
