/* Builds what an encoder computes: its tensors, ops and programs, from the settings. */
#ifndef HARNESS_ENGINE_MODEL_ENCODER_BUILD_H
#define HARNESS_ENGINE_MODEL_ENCODER_BUILD_H

#include "harness/engine/model/encoder.h"

/* How a parameter's first values are made: uniform with this deviation, or this constant. */
struct initial {
    float deviation, constant;
};

/* Builds an encoder whose shape is set. Its tensors have no memory yet. *initials has a row per
 * parameter and is to be freed, also after an error. OUT_OF_MEMORY; UNSUPPORTED: the device has no
 * such attention. */
enum status encoder_build(struct encoder *encoder, const struct training_config *config,
                          struct device *device, struct initial **initials);

#endif
