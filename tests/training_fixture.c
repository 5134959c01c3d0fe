#include "tests/training_fixture.h"

#include "tests/cpu_device.h"

#include <stdio.h>
#include <stdlib.h>

void assert_ok_(enum status status, const char *call, const char *file, int line)
{
    const struct status_error *error = status_last();

    if (status == STATUS_OK)
        return;
    print_error("%s\n  %s: %s: %s (%s:%d %s)\n", call, status_name(status), error->context,
                error->text, error->file, error->line, error->expression);
    _fail(file, line);
}

int open_device(void **state)
{
    struct device *device = NULL;

    if (getenv("CHOKEPOINT_CACHE") == NULL)
        setenv("CHOKEPOINT_CACHE", "test-cache", 0);
    assert_ok(test_device_open(&device, NULL));
    *state = device;
    return 0;
}

int close_device(void **state)
{
    device_close(*state);
    return 0;
}

struct training_config config_of(const struct device *device, const char *settings)
{
    struct device_properties sizes = *device_properties(device);
    struct training_config config;

    snprintf(sizes.kind, sizeof sizes.kind, "cpu");
    knobs_defaults(&config);
    assert_ok(knobs_apply(&config, settings));
    assert_ok(knobs_resolve(&config, &sizes));
    return config;
}

struct training *open_training(struct device *device, const char *settings)
{
    struct training_config config = config_of(device, settings);
    struct training *training = NULL;

    assert_ok(training_open(&training, device, &config));
    return training;
}

void run_losses(struct device *device, const char *settings, int steps, float *losses)
{
    struct training *training = open_training(device, settings);

    assert_ok(training_run(training, steps));
    assert_ok(training_losses(training, 0, steps, losses));
    training_close(training);
}
