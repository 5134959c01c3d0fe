/* The settings of both variants of a scenario, as they are on one device. */
#ifndef HARNESS_EXPERIMENT_CHILD_SETTINGS_H
#define HARNESS_EXPERIMENT_CHILD_SETTINGS_H

#include "harness/experiment/experiment.h"

/* The scenario's knobs, with the protocol's seed and data, resolved; in A/A those before, twice.
 * REFUSED or UNSUPPORTED where the device cannot show the scenario; INTERNAL when the variants do
 * not take the same samples a step: a window has the same steps in both, so only then does it hold
 * the same samples. */
enum status settings_settle(struct training_config configs[VARIANT_COUNT],
                            const struct scenario *scenario, const struct protocol *protocol,
                            const struct device_properties *device);

#endif
