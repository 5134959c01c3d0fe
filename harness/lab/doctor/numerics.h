/* Whether the device computes correctly: each bench compares its results with a reference before it
 * times anything, and here that is all it does. */
#pragma once

#include "harness/checks/checks.h"
#include "harness/device/device.h"

/* A row each for matrix products, kernels, copies and calls. */
void numerics_check(struct checks *checks, struct device *device);
