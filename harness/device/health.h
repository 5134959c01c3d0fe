/* How a device is: what decides its speed beside the work it is given.
 *
 * A reading changes nothing and never fails: what cannot be read is unknown, which is NAN for a double,
 * -1 for an integer and "" for a text. On a GPU NVML is asked (cuda/nvml.h), on the CPU device the
 * host's /sys. Vitals are what changes from one moment to the next; reading them costs some calls of
 * NVML, and nothing on the CPU device, where nothing that could be read would be worth a pause. */
#ifndef HARNESS_DEVICE_HEALTH_H
#define HARNESS_DEVICE_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What holds the clocks down (NVML's "clocks event reasons"). Being idle and being set so are no faults;
 * the others throttle. */
enum {
    LIMIT_IDLE = 1,
    LIMIT_SETTING = 2,  /* application clocks, groups of GPUs at one clock, the display */
    LIMIT_POWER = 4,    /* the power limit, or a power brake from outside */
    LIMIT_THERMAL = 8,  /* GPU or memory too hot */
    LIMIT_HARDWARE = 16 /* the hardware's own slowdown, for a reason that it does not name */
};

/* Every vital sign that is a number, once: the struct, the records between processes and result files
 * are made from this list. The limited times count since the driver was loaded: the difference of two
 * readings is the time that the clocks were held down between them. */
#define DEVICE_VITALS(X)                                                                           \
    X(clock_mhz) /* of the multiprocessors, or of the host's first core */                         \
    X(memory_clock_mhz)                                                                            \
    X(temperature_c)                                                                               \
    X(power_w)                                                                                     \
    X(power_limited_ns)                                                                            \
    X(thermal_limited_ns)

struct device_vitals {
#define DOUBLE(field) double field;
    DEVICE_VITALS(DOUBLE)
#undef DOUBLE
    int limits; /* LIMIT_* together, now */
};

struct device_health {
    struct device_vitals now;
    char source[96];   /* who was asked: "NVML, driver 580.65.06" */
    char trouble[192]; /* why nothing, or not all, could be read */
    double clock_max_mhz, memory_clock_max_mhz, power_limit_w;
    int ecc;                 /* error correction of the memory is on: 1, off: 0 */
    int64_t ecc_uncorrected; /* errors since the driver was loaded */
    int pcie_generation, pcie_generation_max, pcie_width, pcie_width_max; /* now, and possible */
    int numa_node;        /* that it is attached to */
    char local_cores[96]; /* of that node: "0-15" */
    int mig;              /* 1: the GPU is divided */
    int persistence;      /* 1: the driver stays loaded while no program uses the GPU */
    int other_processes;  /* that use the GPU beside this one */
    int64_t other_bytes;  /* of the GPU's memory, theirs */
};

extern const struct device_vitals device_vitals_unknown;
extern const struct device_health device_health_unknown;

bool vitals_are_known(const struct device_vitals *vitals); /* any of them */

/* What throttled between two readings: LIMIT_POWER, LIMIT_THERMAL and LIMIT_HARDWARE together. 0: nothing,
 * as far as is known. */
int vitals_throttled(const struct device_vitals *first, const struct device_vitals *second);

/* "power, thermal"; "none" for 0 and "unknown" for -1. */
const char *health_limits_print(char *text, size_t size, int limits);

#endif
