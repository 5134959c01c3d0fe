/* Plans of fused attention are looked up by their shape. */
#pragma once

#include "harness/device/device.h"

/* Whether one plan serves both. */
bool attention_shapes_equal(const struct attention_shape *a, const struct attention_shape *b);
