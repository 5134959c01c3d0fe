/* The row `tracing` of `doctor`: on a device that records, every kernel is recorded, and no
 * other. */
#include "harness/lab/doctor/doctor.h"
#include "tests/fixtures/lab/cpu_device.h"

TEST(the_kernels_launched_are_the_kernels_recorded)
{
    struct checks checks = { .count = 0 };
    const struct check *tracing;

    recording_check(&checks, test_device_name());
    tracing = checks_find(&checks, "tracing");
    assert_non_null(tracing);
    if (tracing->status != CHECK_OK)
        fail_msg("tracing: %s; %s", tracing->value, tracing->advice);
}

/* Ends the program as skipped where there is no such device. */
static int find_device(void **state)
{
    struct device *device;

    OK(test_device_open(&device, &cpu_device_options));
    device_close(device);
    return 0;
}

TESTS_WITH(find_device, NULL)
