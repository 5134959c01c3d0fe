/* What the tests of devices share: an open device and a stream on it, and calls that must succeed.
 *
 * They are written for the CPU device; where they use only device.h they run on a GPU as well, with
 * CHOKEPOINT_TEST_DEVICE=cuda in the environment. */
#ifndef TESTS_CPU_DEVICE_H
#define TESTS_CPU_DEVICE_H

#include "harness/device/device.h"
#include "tests/cmocka_prelude.h"

/* Fails the test with the error's own sentence. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != STATUS_OK)                                                                   \
            fail_msg("%s: %s", #call, status_last()->text);                                        \
    } while (0)

/* "cpu", or what CHOKEPOINT_TEST_DEVICE says. */
const char *test_device_name(void);

/* Opens it. Where a GPU, its driver or a library is missing, the test program ends as skipped (77) and
 * says why. */
enum status test_device_open(struct device **device, const struct device_options *options);

/* Group or test setup and teardown: *state is a struct cpu_device_test. Options are those in
 * `cpu_device_options`, which a setup of the test's own may change before it calls this one. */
struct cpu_device_test {
    struct device *device;
    struct stream *stream;
    void *gate_page, *gate_target; /* of gate_close() */
};
extern struct device_options cpu_device_options;
int cpu_device_open(void **state);
int cpu_device_close(void **state);

/* Device memory, directly allocated; fails the test when there is none. */
void *cpu_device_memory(struct device *device, size_t bytes);

/* Skips the test on a GPU. */
void only_on_the_cpu_device(const struct cpu_device_test *test, const char *why);

/* The sentence of the last error has `part` in it. */
void assert_error_says(const char *part);

/* Holds a stream up: what is queued on `stream` after gate_close() waits until gate_open(), however
 * long that takes. One gate at a time. On the CPU device it is an asynchronous copy from a pinned page
 * that nobody may read: the worker's fault handler waits in there. On a GPU the stream waits for a
 * number to appear in that page. */
void gate_close(struct cpu_device_test *test, struct stream *stream);
void gate_open(struct cpu_device_test *test);

#endif
