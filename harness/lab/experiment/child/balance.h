/* Balance: brings host and device work to a similar size, for bottlenecks that exist only then.
 *
 * Device work hides loading, or waits for it, only while neither of them is negligible. Both parts
 * are measured in steps in which one waits for the other, so that the step of a loop that waits
 * takes their sum, and the step of a loop that does not takes the larger of the two. Then the size
 * of the JPEG files is chosen so that decoding a batch gives the ratio that the scenario asks for,
 * and measured once more. Both variants use the same size. */
#pragma once

#include "harness/lab/experiment/child/session.h"

/* Measures both parts. Where `config` (resolved) decodes images of a size that is ours to choose,
 * also chooses config->data.jpeg_pixels, a multiple of 8 from 32 to 512, to come near the middle of
 * the band. Other input is taken as it is. session->balance becomes the measurement of the choice.
 * If there was a choice, two runs agree on it, unless the search ended after as many sizes as it
 * may try: then the best of these was maybe measured once. session->balance.measured is false where
 * the scenario asks for no balance. */
enum status balance_choose(struct session *session, struct device *device,
                           struct training_config *config);

/* Whether the ratio is in the band. True where the scenario asks for none. */
bool balance_holds(const struct balance *balance, const struct balance_result *result);

/* The reason why it is not, for the user: both times and the band. */
void balance_explain(const struct balance *balance, const struct balance_result *result, char *text,
                     size_t size);
