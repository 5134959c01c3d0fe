/* What the tests of the CPU device share: an open device and a stream on it, and calls that must
 * succeed. */
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

/* The sentence of the last error has `part` in it. */
void assert_error_says(const char *part);

/* Holds a worker up: what is queued on `stream` after gate_close() waits until gate_open(), however
 * long that takes. One gate at a time. It is an asynchronous copy from a pinned page that nobody may
 * read: the worker's fault handler waits in there. */
void gate_close(struct cpu_device_test *test, struct stream *stream);
void gate_open(struct cpu_device_test *test);

#endif
