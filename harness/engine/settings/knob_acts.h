/* With which other settings a knob acts: loader workers change nothing for samples that are in
 * device memory.
 *
 * The condition is data in the knob's row: settings that must all hold, each "name=a|b" (one of
 * these values) or "name!=a|b" (none of them). Flags, sweeps, the ladder and the test of the
 * documents all ask here. */
#ifndef HARNESS_ENGINE_SETTINGS_KNOB_ACTS_H
#define HARNESS_ENGINE_SETTINGS_KNOB_ACTS_H

#include "harness/engine/settings/knobs.h"

enum { KNOB_WHY = 160 };

/* Whether another value of the knob could change anything with these settings, which
 * knobs_resolve() has filled in. If not, `why` says so: "workers acts only with
 * --input=cached|decoded (here input=resident)"; else it is
 * "". A name that is no knob acts. */
bool knob_acts(const struct training_config *resolved, const char *name, char why[KNOB_WHY]);

/* The next knob, from `*at` on in the table, that has another value in `config` than its default
 * and does not act in `resolved`, which is the same settings resolved. False: there is none. Begin
 * with 0; `*at` is then behind it. */
bool knobs_next_idle(const struct training_config *config, const struct training_config *resolved,
                     int *at, char why[KNOB_WHY]);

#endif
