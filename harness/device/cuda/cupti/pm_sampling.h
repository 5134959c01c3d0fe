/* The GPU's counters of a while, by CUPTI's PM sampling: the hardware writes them at an interval,
 * whatever runs, so kernels run together and at their own pace. They are of the whole GPU, other
 * programs included. Drivers allow it to root, or to all (NVIDIA, "ERR_NVGPUCTRPERM"), and to one
 * program at a time: DCGM may hold the counters.
 *
 * A process starts it at most once. */
#pragma once

#include "harness/base/figures/hardware_counters.h"
#include "harness/base/status.h"

struct pm_sampling;

/* The device's context is current. NO_LIBRARY: CUPTI or the driver refuses, with its reason, or
 * this was built with CUDA 12. On failure *sampling is NULL. */
enum status pm_sampling_start(struct pm_sampling **sampling, int device, int compute_capability);

/* Means over the time since the start; closes it, also on failure. Counters that the GPU does not
 * have together with those before them are NaN. */
enum status pm_sampling_stop(struct pm_sampling *sampling, struct hardware_counters *counters);
