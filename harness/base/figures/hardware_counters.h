/* The work of a GPU over a while, by its own counters: shares of the most that its hardware can do,
 * as Nsight Compute's metrics have them. NaN: not known. */
#pragma once

#include <math.h>
#include <stdbool.h>

/* member, text, Nsight Compute's metric in percent. The last one is of the time in which SMs are
 * active, the others are of all the time. */
#define HARDWARE_COUNTERS(X)                                                                       \
    X(sm_active, "SMs active", "sm__cycles_active.avg.pct_of_peak_sustained_elapsed")              \
    X(tensor_active, "matrix units",                                                               \
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed")                           \
    X(dram_throughput, "device memory", "dram__throughput.avg.pct_of_peak_sustained_elapsed")      \
    X(occupancy, "occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active")

struct hardware_counters {
#define HARDWARE_COUNTER(member, text, metric) double member;
    HARDWARE_COUNTERS(HARDWARE_COUNTER)
#undef HARDWARE_COUNTER
};

#define HARDWARE_COUNTERS_UNKNOWN ((struct hardware_counters){ NAN, NAN, NAN, NAN })

/* A step has work, so what is all zeros was not read. */
static inline bool hardware_counters_known(const struct hardware_counters *counters)
{
    return counters->sm_active > 0;
}
