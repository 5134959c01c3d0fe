/* The device that results were measured on, in the `context` of a result file. */
#pragma once

#include "harness/device/device.h"
#include "harness/text/json.h"

/* Adds facts about the device, its health at the start and the names of the clocks, as strings:
 * Google Benchmark's rule for facts that it has no member for. A fact that the device did not tell
 * is "unknown". */
void device_context(struct json *json, cJSON *context, const struct device_properties *device,
                    const struct device_health *health);
