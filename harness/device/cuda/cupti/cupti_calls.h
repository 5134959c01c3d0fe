/* The calls of the host that a trace shows. All of them would be too many: every library asks for
 * the current device and the like, and each record costs. They are known by their names, since
 * their numbers differ between versions of CUDA. */
#pragma once

#include "harness/device/cuda/cupti/cupti.h"

/* By CUPTI's callback id the call's name without version and variant, "cudaLaunchKernel" for
 * "cudaLaunchKernel_ptsz_v7000"; NULL: it is not recorded. Names live as long as the program. */
struct cupti_calls {
    const char *runtime[CUPTI_RUNTIME_TRACE_CBID_SIZE];
    const char *driver[CUPTI_DRIVER_TRACE_CBID_SIZE];
};

void cupti_calls_find(struct cupti_calls *calls, const struct cupti *cupti);

/* The name as it is recorded; NULL: it is none of the calls. */
const char *cupti_runtime_call(const char *callback_name);
const char *cupti_driver_call(const char *callback_name);
