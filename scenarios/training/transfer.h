/* From a batch in host memory to the step's input in device memory. */
#ifndef SCENARIOS_TRAINING_TRANSFER_H
#define SCENARIOS_TRAINING_TRANSFER_H

#include "harness/device/device.h"
#include "scenarios/training/loader.h"

/* TRANSFER_OVERLAPPED: on a stream of its own, a batch ahead; compute waits for it on the device.
 * TRANSFER_INLINE: asynchronously on the compute stream. TRANSFER_BLOCKING: the host waits. */
enum transfer_mode { TRANSFER_OVERLAPPED, TRANSFER_INLINE, TRANSFER_BLOCKING };

struct transfer_config {
    enum transfer_mode mode;
    bool pinned;           /* batches lie in pinned host memory */
    bool one_copy;         /* one copy a batch; no: one per tensor */
    int batches_in_flight; /* batches of host memory that copies may still be reading from */
};

#endif
