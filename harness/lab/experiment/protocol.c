/* The numbers that a run starts from, and the settings that follow from them for each variant. The
 * parent computes the settings too, to learn in which precision a variant trains. */
#include "harness/lab/experiment/protocol.h"

#include <stdio.h>
#include <string.h>

struct protocol protocol_default(bool quick)
{
    return (struct protocol){
        .device = "auto",
        .repetitions = 6,
        .extra = 9,
        .window_seconds = quick ? 0.1 : 0.2,
        .shortest_seconds = quick ? 0.025 : 0.05,
        .timeout_seconds = quick ? 120 : 300, /* the first run also generates its images */
        .seed = 1,
        .quick = quick,
    };
}

int protocol_ranks(const struct protocol *protocol, const struct scenario *scenario)
{
    struct training_config config;
    bool known =
        scenario->base != NULL && scenario_config(scenario, VARIANT_BEFORE, &config) == STATUS_OK;

    if (!known || config.ranks.count == 1)
        return 1;
    return protocol->ranks > 0 ? protocol->ranks : config.ranks.count;
}

enum status protocol_config(const struct protocol *protocol, const struct scenario *scenario,
                            enum variant variant, const struct device_properties *device,
                            struct training_config *config)
{
    struct training_config generated;

    TRY(scenario_config(scenario, protocol->aa ? VARIANT_BEFORE : variant, config));
    config->seed = protocol->seed;
    config->ranks.count = protocol_ranks(protocol, scenario);
    /* A balance is found by the size of the files: only if they are decoded whole does a larger one
     * always take longer. */
    if (scenario->balance.kind != BALANCE_NONE)
        config->data.scales = false;
    generated = *config;
    TRY(knobs_resolve(&generated, device));
    /* A folder's images are copied at one size, so what needs uneven ones keeps the generated. */
    if (protocol->data != NULL && generated.data.kind == DATA_IMAGES && !generated.data.uneven) {
        if (strlen(protocol->data) >= sizeof config->data.folder)
            FAIL(STATUS_BAD_INPUT, "the folder's name is longer than %zu characters: %.80s...",
                 sizeof config->data.folder - 1, protocol->data);
        snprintf(config->data.folder, sizeof config->data.folder, "%s", protocol->data);
        config->data.jpeg_pixels = generated.data.jpeg_pixels;
    }
    return knobs_resolve(config, device);
}
