/* A gate for the streams of a GPU, as cpu_device.h describes it. */
#ifndef TESTS_GPU_GATE_H
#define TESTS_GPU_GATE_H

#include "harness/device/device.h"

/* `page` is pinned memory; its first four bytes are the gate's. */
void gpu_gate_close(struct stream *stream, void *page);
void gpu_gate_open(void *page);

#endif
