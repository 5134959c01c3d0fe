/* The whole numbers that a trace states of its device, for the writer and for the reader: the name
 * in the file, the member of struct event_device, and the value that the writer takes from `device`
 * and `about`. */
#pragma once

#define DEVICE_NUMBERS(X)                                                                          \
    X("totalGlobalMem", memory_bytes, device->memory_bytes)                                        \
    X("memoryBudget", memory_budget_bytes,                                                         \
      about->memory_budget > 0 ? about->memory_budget : device->memory_bytes)                      \
    X("computeMajor", compute_major, device->compute_capability / 10)                              \
    X("computeMinor", compute_minor, device->compute_capability % 10)                              \
    X("warpSize", warp_lanes, device->warp_lanes)                                                  \
    X("numSms", multiprocessors, device->multiprocessors)                                          \
    X("hostCores", host_cores, device->host_cores)                                                 \
    X("sharesHostCores", shares_host_cores, device->shares_host_cores)                             \
    X("launchNs", launch_ns, (int64_t)(device->launch_ns + 0.5))                                   \
    X("bf16MatrixUnits", bf16_matrix_units, device->bf16_matrix_units)                             \
    X("fp16MatrixUnits", fp16_matrix_units, device->fp16_matrix_units)                             \
    X("tf32", tf32, device->tf32)                                                                  \
    X("fusedAttention", fused_attention, device->fused_attention)
