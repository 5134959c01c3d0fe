/* The knobs: every setting of the training step as text, in one table.
 *
 * Scenarios, `train`'s flags, result files and `explain` all use this table, so a setting has one
 * name, one set of values and one place where it is read. */
#ifndef SCENARIOS_TRAINING_KNOBS_H
#define SCENARIOS_TRAINING_KNOBS_H

#include "harness/device/device.h"
#include "scenarios/training/config.h"

/* One row, for help texts. */
struct knob {
    const char *name;   /* "loss_every"; as a flag: --loss-every */
    const char *values; /* "eager|graph", "N" ... */
    const char *text;   /* one line */
};
const struct knob *knobs_list(int *count);

/* The healthy value of every knob; `auto` values are left to knobs_resolve. */
void knobs_defaults(struct training_config *config);

/* Sets one knob. BAD_USAGE names the nearest knob, or the values that the knob takes. */
enum status knob_set(struct training_config *config, const char *name, const char *value);

/* Sets several: "model=balanced input=decoded workers=0". */
enum status knobs_apply(struct training_config *config, const char *settings);

/* Fills in what depends on the device and the model's role (sizes, launch mode, workers, precision)
 * and refuses impossible combinations with the reason (REFUSED). */
enum status knobs_resolve(struct training_config *config, const struct device_properties *device);

/* The value of a knob as knob_set takes it. `text` has room for `size` bytes. */
enum status knob_get(const struct training_config *config, const char *name, char *text,
                     size_t size);

/* All knobs as "name=value name=value ...", in the table's order. */
enum status knobs_print(const struct training_config *config, char *text, size_t size);

#endif
