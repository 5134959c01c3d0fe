/* Every kernel as a device runs it, against its reference in double precision: the CPU device, or
 * the one that CHOKEPOINT_TEST_DEVICE names. */
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/kernels/device_runner.h"
#include "tests/kernels/families.h"

int main(void)
{
    struct device *device = NULL;
    struct stream *stream = NULL;
    struct kernel_runner runner;
    int failed = 1;

    if (test_device_open(&device, NULL) != STATUS_OK ||
        stream_create(device, &stream) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_last()->text);
        goto out;
    }
    runner = device_runner(stream);
    failed = kernel_families_run(&runner, NULL);

out:
    stream_destroy(stream);
    device_close(device);
    return failed;
}
