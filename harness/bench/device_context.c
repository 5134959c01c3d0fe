/* Facts are strings, whatever they hold, and "unknown" where the driver does not say. */
#include "harness/bench/device_context.h"

#include "harness/text/page.h"

#include <math.h>

/* NAN and below 0 stand for what the driver did not tell. */
static struct cell amount(double amount)
{
    return isfinite(amount) ? cell("%.0f", amount) : cell("unknown");
}

static struct cell count(int64_t count)
{
    return count >= 0 ? cell("%lld", (long long)count) : cell("unknown");
}

static const char *switched(int state)
{
    return state < 0 ? "unknown" : state > 0 ? "on" : "off";
}

static const char *known(const char *text)
{
    return text[0] != '\0' ? text : "unknown";
}

/* Facts that only a GPU has. */
static void add_gpu(struct json *json, cJSON *context, const struct device_health *health)
{
    char limits[64];

    JSON_ADD(
        json, context, KEY("device_memory_clock_mhz", amount(health->now.memory_clock_mhz).text),
        KEY("device_memory_clock_max_mhz", amount(health->memory_clock_max_mhz).text),
        KEY("device_clock_limits", health_limits_print(limits, sizeof limits, health->now.limits)),
        KEY("device_power_w", amount(health->now.power_w).text),
        KEY("device_power_limit_w", amount(health->power_limit_w).text),
        KEY("device_ecc", switched(health->ecc)),
        KEY("device_ecc_uncorrected", count(health->ecc_uncorrected).text),
        KEY("device_pcie_generation", count(health->pcie_generation).text),
        KEY("device_pcie_generation_max", count(health->pcie_generation_max).text),
        KEY("device_pcie_width", count(health->pcie_width).text),
        KEY("device_pcie_width_max", count(health->pcie_width_max).text),
        KEY("device_numa_node", count(health->numa_node).text),
        KEY("device_local_cores", known(health->local_cores)),
        KEY("device_mig", switched(health->mig)),
        KEY("device_other_processes", count(health->other_processes).text),
        KEY("device_other_bytes", count(health->other_bytes).text));
}

void device_context(struct json *json, cJSON *context, const struct device_properties *device,
                    const struct device_health *health)
{
    JSON_ADD(json, context, KEY("device", device->kind), KEY("device_name", device->name));
    if (!device->is_gpu && device_fallback()[0] != '\0')
        json_text(json, context, "device_fallback", device_fallback());
    JSON_ADD(json, context, KEY("device_isa", device->isa),
             KEY("gemm_library", device->gemm_library),
             KEY("device_index", cell("%d", device->index).text),
             KEY("device_memory_bytes", cell("%lld", (long long)device->memory_bytes).text),
             KEY("device_launch_ns", cell("%.0f", device->launch_ns).text),
             KEY("host_cores", cell("%d", device->host_cores).text),
             KEY("device_health_source", known(health->source)));
    if (health->trouble[0] != '\0')
        json_text(json, context, "device_health_trouble", health->trouble);
    JSON_ADD(json, context, KEY("device_clock_mhz", amount(health->now.clock_mhz).text),
             KEY("device_clock_max_mhz", amount(health->clock_max_mhz).text),
             KEY("device_temperature_c", amount(health->now.temperature_c).text));
    if (device->is_gpu)
        add_gpu(json, context, health);
    JSON_ADD(json, context, KEY("real_time_clock", "CLOCK_MONOTONIC"),
             KEY("cpu_time_clock", "CLOCK_PROCESS_CPUTIME_ID"));
}
