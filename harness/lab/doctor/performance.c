/* A capability is a bench and a bound that other facts give. A figure that is too low while others
 * use the cores is measured once more, and is then no fault of the machine.
 *
 * Bounds are shares of what a specification or another measurement allows. They tell a machine that
 * is broken from one that works: one that keeps them may still be tuned. */
#include "harness/lab/doctor/doctor.h"

#include "benches/benches.h"
#include "harness/base/figures/quantity.h"
#include "harness/bench/bench_measure.h"
#include "harness/lab/doctor/gpu.h"
#include "harness/lab/doctor/host/host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 2 }; /* "twice" */

/* A bound is made from these. */
struct bound_facts {
    const struct device_properties *device;
    const struct device_health *health;
    const struct host_limits *host;
};

static double copy_bound(const struct bound_facts *facts)
{
    return facts->device->is_gpu
               ? 0.7 * gpu_link_bytes_per_second(facts->health->pcie_generation_max,
                                                 facts->health->pcie_width_max)
               : 0.6 * facts->host->copy_bytes_per_second;
}

/* Staging adds a copy on the host. */
static double pageable_bound(const struct bound_facts *facts)
{
    return facts->device->is_gpu
               ? fmin(0.5 * facts->host->copy_bytes_per_second, copy_bound(facts)) / 2
               : 0.3 * facts->host->copy_bytes_per_second;
}

/* Every byte is read and written. Stores that bypass the caches spare memcpy the read of what it
 * overwrites; a kernel's ordinary stores do not. So a third less is still the memory's best. */
static double memory_bound(const struct bound_facts *facts)
{
    return facts->device->is_gpu ? 0.75 * gpu_memory_bytes_per_second(facts->device, facts->health)
                                 : 0.4 * 2 * facts->host->copy_bytes_per_second;
}

static double within_bound(const struct bound_facts *facts)
{
    return facts->device->is_gpu ? memory_bound(facts)
                                 : 0.6 * 2 * facts->host->copy_bytes_per_second;
}

/* A stream's worker computes on one core. */
static double fp32_bound(const struct bound_facts *facts)
{
    return facts->device->is_gpu ? 0.6 * gpu_fp32_flops(facts->device, facts->health)
                                 : 0.5 * facts->device->multiprocessors * facts->host->clock_hz *
                                       facts->host->flops_per_cycle;
}

/* A core with instructions for bf16 is no slower than in fp32. Else 16-bit types are widened first,
 * which takes reading and writing each element once more. */
static double sixteen_bound(const struct bound_facts *facts, enum dtype dtype)
{
    bool native = dtype == DTYPE_BF16 &&
                  (strstr(facts->device->isa, "bf16") != NULL || facts->device->bf16_matrix_units);

    return facts->device->is_gpu ? 0.6 * gpu_matrix_flops(facts->device, facts->health)
                                 : (native ? 1 : 0.5) * fp32_bound(facts);
}

static double bf16_bound(const struct bound_facts *facts)
{
    return sixteen_bound(facts, DTYPE_BF16);
}

static double fp16_bound(const struct bound_facts *facts)
{
    return sixteen_bound(facts, DTYPE_F16);
}

/* Products in tf32 take twice the time of those in bf16 (gpu_matrix_flops()). */
static double tf32_bound(const struct bound_facts *facts)
{
    return 0.5 * sixteen_bound(facts, DTYPE_BF16);
}

/* Launches do not wait, so one must cost less than waking a thread and hearing from it. On a GPU,
 * 10 us: what NVIDIA's tools and others call usual is 2 to 10 (HTA: "CPU launch is between 5-20
 * us"). */
static double launch_bound(const struct bound_facts *facts)
{
    return facts->device->is_gpu ? 10e3 : 0.5 * facts->host->round_trip_ns;
}

static double wait_bound(const struct bound_facts *facts)
{
    return facts->device->is_gpu ? 30e3 : 1.5 * facts->host->round_trip_ns;
}

static const char slow_products[] =
    "matrix products are slow: see gpu_clock and gpu_throttle; on the CPU device, cpu_clock, "
    "other_programs, and whether oneDNN may use all instructions (ONEDNN_MAX_CPU_ISA)";

/* The argument is the bench's N, of a small device, such as the CPU, and of a whole GPU, which
 * needs more work to be busy. */
static const struct capability {
    const char *name, *bench;
    int64_t argument[2];
    enum performance_unit unit;
    double (*bound)(const struct bound_facts *facts);
    const char *advice;
} capabilities[] = {
    { "copy_h2d",
      "bw_copy_h2d",
      { 64 << 20, 256 << 20 },
      UNIT_BYTES_PER_SECOND,
      copy_bound,
      "copies to the device are slow: see gpu_link, numa and other_programs" },
    { "copy_d2h",
      "bw_copy_d2h",
      { 64 << 20, 256 << 20 },
      UNIT_BYTES_PER_SECOND,
      copy_bound,
      "copies from the device are slow: see gpu_link, numa and other_programs" },
    { "copy_h2d_pageable",
      "bw_copy_h2d_pageable",
      { 64 << 20, 256 << 20 },
      UNIT_BYTES_PER_SECOND,
      pageable_bound,
      "staged copies are slow: see numa, huge_pages and other_programs" },
    { "copy_d2d",
      "bw_copy_d2d",
      { 64 << 20, 512 << 20 },
      UNIT_BYTES_PER_SECOND,
      within_bound,
      "copies within the device are slow: see gpu_clock and other_programs" },
    { "memory_bandwidth",
      "bw_memory_triad_fp32",
      { 1 << 25, 1 << 26 },
      UNIT_BYTES_PER_SECOND,
      memory_bound,
      "kernels get less of the memory than they should: see gpu_clock, gpu_throttle, numa and "
      "other_programs" },
    { "gemm_fp32", "gemm_fp32", { 1024, 4096 }, UNIT_FLOPS, fp32_bound, slow_products },
    { "gemm_tf32", "gemm_tf32", { 1024, 4096 }, UNIT_FLOPS, tf32_bound, slow_products },
    { "gemm_bf16", "gemm_bf16", { 1024, 8192 }, UNIT_FLOPS, bf16_bound, slow_products },
    { "gemm_fp16", "gemm_fp16", { 1024, 8192 }, UNIT_FLOPS, fp16_bound, slow_products },
    { "launch",
      "lat_launch_back_to_back",
      { 0, 0 },
      UNIT_NANOSECONDS,
      launch_bound,
      "launches are slow: see cpu_clock, cores and other_programs" },
    { "wait",
      "lat_launch_sync",
      { 0, 0 },
      UNIT_NANOSECONDS,
      wait_bound,
      "waiting for the device is slow: see cores, cpu_governor and other_programs" },
};

double performance_bound(const char *name, const struct device_properties *device,
                         const struct device_health *health, const struct host_limits *host)
{
    const struct bound_facts facts = { device, health, host };

    for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
        if (strcmp(capabilities[i].name, name) == 0)
            return capabilities[i].bound(&facts);
    return NAN;
}

static const struct bench *find_bench(const char *name)
{
    for (int i = 0; i < bench_count; i++)
        if (strcmp(benches[i]->name, name) == 0)
            return benches[i];
    return NULL;
}

const char *performance_unknown_bench(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
        if (find_bench(capabilities[i].bench) == NULL)
            return capabilities[i].bench;
    return NULL;
}

static const struct {
    const char *name; /* of a number, which has no prefix */
    const char *shown;
    double per; /* of the shown in one of `name` */
} units[] = {
    [UNIT_BYTES_PER_SECOND] = { "B/s", "B/s", 1 },
    [UNIT_FLOPS] = { "FLOP/s", "FLOP/s", 1 },
    [UNIT_HERTZ] = { "Hz", "Hz", 1 },
    [UNIT_NANOSECONDS] = { "ns", "us", 1e-3 },
};

static void print_value(char text[QUANTITY_SIZE], enum performance_unit unit, double value)
{
    quantity_print(text, value * units[unit].per, units[unit].shown);
}

static double share_of(bool is_time, double measured, double bound)
{
    return is_time ? bound / measured : measured / bound;
}

enum status performance_undisturbed(performance_measure *measure, void *context, bool is_time,
                                    double bound, double *value, struct cpu_loss *loss)
{
    double share = -INFINITY;

    for (int i = 0; i < TRIES && !(share >= 1); i++) {
        double again;
        struct cpu_loss meanwhile;
        TRY(measure(context, &again, &meanwhile));
        if (i > 0 && !(share_of(is_time, again, bound) > share))
            continue;
        *value = again;
        *loss = meanwhile;
        share = share_of(is_time, again, bound);
        if (!disturbance_matters(loss))
            break;
    }

    return STATUS_OK;
}

void performance_judge(struct checks *checks, const char *name, enum performance_unit unit,
                       double measured, double bound, const char *advice,
                       const struct cpu_loss *loss, double noise)
{
    bool is_time = unit == UNIT_NANOSECONDS, disturbed = disturbance_matters(loss);
    double share = share_of(is_time, measured, bound);
    char value[QUANTITY_SIZE], least[QUANTITY_SIZE], expected[QUANTITY_SIZE + 16],
        doubt[sizeof((struct check *)0)->advice];

    print_value(value, unit, measured);
    if (measured > 0) {
        checks_number(checks, measured, bound, units[unit].name);
        checks_noise(checks, noise);
    }
    if (!(measured > 0)) {
        checks_add(checks, name, CHECK_FAIL, "", "no time passed or nothing was done", "%s", value);
        return;
    }
    if (isnan(bound)) {
        checks_add(checks, name, CHECK_NONE, "", "the expected figure is not known here", "%s",
                   value);
        return;
    }
    print_value(least, unit, bound);
    snprintf(expected, sizeof expected, is_time ? "%s or less" : "%s or more", least);
    snprintf(doubt, sizeof doubt,
             "measured twice while other programs used %.1f of %d cores and the host kept %.1f: "
             "it may be low for "
             "that reason; end them and measure again",
             loss->others, loss->cores, loss->stolen);
    checks_add(checks, name,
               share >= 1                  ? CHECK_OK
               : share >= 0.5 || disturbed ? CHECK_LOW
                                           : CHECK_FAIL,
               expected, disturbed ? doubt : advice, "%s", value);
}

struct measured_capability {
    const struct capability *capability;
    const struct bench *bench;
    struct device *device;
    bool is_large;
    double noise; /* of the last try: by how much the second fastest repetition is slower than the
                     fastest */
};

static double noise_of(const struct bench_result *result)
{
    double first = INFINITY, second = INFINITY;

    for (int i = 0; i < result->count; i++) {
        double ns = result->real_ns[i];
        second = fmin(second, fmax(ns, first));
        first = fmin(first, ns);
    }
    return isfinite(second) ? second / first - 1 : NAN;
}

static enum status measure_capability(void *context, double *value, struct cpu_loss *loss)
{
    struct cpu_times first, second;
    struct measured_capability *measured = context;
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;
    double ns;

    settings.min_seconds = 0.03;
    settings.max_seconds = 0.4;
    cpu_times_read(&first, "");
    TRY(bench_measure(&result, measured->bench, measured->capability->argument[measured->is_large],
                      measured->device, &settings));
    cpu_times_read(&second, "");
    *loss = cpu_loss_between(&first, &second);
    ns = bench_fastest_ns(&result);
    measured->noise = noise_of(&result);
    *value = measured->capability->unit == UNIT_NANOSECONDS ? ns
             : measured->capability->unit == UNIT_FLOPS     ? (double)result.flops / ns * 1e9
                                                            : (double)result.bytes / ns * 1e9;

    return STATUS_OK;
}

static void check_capability(struct checks *checks, const struct capability *capability,
                             struct device *device, double bound)
{
    const struct device_properties *properties = device_properties(device);
    const struct bench *bench = find_bench(capability->bench);
    const char *lack = bench == NULL         ? "there is no such bench"
                       : bench->lack != NULL ? bench->lack(bench, properties)
                                             : NULL;
    struct measured_capability measured = { capability, bench, device, properties->is_large, NAN };
    double value;
    struct cpu_loss loss;

    if (lack != NULL) {
        checks_add(checks, capability->name, CHECK_NONE, "", lack, "-");
        return;
    }
    if (performance_undisturbed(measure_capability, &measured, capability->unit == UNIT_NANOSECONDS,
                                bound, &value, &loss) != STATUS_OK) {
        checks_add(checks, capability->name, CHECK_FAIL, "", status_last()->text, "failed");
        return;
    }
    performance_judge(checks, capability->name, capability->unit, value, bound, capability->advice,
                      &loss, measured.noise);
}

void performance_check(struct checks *checks, struct device *device,
                       const struct device_health *health, const struct host_limits *limits,
                       int mhz)
{
    checks->group = "performance";
    performance_judge(
        checks, "cpu_clock", UNIT_HERTZ, limits->clock_hz, mhz > 0 ? 0.9 * mhz * 1e6 : NAN,
        "a core runs below its rated clock: it is too hot, short of power, or shared; see "
        "cpu_governor and cpu_steal",
        &limits->loss, NAN);
    performance_judge(checks, "host_copy", UNIT_BYTES_PER_SECOND, limits->copy_bytes_per_second,
                      4e9, "memory is slow: see other_programs, numa and virtualisation",
                      &limits->loss, NAN);
    for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
        check_capability(
            checks, &capabilities[i], device,
            performance_bound(capabilities[i].name, device_properties(device), health, limits));
}
