/* The health of a device: everything but its work that decides its speed.
 *
 * A reading changes nothing and never fails. A value that cannot be read is unknown: NAN for a
 * double, -1 for an integer, "" for a text. GPUs are read through NVML (cuda/libraries/nvml.h), the
 * CPU device through the host's /sys. Vitals change from one moment to the next. Reading them costs
 * a few calls of NVML; the CPU device has none, because nothing that could be read there is worth a
 * pause between windows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The reasons why clocks are held down (NVML's "clocks event reasons"). IDLE and SETTING are
 * normal; the others are throttling. */
enum {
    LIMIT_IDLE = 1,
    LIMIT_SETTING = 2,  /* application clocks, groups of GPUs at one clock, the display */
    LIMIT_POWER = 4,    /* the power limit, or a power brake from outside */
    LIMIT_THERMAL = 8,  /* GPU or memory too hot */
    LIMIT_HARDWARE = 16 /* the hardware slows itself down and gives no reason */
};

/* Every vital sign that is a number, once: the struct, the records between processes and result
 * files are made from this list. The limited times and the energy count since the driver was
 * loaded: the difference of two readings is the time that the clocks were held down between them,
 * and what the GPU used. */
#define DEVICE_VITALS(X)                                                                           \
    X(clock_mhz) /* of the multiprocessors, or of the host's first core */                         \
    X(memory_clock_mhz)                                                                            \
    X(temperature_c)                                                                               \
    X(power_w)                                                                                     \
    X(energy_j)                                                                                    \
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
    char source[96];   /* of the readings: "NVML, driver 580.65.06" */
    char trouble[192]; /* why some or all values could not be read */
    double clock_max_mhz, memory_clock_max_mhz, power_limit_w;
    int ecc;                 /* error correction of the memory is on: 1, off: 0 */
    int64_t ecc_uncorrected; /* errors since the driver was loaded */
    int pcie_generation, pcie_generation_max, pcie_width, pcie_width_max; /* now, and possible */
    int numa_node;        /* that it is attached to */
    char local_cores[96]; /* of that node: "0-15" */
    int mig;              /* 1: the GPU is divided */
    int persistence;      /* 1: the driver stays loaded while no program uses the GPU */
    int exclusive;        /* 1: the GPU takes one process at a time (its compute mode) */
    int other_processes;  /* besides this one, on the GPU */
    int64_t other_bytes;  /* of the GPU's memory, used by them */
};

extern const struct device_vitals device_vitals_unknown;
extern const struct device_health device_health_unknown;

bool vitals_are_known(const struct device_vitals *vitals); /* any of them */

/* The reasons for throttling between two readings: LIMIT_POWER, LIMIT_THERMAL and LIMIT_HARDWARE
 * together. 0: none that is known of. */
int vitals_throttled(const struct device_vitals *first, const struct device_vitals *second);

/* "power, thermal"; "none" for 0 and "unknown" for -1. */
const char *health_limits_print(char *text, size_t size, int limits);
int health_limits_read(const char *text); /* back again */
