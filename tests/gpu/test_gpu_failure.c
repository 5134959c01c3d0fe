/* A kernel that fails on the GPU: its error surfaces at the next synchronisation, says that it was
 * injected, and stays for the rest of the process. So this is one test, in a process of its own. */
#include "tests/fixtures/lab/cpu_device.h"

enum { ELEMENTS = 64 };

TEST(a_failing_kernel_surfaces_at_the_next_synchronisation_for_good)
{
    struct device *device = *state, *again;
    struct stream *stream, *other = NULL;
    struct memory_info info;
    struct event *event;
    float *x = cpu_device_memory(device, ELEMENTS * sizeof *x), value = -1;

    OK(stream_create(device, &stream));
    OK(event_create(device, true, &event));
    OK(LAUNCH(stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 3));
    OK(device_copy(stream, COPY_DEVICE_TO_HOST, &value, x, sizeof value));
    assert_float_equal(value, 3, 0);
    OK(LAUNCH(stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 4)); /* This one. */
    assert_int_equal(stream_synchronize(stream), STATUS_DEVICE_ERROR);
    assert_error_says("injected by CHOKEPOINT_FAIL");
    assert_error_says("cudaErrorLaunchFailure");
    assert_int_equal(stream_synchronize(stream), STATUS_DEVICE_ERROR);
    assert_int_equal(device_synchronize(device), STATUS_DEVICE_ERROR);
    assert_int_equal(event_synchronize(event), STATUS_DEVICE_ERROR);
    assert_int_equal(device_memory_trim(device), STATUS_DEVICE_ERROR);
    assert_int_equal(device_copy(stream, COPY_DEVICE_TO_HOST, &value, x, sizeof value),
                     STATUS_DEVICE_ERROR);
    assert_error_says("injected by CHOKEPOINT_FAIL");
    assert_float_equal(value, 3, 0);
    assert_int_equal(stream_create(device, &other), STATUS_DEVICE_ERROR);
    assert_null(other);
    OK(device_memory_info(device, &info)); /* The books go on. */
    assert_int_equal(info.used, 256);
    assert_int_equal(device_free(device, NULL, ALLOCATE_DIRECT, x), STATUS_DEVICE_ERROR);
    OK(device_memory_info(device, &info));
    assert_int_equal(info.used, 0);
    event_destroy(event);
    stream_destroy(stream);
    assert_int_not_equal(device_open(&again, test_device_name(), NULL), STATUS_OK);
}

static int open_failing(void **state)
{
    struct device *device;

    setenv("CHOKEPOINT_FAIL", "kernel:2", 1);
    setenv("CHOKEPOINT_TEST_DEVICE", "cuda", 0);
    OK(test_device_open(&device, NULL));
    *state = device;
    return 0;
}

static int close_failed(void **state)
{
    device_close(*state);
    return 0;
}

TESTS_WITH(open_failing, close_failed)
