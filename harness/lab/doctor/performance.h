/* The device's speed, compared with the speed that a device of its kind should have.
 *
 * The benches measure. The expectations come from other facts: for the CPU device from what the
 * host does without it (host_limits.h), for a GPU from its clocks, widths and link. The fastest
 * repetition counts, since a machine that is disturbed is not a slow one. Each row states the least
 * that is ok; below half of it the row fails. A figure that is low while others used the cores is
 * measured once more, and is low at worst: it says nothing about the machine. */
#pragma once

#include "harness/base/facts/cpu_times.h"
#include "harness/checks/checks.h"
#include "harness/device/device.h"
#include "harness/lab/doctor/host/host_limits.h"

enum performance_unit { UNIT_BYTES_PER_SECOND, UNIT_FLOPS, UNIT_NANOSECONDS, UNIT_HERTZ };

/* One row: `measured` against `bound`, the least of a rate, or the most of a time, that is ok. A
 * bound that is NAN is not known: n/a. A value that is not above 0 fails. One that is too low fails
 * only if `loss`, what others took meanwhile, does not matter (disturbance_matters()). */
void performance_judge(struct checks *checks, const char *name, enum performance_unit unit,
                       double measured, double bound, const char *advice,
                       const struct cpu_loss *loss, double noise);

/* Measures once more, and takes the better, if the value does not reach `bound` and others used the
 * cores meanwhile: *loss is what they took. */
typedef enum status performance_measure(void *context, double *value, struct cpu_loss *loss);
enum status performance_undisturbed(performance_measure *measure, void *context, bool is_time,
                                    double bound, double *value, struct cpu_loss *loss);

/* Copies, memory, matrix products, launches and waits. `mhz` is what the host's cores promise; 0:
 * not known. A bench that cannot run is a row that fails with its error. About ten seconds. */
void performance_check(struct checks *checks, struct device *device,
                       const struct device_health *health, const struct host_limits *limits,
                       int mhz);

/* The size that host_limits_measure() should copy, to compare with the copy benches. */
enum { PERFORMANCE_COPY_BYTES = 64 << 20 };

/* The least of a capability's rate, or the most of its time, that is ok: "gemm_bf16". NAN: not
 * known. */
double performance_bound(const char *name, const struct device_properties *device,
                         const struct device_health *health, const struct host_limits *host);

/* Whether the table of rows names a bench that does not exist: for the test. NULL: all are
 * there. */
const char *performance_unknown_bench(void);
