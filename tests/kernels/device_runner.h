/* A runner of the kernel tests on an open device. */
#pragma once

#include "tests/kernels/runner.h"

/* Launches on `stream`, which must outlive the runner. */
struct kernel_runner device_runner(struct stream *stream);
