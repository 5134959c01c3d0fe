/* Records of the calls of host threads, for the sink that the device was opened with. Without a
 * sink none of these reads a clock or takes an id. */
#ifndef HARNESS_DEVICE_CPU_TRACE_H
#define HARNESS_DEVICE_CPU_TRACE_H

#include "harness/device/cpu/cpu.h"

struct call {
    int64_t start_ns;
    uint32_t correlation; /* 0: nobody records */
};

struct call call_begin(struct cpu_device *device);
void call_end(struct cpu_device *device, const struct call *call, const char *name);

/* Ends the call and records it as a wait for `stream` (NULL: for the device) as well. */
void call_end_waiting(struct cpu_device *device, const struct call *call, const char *name,
                      const char *wait_name, const struct cpu_stream *stream);

/* An allocation, or a release where `bytes` is negative. */
void trace_memory(struct cpu_device *device, const struct call *call, const void *memory,
                  int64_t bytes, enum activity_memory kind, bool stream_ordered);

#endif
