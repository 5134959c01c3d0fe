/* Results of scenarios that never ran: known figures for the tests of reports. */
#pragma once

#include "harness/lab/experiment/result.h"

extern const struct device_properties fixture_device;
extern const struct device_health fixture_health; /* of the CPU device, which tells little */

/* `pairs` repetitions of item_sync whose step takes 1500 us before and 1000 us after, each
 * repetition 1 us longer than the last; half of it is processor time. Steps are 4, samples 32. */
void fixture_reproduced(struct scenario_result *result, int pairs);

/* loader_workers, skipped with a reason and without repetitions. */
void fixture_skipped(struct scenario_result *result);

/* item_sync again, whose first expectation was not met. */
void fixture_not_reproduced(struct scenario_result *result, int pairs);

/* small_batch against itself: 1500 us on one side, 1470 us on the other, called the same. */
void fixture_aa(struct scenario_result *result, int pairs);

/* Frees what the functions above allocated. */
void fixture_release(struct scenario_result *result);
