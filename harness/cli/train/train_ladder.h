/* `train --ladder`: profile, find, fix and profile again, and what came of it. */
#pragma once

#include "harness/cli/job/job_flags.h"

/* From `config`, which is not resolved, or from all that is wrong where it sets nothing that a fix
 * changes. `thorough`: then what the trace does not show. No device is open. Prints each rung once
 * it is measured, then how the ladder ended and the settings as a command; as JSON all at once.
 * After an error or an interrupt what was measured before it is printed. */
enum status train_ladder(const struct flags *flags, const struct training_config *config,
                         double budget_seconds, bool thorough);
