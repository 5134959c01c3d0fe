#include "harness/report/device_context.h"

#include <stdio.h>

void device_context(struct json *json, cJSON *context, const struct device_properties *device)
{
    char text[64];

    json_text(json, context, "device", device->kind);
    json_text(json, context, "device_name", device->name);
    json_text(json, context, "device_isa", device->isa);
    json_text(json, context, "gemm_library", device->gemm_library);
    snprintf(text, sizeof text, "%d", device->index);
    json_text(json, context, "device_index", text);
    snprintf(text, sizeof text, "%lld", (long long)device->memory_bytes);
    json_text(json, context, "device_memory_bytes", text);
    snprintf(text, sizeof text, "%.0f", device->launch_ns);
    json_text(json, context, "device_launch_ns", text);
    snprintf(text, sizeof text, "%d", device->host_cores);
    json_text(json, context, "host_cores", text);
    json_text(json, context, "real_time_clock", "CLOCK_MONOTONIC");
    json_text(json, context, "cpu_time_clock", "CLOCK_PROCESS_CPUTIME_ID");
}
