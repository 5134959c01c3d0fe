/* Facts are strings, whatever they hold, and "unknown" where the driver does not say. */
#include "harness/bench/device_context.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add_fact(struct json *json, cJSON *context, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void add_fact(struct json *json, cJSON *context, const char *name, const char *format, ...)
{
    va_list arguments;
    char text[192];

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_text(json, context, name, text);
}

/* NAN and below 0 stand for what the driver did not tell. */
static void add_amount(struct json *json, cJSON *context, const char *name, double amount)
{
    if (isfinite(amount))
        add_fact(json, context, name, "%.0f", amount);
    else
        json_text(json, context, name, "unknown");
}

static void add_count(struct json *json, cJSON *context, const char *name, int64_t count)
{
    if (count >= 0)
        add_fact(json, context, name, "%lld", (long long)count);
    else
        json_text(json, context, name, "unknown");
}

static void add_switch(struct json *json, cJSON *context, const char *name, int state)
{
    json_text(json, context, name, state < 0 ? "unknown" : state > 0 ? "on" : "off");
}

static void add_text(struct json *json, cJSON *context, const char *name, const char *text)
{
    json_text(json, context, name, text[0] != '\0' ? text : "unknown");
}

/* Facts that only a GPU has. */
static void add_gpu(struct json *json, cJSON *context, const struct device_health *health)
{
    char limits[64];

    add_amount(json, context, "device_memory_clock_mhz", health->now.memory_clock_mhz);
    add_amount(json, context, "device_memory_clock_max_mhz", health->memory_clock_max_mhz);
    json_text(json, context, "device_clock_limits",
              health_limits_print(limits, sizeof limits, health->now.limits));
    add_amount(json, context, "device_power_w", health->now.power_w);
    add_amount(json, context, "device_power_limit_w", health->power_limit_w);
    add_switch(json, context, "device_ecc", health->ecc);
    add_count(json, context, "device_ecc_uncorrected", health->ecc_uncorrected);
    add_count(json, context, "device_pcie_generation", health->pcie_generation);
    add_count(json, context, "device_pcie_generation_max", health->pcie_generation_max);
    add_count(json, context, "device_pcie_width", health->pcie_width);
    add_count(json, context, "device_pcie_width_max", health->pcie_width_max);
    add_count(json, context, "device_numa_node", health->numa_node);
    add_text(json, context, "device_local_cores", health->local_cores);
    add_switch(json, context, "device_mig", health->mig);
    add_count(json, context, "device_other_processes", health->other_processes);
    add_count(json, context, "device_other_bytes", health->other_bytes);
}

void device_context(struct json *json, cJSON *context, const struct device_properties *device,
                    const struct device_health *health)
{
    JSON_ADD(json, context, KEY("device", device->kind), KEY("device_name", device->name));
    if (!device->is_gpu && device_fallback()[0] != '\0')
        json_text(json, context, "device_fallback", device_fallback());
    json_text(json, context, "device_isa", device->isa);
    json_text(json, context, "gemm_library", device->gemm_library);
    add_fact(json, context, "device_index", "%d", device->index);
    add_fact(json, context, "device_memory_bytes", "%lld", (long long)device->memory_bytes);
    add_fact(json, context, "device_launch_ns", "%.0f", device->launch_ns);
    add_fact(json, context, "host_cores", "%d", device->host_cores);
    add_text(json, context, "device_health_source", health->source);
    if (health->trouble[0] != '\0')
        json_text(json, context, "device_health_trouble", health->trouble);
    add_amount(json, context, "device_clock_mhz", health->now.clock_mhz);
    add_amount(json, context, "device_clock_max_mhz", health->clock_max_mhz);
    add_amount(json, context, "device_temperature_c", health->now.temperature_c);
    if (device->is_gpu)
        add_gpu(json, context, health);
    json_text(json, context, "real_time_clock", "CLOCK_MONOTONIC");
    json_text(json, context, "cpu_time_clock", "CLOCK_PROCESS_CPUTIME_ID");
}
