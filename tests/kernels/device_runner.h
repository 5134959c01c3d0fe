/* A runner of the kernel tests on an open device. */
#ifndef TESTS_KERNELS_DEVICE_RUNNER_H
#define TESTS_KERNELS_DEVICE_RUNNER_H

#include "tests/kernels/runner.h"

/* Launches on `stream`, which must outlive the runner. */
struct kernel_runner device_runner(struct stream *stream);

#endif
