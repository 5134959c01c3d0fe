/* Balance: making host and device work comparable, where a bottleneck exists only then.
 *
 * Loading is hidden behind the device, or waits for it, only while neither is negligible. Both parts are
 * measured alone; then the size of the generated JPEG files is chosen so that decoding a batch gives the
 * ratio that the scenario asks for. One choice serves both variants. */
#ifndef HARNESS_EXPERIMENT_CHILD_BALANCE_H
#define HARNESS_EXPERIMENT_CHILD_BALANCE_H

#include "harness/experiment/result.h"

/* Measures, and where `config` (resolved) decodes generated images chooses config->data.jpeg_pixels: a
 * multiple of 16 from 32 to 512, aiming at the middle of the band. Files of a user are taken as they are,
 * and other input cannot be chosen. `result` says what the last choice measured; result->measured is
 * false where the scenario asks for no balance. */
enum status balance_choose(struct balance_result *result, struct device *device,
                           const struct balance *balance, struct training_config *config);

/* Whether the ratio lies in the band. True where nothing was asked for. */
bool balance_holds(const struct balance *balance, const struct balance_result *result);

/* Why it does not, for the user: both numbers and the band. */
void balance_explain(const struct balance *balance, const struct balance_result *result, char *text,
                     size_t size);

#endif
