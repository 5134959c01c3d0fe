#include "harness/experiment/child/settings.h"

#include <stdio.h>
#include <string.h>

static enum status settle_variant(struct training_config *config, const struct scenario *scenario,
                                  enum variant variant, const struct protocol *protocol,
                                  const struct device_properties *device)
{
    enum status status = STATUS_OK;

    TRY(scenario_config(scenario, protocol->aa ? VARIANT_BEFORE : variant, config));
    config->seed = protocol->seed;
    if (protocol->data != NULL && config->data.kind != DATA_SEQUENCES) {
        if (strlen(protocol->data) >= sizeof config->data.folder)
            FAIL(STATUS_BAD_INPUT, "the folder's name is longer than %zu characters: %.80s...",
                 sizeof config->data.folder - 1, protocol->data);
        snprintf(config->data.folder, sizeof config->data.folder, "%s", protocol->data);
    }
    TRY(knobs_resolve(config, device));

out:
    return status;
}

static int samples_a_step(const struct training_config *config)
{
    return config->model.batch; /* of all micro-batches together */
}

enum status settings_settle(struct training_config configs[VARIANT_COUNT],
                            const struct scenario *scenario, const struct protocol *protocol,
                            const struct device_properties *device)
{
    const struct training_config *before = &configs[VARIANT_BEFORE];
    const struct training_config *after = &configs[VARIANT_AFTER];
    enum status status = STATUS_OK;

    for (int v = 0; v < VARIANT_COUNT; v++)
        TRY(settle_variant(&configs[v], scenario, (enum variant)v, protocol, device));
    if (samples_a_step(before) != samples_a_step(after))
        FAIL(STATUS_INTERNAL,
             "%s: a step takes %d samples before and %d after; both must take the same",
             scenario->name, samples_a_step(before), samples_a_step(after));

out:
    return status;
}
