/* What tests of the training step share: a device, and runs from knob settings. */
#ifndef TESTS_TRAINING_FIXTURE_H
#define TESTS_TRAINING_FIXTURE_H

#include "scenarios/training/settings/knobs.h"
#include "scenarios/training/step/training_parts.h"
#include "tests/cmocka_prelude.h"

/* Fails the test with the error's sentence. */
#define assert_ok(call) assert_ok_((call), #call, __FILE__, __LINE__)
void assert_ok_(enum status status, const char *call, const char *file, int line);

/* cmocka group fixtures: *state is the struct device that CHOKEPOINT_TEST_DEVICE names, the CPU device
 * if nothing does, and the generated data lies in a folder of its own in the build folder, kept from run
 * to run. Where a GPU is asked for and missing, the program ends as skipped. */
int open_device(void **state);
int close_device(void **state);

/* Resolved for the device, but with the sizes that roles have on the CPU device: what a test expects
 * of them holds on a GPU as well, and is soon done. */
struct training_config config_of(const struct device *device, const char *settings);
struct training *open_training(struct device *device, const char *settings);

/* The losses of the first `steps` steps. */
void run_losses(struct device *device, const char *settings, int steps, float *losses);

#endif
