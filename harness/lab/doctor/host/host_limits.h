/* The most that this host can do, measured without the device: the CPU device is compared with
 * it. */
#pragma once

#include "harness/base/facts/cpu_times.h"
#include "harness/base/status.h"

#include <stdint.h>

struct host_limits {
    double clock_hz;              /* of a core under load, NAN: not known for this architecture */
    double flops_per_cycle;       /* fp32, of a core: vector width and fused multiply-adds */
    double copy_bytes_per_second; /* of the C library's memcpy, one thread, bytes that cross */
    double round_trip_ns;         /* a byte to a sleeping thread and back, through two pipes */
    struct cpu_loss loss;         /* while this was measured */
};

/* Takes about a quarter of a second. The copy is of `copy_bytes`. The fastest of several tries
 * counts: the others were disturbed. OUT_OF_MEMORY; IO when a pipe or a thread is refused. */
enum status host_limits_measure(struct host_limits *limits, int64_t copy_bytes);
