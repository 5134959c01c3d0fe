/* The functions of the plugin that connects ranks, libchokepoint_mpi.so: one const row, found and
 * checked as a device's is (driver.h). */
#pragma once

#include "harness/base/status.h"
#include "harness/device/types/collective.h"

#include <stddef.h>

struct ranks_place {
    int rank, count;
    int local_rank, local_count; /* among those of this machine */
};

/* Work of devices and of hosts never meets. On each channel the calls take turns, and must come in
 * the same order on every rank. */
enum ranks_channel { RANKS_DEVICES, RANKS_HOSTS, RANKS_CHANNELS };

struct ranks_driver {
    const char *build_id;
    const char *library;     /* ranks_library() */
    const char *srun_option; /* by which srun connects its processes */
    const char *joins_by; /* variable without which they end at join(); NULL: they would be alone */
    /* Once per process. */
    enum status (*join)(struct ranks_place *place, const struct status_bridge *bridge);
    void (*leave)(void);
    void (*abort)(int exit_code); /* does not return */
    enum status (*run)(enum ranks_channel channel, const struct collective *collective);
    /* Every rank's `bytes` of `memory`, which has room for those of all, at their places. */
    enum status (*gather)(enum ranks_channel channel, void *memory, size_t bytes);
};

typedef const struct ranks_driver *ranks_driver_fn(void);
#define RANKS_DRIVER_SYMBOL "chokepoint_ranks_driver"
