#include "scenarios/scenario.h"

#include "harness/base/nearest.h"

#include <string.h>

enum { SCENARIOS_MAX = 64 };

const struct scenario *scenario_find(const char *name)
{
    for (int i = 0; scenarios[i] != NULL; i++)
        if (strcmp(scenarios[i]->name, name) == 0)
            return scenarios[i];
    return NULL;
}

const char *scenario_nearest(const char *name)
{
    const char *names[SCENARIOS_MAX];
    int count = 0;

    while (count < SCENARIOS_MAX && scenarios[count] != NULL) {
        names[count] = scenarios[count]->name;
        count++;
    }
    return nearest_name(name, names, count);
}

bool where_holds(enum where where, const struct device_properties *device)
{
    bool is_cuda = strcmp(device->kind, "cuda") == 0;

    switch (where) {
    case ANYWHERE:
        return true;
    case WHERE_CPU_DEVICE:
        return !is_cuda;
    case WHERE_CUDA:
        return is_cuda;
    case WHERE_CPU_BF16_UNITS:
        return !is_cuda && device->bf16_matrix_units;
    case WHERE_CUDA_BF16_UNITS:
        return is_cuda && device->bf16_matrix_units;
    case WHERE_FOUR_CORES:
        return !device->shares_host_cores || device->host_cores >= 4;
    }
    return false;
}

const char *variant_name(enum variant variant)
{
    static const char *const names[VARIANT_COUNT] = { "before", "after" };

    return (unsigned)variant < VARIANT_COUNT ? names[variant] : "unknown";
}

enum status scenario_config(const struct scenario *scenario, enum variant variant,
                            struct training_config *config)
{
    enum status status = STATUS_OK;

    knobs_defaults(config);
    TRY(knobs_apply(config, scenario->base));
    TRY(knob_set(config, scenario->knob,
                 variant == VARIANT_BEFORE ? scenario->before : scenario->after));

out:
    if (status != STATUS_OK)
        status_context("settings of %s/%s", scenario->name, variant_name(variant));
    return status;
}
