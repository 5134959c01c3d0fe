/* Each check is a fact of the driver, the libraries or the GPU's health with the bound that it
 * should keep; what the driver does not tell is n/a. */
#include "harness/lab/doctor/gpu.h"

#include "harness/base/facts/system_file.h"
#include "harness/base/figures/quantity.h"
#include "harness/lab/doctor/host/host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The needs of this build; without a CUDA device, those of the oldest CUDA that it can be built
 * with needs. */
#define TEXT(number)  PASTE(number)
#define PASTE(number) #number
#define DRIVER        TEXT(CHOKEPOINT_CUDA_DRIVER) " or newer"

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul ...", or "... NVIDIA UNIX
 * Open Kernel Module for x86_64  580.65.06 ...": the first word that begins with a digit and has a
 * point. */
static bool find_version(const char *line, char version[32])
{
    char copy[256], *rest = copy, *word;

    snprintf(copy, sizeof copy, "%s", line);
    while ((word = strsep(&rest, " \t")) != NULL)
        if (word[0] >= '1' && word[0] <= '9' && strchr(word, '.') != NULL) {
            snprintf(version, 32, "%s", word);
            return true;
        }
    return false;
}

/* The reason why a driver that is there is not in /proc; NULL: none is there. */
static const char *hidden_driver(const char *root)
{
    static const struct {
        const char *device, *why;
    } rows[] = {
        /* Containers with a kernel of their own, such as gVisor, show the driver's devices alone.
         */
        { "/dev/nvidiactl", "/dev/nvidiactl is here, but not /proc/driver/nvidia" },
        /* The driver is that of Windows ("CUDA on WSL User Guide", NVIDIA). */
        { "/dev/dxg", "WSL2 has the driver of Windows: nvidia-smi prints its version, and NVIDIA's "
                      "control panel there (Developer) says who may read counters" },
    };
    char path[256];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        snprintf(path, sizeof path, "%s%s", root, rows[i].device);
        if (access(path, F_OK) == 0)
            return rows[i].why;
    }
    return NULL;
}

static void check_version(struct checks *checks, const char *root, bool wanted)
{
    char line[256], version[32] = "unknown";
    const char *hidden = hidden_driver(root);

    if (system_file_line(root, "/proc/driver/nvidia/version", line, sizeof line)) {
        find_version(line, version);
        checks_add(checks, "gpu_driver",
                   atoi(version) >= CHOKEPOINT_CUDA_DRIVER ? CHECK_OK : CHECK_FAIL, DRIVER,
                   CHOKEPOINT_CUDA_MAJOR == 12
                       ? "CUDA 12 needs it: install a newer driver"
                       : "CUDA 13 needs it: install a newer driver, or a build for CUDA 12",
                   "%s", version);
    } else if (hidden != NULL) {
        checks_unknown(checks, "gpu_driver", DRIVER, hidden);
    } else {
        checks_add(checks, "gpu_driver", wanted ? CHECK_FAIL : CHECK_NONE, DRIVER,
                   wanted ? "NVIDIA's kernel driver is not loaded: install " DRIVER
                            ", then modprobe "
                            "nvidia; in a container, start it with --gpus all"
                          : "there is no NVIDIA driver: everything runs on the CPU device",
                   "none");
    }
}

/* NVIDIA, "ERR_NVGPUCTRPERM: Permission issue with Performance Counters". */
static void check_counters(struct checks *checks, const char *root)
{
    const char *hidden = hidden_driver(root);
    char value[32];
    bool restricted;

    if (!system_file_key(root, "/proc/driver/nvidia/params", "RmProfilingAdminOnly", value,
                         sizeof value)) {
        checks_unknown(checks, "gpu_counters", "readable",
                       hidden != NULL ? hidden : "there is no NVIDIA driver");
        return;
    }
    restricted = atoi(value) != 0;
    checks_add(
        checks, "gpu_counters", restricted && geteuid() != 0 ? CHECK_LOW : CHECK_OK, "readable",
        "ncu needs root here (traces do not): put options nvidia "
        "NVreg_RestrictProfilingToAdminUsers=0 into /etc/modprobe.d and load the driver again",
        "%s",
        !restricted      ? "for all"
        : geteuid() != 0 ? "for root only"
                         : "as root");
}

void gpu_check_driver(struct checks *checks, const char *root, bool wanted)
{
    checks->group = "gpu";
    check_version(checks, root, wanted);
    check_counters(checks, root);
}

double gpu_link_bytes_per_second(int generation, int width)
{
    static const double lane[] = { NAN,
                                   2.5e9 / 8 * 8 / 10,
                                   5e9 / 8 * 8 / 10,
                                   8e9 / 8 * 128 / 130,
                                   16e9 / 8 * 128 / 130,
                                   32e9 / 8 * 128 / 130,
                                   64e9 / 8 * 236 / 256 };

    if (generation < 1 || (size_t)generation >= sizeof lane / sizeof *lane || width < 1)
        return NAN;
    return lane[generation] * width;
}

double gpu_memory_bytes_per_second(const struct device_properties *properties,
                                   const struct device_health *health)
{
    if (properties->memory_bus_bits <= 0)
        return NAN;
    return health->memory_clock_max_mhz * 1e6 * 2 * properties->memory_bus_bits / 8;
}

double gpu_fp32_flops(const struct device_properties *properties,
                      const struct device_health *health)
{
    int units = properties->compute_capability <= 80 ? 64 : 128;

    return health->clock_max_mhz * 1e6 * 2 * units * properties->multiprocessors;
}

double gpu_matrix_flops(const struct device_properties *properties,
                        const struct device_health *health)
{
    static const struct {
        int capability, flops; /* per multiprocessor and clock */
    } units[] = { { 75, 512 },   { 80, 2048 }, { 86, 512 },   { 87, 2048 },
                  { 89, 512 },   { 90, 4096 }, { 100, 8192 }, { 103, 8192 },
                  { 110, 8192 }, { 120, 512 }, { 121, 512 } };

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (units[i].capability == properties->compute_capability)
            return health->clock_max_mhz * 1e6 * units[i].flops * properties->multiprocessors;
    return NAN;
}

/* A driver serves every toolkit of its own major version and all before ("CUDA Compatibility",
 * sections on minor version and on backward compatibility). */
static void check_toolkit(struct checks *checks, const struct device_properties *properties)
{
    static const char expected[] = "no newer than the driver's CUDA";
    int runtime = properties->cuda_runtime, driver = properties->cuda_driver;

    if (runtime == 0 || driver == 0)
        checks_unknown(checks, "gpu_toolkit", expected, "the runtime does not say");
    else
        checks_add(
            checks, "gpu_toolkit",
            runtime <= driver                 ? CHECK_OK
            : runtime / 1000 == driver / 1000 ? CHECK_LOW
                                              : CHECK_FAIL,
            expected,
            "the driver is older than the CUDA runtime in use: what is newer in CUDA than the "
            "driver fails, and so do kernels that have to be compiled for this GPU; install a "
            "newer driver",
            "CUDA %d.%d, driver for %d.%d", runtime / 1000, runtime % 1000 / 10, driver / 1000,
            driver % 1000 / 10);
}

static void check_attention(struct checks *checks, const struct device_properties *properties)
{
    int built_for = properties->attention_cuda / 1000, runtime = properties->cuda_runtime / 1000;

    if (!properties->fused_attention)
        checks_add(checks, "gpu_cudnn", CHECK_LOW, "9.15.1 or newer, for the same CUDA",
                   properties->attention_library[0] != '\0'
                       ? properties->attention_library
                       : "attention=fused runs without the matrix units: install cuDNN 9",
                   "none");
    else
        checks_add(
            checks, "gpu_cudnn", built_for == runtime ? CHECK_OK : CHECK_LOW,
            "9.15.1 or newer, for the same CUDA",
            "this cuDNN is another CUDA's: install the package for the CUDA in use, whose name "
            "ends with its number (libcudnn9-cuda-13, nvidia-cudnn-cu12)",
            "%s for CUDA %d", properties->attention_library, built_for);
}

/* A program that has used a GPU keeps its context, and so keeps others out of an exclusive one
 * ("CUDA C++ Programming Guide", "Compute Modes"): here the processes that measure. */
static void check_compute_mode(struct checks *checks, const struct device_health *health,
                               const char *why)
{
    if (health->exclusive < 0)
        checks_unknown(checks, "gpu_compute_mode", "default", why);
    else
        checks_add(checks, "gpu_compute_mode", health->exclusive == 1 ? CHECK_FAIL : CHECK_OK,
                   "default",
                   "run starts a process per scenario, and the GPU takes one process at a time: "
                   "nvidia-smi -c 0",
                   "%s", health->exclusive == 1 ? "exclusive" : "default");
}

/* A GPU lowers its link when idle, so this is asked for after work. */
static void check_link(struct checks *checks, const struct device_health *health, const char *why)
{
    static const char expected[] = "as the GPU and the slot allow";
    bool slow = health->pcie_generation < health->pcie_generation_max ||
                health->pcie_width < health->pcie_width_max;

    if (health->pcie_generation < 1 || health->pcie_generation_max < 1 || health->pcie_width < 1 ||
        health->pcie_width_max < 1)
        checks_unknown(checks, "gpu_link", expected, why);
    else
        checks_add(
            checks, "gpu_link", slow ? CHECK_LOW : CHECK_OK, expected,
            "copies to and from the host are slower than they could be: reseat the card, choose "
            "another slot, or raise the link's speed in the firmware",
            "generation %d x%d of %d x%d", health->pcie_generation, health->pcie_width,
            health->pcie_generation_max, health->pcie_width_max);
}

static void check_clocks(struct checks *checks, const struct device_health *health, const char *why)
{
    enum { HURTS = LIMIT_POWER | LIMIT_THERMAL | LIMIT_HARDWARE };
    char limits[96];

    if (isnan(health->now.clock_mhz) || isnan(health->clock_max_mhz)) {
        checks_unknown(checks, "gpu_clock", "80% of the highest or more", why);
    } else {
        checks_number(checks, health->now.clock_mhz * 1e6, 0.8e6 * health->clock_max_mhz, "Hz");
        checks_add(
            checks, "gpu_clock",
            health->now.clock_mhz >= 0.8 * health->clock_max_mhz ? CHECK_OK : CHECK_LOW,
            "80% of the highest or more",
            "just after work the clock should be high: see gpu_throttle, nvidia-smi -q -d CLOCK, "
            "and reset application clocks with nvidia-smi -rac -rgc",
            "%.0f of %.0f MHz", health->now.clock_mhz, health->clock_max_mhz);
    }
    health_limits_print(limits, sizeof limits, health->now.limits);
    if (health->now.limits < 0)
        checks_unknown(checks, "gpu_throttle", "none", why);
    else
        checks_add(
            checks, "gpu_throttle",
            health->now.limits & (LIMIT_THERMAL | LIMIT_HARDWARE) ? CHECK_FAIL
            : health->now.limits & HURTS                          ? CHECK_LOW
                                                                  : CHECK_OK,
            "none",
            "the GPU holds its clock down: look after cooling and power supply, or raise the "
            "limit (nvidia-smi -pl)",
            "%s", limits);
    if (isnan(health->now.temperature_c)) {
        checks_unknown(checks, "gpu_temperature", "below 85 C", why);
    } else {
        checks_number(checks, health->now.temperature_c, 85, "C");
        checks_add(checks, "gpu_temperature", health->now.temperature_c < 85 ? CHECK_OK : CHECK_LOW,
                   "below 85 C", "near this the clock is held down: look after cooling", "%.0f C",
                   health->now.temperature_c);
    }
    if (isnan(health->now.power_w) || isnan(health->power_limit_w)) {
        checks_unknown(checks, "gpu_power", "", why);
    } else {
        checks_number(checks, health->now.power_w, NAN, "W");
        checks_add(checks, "gpu_power", CHECK_OK, "", "", "%.0f of %.0f W", health->now.power_w,
                   health->power_limit_w);
    }
}

static void check_errors(struct checks *checks, const struct device_health *health, const char *why)
{
    if (health->ecc_uncorrected < 0 && health->ecc != 0)
        checks_unknown(checks, "gpu_ecc", "no uncorrected error", why);
    else
        checks_add(
            checks, "gpu_ecc", health->ecc_uncorrected > 0 ? CHECK_FAIL : CHECK_OK,
            "no uncorrected error",
            "the memory gave wrong bits: drain this GPU, reset it (nvidia-smi -r), and have it "
            "replaced if it happens again",
            "%s, %lld uncorrected",
            health->ecc == 1   ? "on"
            : health->ecc == 0 ? "off"
                               : "mode unknown",
            (long long)(health->ecc_uncorrected > 0 ? health->ecc_uncorrected : 0));
}

static void check_others(struct checks *checks, const struct device_health *health, const char *mps,
                         const char *why)
{
    char bytes[QUANTITY_SIZE];

    if (health->mig < 0)
        checks_unknown(checks, "gpu_mig", "whole", why);
    else
        checks_add(
            checks, "gpu_mig", health->mig == 1 ? CHECK_LOW : CHECK_OK, "whole",
            "a part of a GPU shares its link and power with the other parts: compare it only with "
            "the same part",
            "%s", health->mig == 1 ? "divided" : "whole");
    /* The Multi-Process Service runs kernels of several processes at the same time; its clients
     * find it by the variable that `mps` is the value of. */
    checks_add(checks, "gpu_mps", mps != NULL && mps[0] != '\0' ? CHECK_LOW : CHECK_OK, "off",
               "kernels of other programs may run between these: stop it (echo quit | "
               "nvidia-cuda-mps-control)",
               "%s", mps != NULL && mps[0] != '\0' ? "on" : "off");
    if (health->other_processes < 0) {
        checks_unknown(checks, "gpu_others", "none", why);
        return;
    }
    quantity_print(bytes, (double)health->other_bytes, "B");
    checks_add(checks, "gpu_others", health->other_processes > 0 ? CHECK_LOW : CHECK_OK, "none",
               "other programs use this GPU: nvidia-smi names them", "%d, with %s",
               health->other_processes, health->other_bytes >= 0 ? bytes : "unknown memory");
}

/* Copies from memory of another node cross the link between processors as well. */
static void check_near(struct checks *checks, const struct device_health *health,
                       const char *affinity)
{
    cpu_set_t local, allowed, near;

    if (!cpu_list_parse(health->local_cores, &local) || !cpu_list_parse(affinity, &allowed)) {
        checks_unknown(checks, "gpu_near", "cores of the GPU's node",
                       "Linux does not say which cores are near the GPU");
        return;
    }
    CPU_AND(&near, &local, &allowed);
    checks_add(checks, "gpu_near", CPU_EQUAL(&near, &allowed) ? CHECK_OK : CHECK_LOW,
               "cores of the GPU's node",
               "copies may start from memory far from the GPU: numactl --cpunodebind=N --membind=N",
               "%d of %d cores, node %d", CPU_COUNT(&near), CPU_COUNT(&allowed), health->numa_node);
}

void gpu_check_health(struct checks *checks, const struct device_properties *properties,
                      const struct device_health *health, const char *affinity, const char *mps)
{
    static const char *const names[] = { "gpu_link",        "gpu_clock",       "gpu_throttle",
                                         "gpu_temperature", "gpu_power",       "gpu_ecc",
                                         "gpu_mig",         "gpu_mps",         "gpu_others",
                                         "gpu_near",        "gpu_libraries",   "gpu_toolkit",
                                         "gpu_cudnn",       "gpu_persistence", "gpu_compute_mode" };
    const char *why;

    checks->group = "gpu, just after work";
    if (health == NULL) {
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
            checks_add(checks, names[i], CHECK_NONE, "", "the CPU device is not a GPU", "-");
        return;
    }
    /* One reason for all rows that are unknown. */
    why = health->trouble[0] != '\0' ? health->trouble : "the driver does not say";
    check_near(checks, health, affinity);
    checks_add(checks, "gpu_libraries", CHECK_OK, "", "", "%s, kernels for %s",
               properties->gemm_library, properties->isa);
    check_toolkit(checks, properties);
    check_attention(checks, properties);
    /* If nobody has the GPU open, the driver forgets its state: the next program waits for it to
     * start, and its clocks have to rise again ("Driver Persistence", NVIDIA). */
    if (health->persistence < 0)
        checks_unknown(checks, "gpu_persistence", "on", why);
    else
        checks_add(checks, "gpu_persistence", health->persistence == 1 ? CHECK_OK : CHECK_LOW, "on",
                   "the GPU starts again for each program, whose first call takes seconds: "
                   "nvidia-smi -pm 1, or start nvidia-persistenced",
                   "%s", health->persistence == 1 ? "on" : "off");
    check_compute_mode(checks, health, why);
    check_link(checks, health, why);
    check_clocks(checks, health, why);
    check_errors(checks, health, why);
    check_others(checks, health, mps, why);
}
