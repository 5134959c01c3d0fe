/* Each reading is one call that may refuse. ASK() makes it: true if the library has the function
 * and it answered; the first real trouble is kept for the user. One list, FUNCTIONS, has the
 * prototypes and the symbols, with an older name for drivers that lack the newer one.
 *
 * The library is loaded here and not by plugin/library.c, which refuses a library that lacks a
 * function and looks for it in toolkits: NVML belongs to the driver, and all but one of its
 * functions may be missing. */
#include "harness/device/cuda/libraries/nvml.h"

#include "harness/base/status.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libnvidia-ml.so.1"

enum {
    NVML_SUCCESS = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_FUNCTION_NOT_FOUND = 13,
};
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };
enum { SENSOR_GPU = 0 };
enum { ECC_UNCORRECTED = 1, ECC_VOLATILE = 0 }; /* volatile: since the driver was loaded */
enum { COMPUTE_MODE_DEFAULT = 0 };
enum { POLICY_POWER = 0, POLICY_THERMAL = 1 };
enum { P2P_READ = 0, P2P_NVLINK = 2, P2P_OK = 0 }; /* nvmlGpuP2PCapsIndex_t, nvmlGpuP2PStatus_t */
enum { NVLINKS_MOST = 18 };                        /* NVML_NVLINK_MAX_LINKS */

/* nvmlClocksEventReasons: what each bit means here. Slowdowns by heat and by the power brake come
 * with the bit of hardware slowdowns, which says nothing more then. */
enum {
    REASON_IDLE = 0x1,
    REASON_APPLICATION_CLOCKS = 0x2,
    REASON_POWER_CAP = 0x4,
    REASON_HARDWARE = 0x8,
    REASON_SYNC_BOOST = 0x10,
    REASON_THERMAL = 0x20,
    REASON_HARDWARE_THERMAL = 0x40,
    REASON_POWER_BRAKE = 0x80,
    REASON_DISPLAY = 0x100,
};

typedef struct gpu *gpu_handle; /* nvmlDevice_t */

struct nvml_process { /* nvmlProcessInfo_v2_t; that of version 3 is the same */
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

struct violation { /* nvmlViolationTime_t */
    unsigned long long reference_us, limited_ns;
};

/* The functions in use: member, symbol, its older name or NULL, parameters. All return
 * nvmlReturn_t. */
#define FUNCTIONS(X)                                                                               \
    X(init, "nvmlInit_v2", NULL, (void))                                                           \
    X(shutdown, "nvmlShutdown", NULL, (void))                                                      \
    X(driver_version, "nvmlSystemGetDriverVersion", NULL, (char *, unsigned))                      \
    X(find, "nvmlDeviceGetHandleByPciBusId_v2", NULL, (const char *, gpu_handle *))                \
    X(clock, "nvmlDeviceGetClockInfo", NULL, (gpu_handle, int, unsigned *))                        \
    X(max_clock, "nvmlDeviceGetMaxClockInfo", NULL, (gpu_handle, int, unsigned *))                 \
    X(reasons, "nvmlDeviceGetCurrentClocksEventReasons",                                           \
      "nvmlDeviceGetCurrentClocksThrottleReasons", (gpu_handle, unsigned long long *))             \
    X(violation, "nvmlDeviceGetViolationStatus", NULL, (gpu_handle, int, struct violation *))      \
    X(temperature, "nvmlDeviceGetTemperature", NULL, (gpu_handle, int, unsigned *))                \
    X(power, "nvmlDeviceGetPowerUsage", NULL, (gpu_handle, unsigned *))                            \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", NULL, (gpu_handle, unsigned long long *))     \
    X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL, (gpu_handle, unsigned *))              \
    X(ecc_mode, "nvmlDeviceGetEccMode", NULL, (gpu_handle, int *, int *))                          \
    X(ecc_errors, "nvmlDeviceGetTotalEccErrors", NULL,                                             \
      (gpu_handle, int, int, unsigned long long *))                                                \
    X(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", NULL, (gpu_handle, unsigned *))      \
    X(pcie_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration", NULL, (gpu_handle, unsigned *))   \
    X(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", NULL, (gpu_handle, unsigned *))                \
    X(pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth", NULL, (gpu_handle, unsigned *))             \
    X(mig_mode, "nvmlDeviceGetMigMode", NULL, (gpu_handle, unsigned *, unsigned *))                \
    X(persistence, "nvmlDeviceGetPersistenceMode", NULL, (gpu_handle, int *))                      \
    X(compute_mode, "nvmlDeviceGetComputeMode", NULL, (gpu_handle, int *))                         \
    X(p2p_status, "nvmlDeviceGetP2PStatus", NULL, (gpu_handle, gpu_handle, int, int *))            \
    X(common_ancestor, "nvmlDeviceGetTopologyCommonAncestor", NULL,                                \
      (gpu_handle, gpu_handle, int *))                                                             \
    X(nvlink_state, "nvmlDeviceGetNvLinkState", NULL, (gpu_handle, unsigned, int *))               \
    X(compute_processes, "nvmlDeviceGetComputeRunningProcesses_v3",                                \
      "nvmlDeviceGetComputeRunningProcesses_v2", (gpu_handle, unsigned *, struct nvml_process *))  \
    X(graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses_v3",                              \
      "nvmlDeviceGetGraphicsRunningProcesses_v2", (gpu_handle, unsigned *, struct nvml_process *))

struct functions {
#define MEMBER(member, symbol, older, parameters) int(*member) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
    const char *(*error_string)(int);
};

struct nvml {
    const struct functions *call; /* NULL: there is no library */
    gpu_handle gpu;               /* NULL: there is no such GPU */
    char driver[80];
    char trouble[192];
};

static void *symbol_of(void *library, const char *symbol, const char *older)
{
    void *address = dlsym(library, symbol);

    return address == NULL && older != NULL ? dlsym(library, older) : address;
}

/* The library, loaded once and for good. NULL, with the reason in `why`, if it cannot be used.
 * Under a lock, since several devices may be opened at once. */
static const struct functions *load(char *why, size_t size)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct functions functions;
    static void *library;

    pthread_mutex_lock(&lock);
    if (library == NULL) {
        library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            snprintf(why, size, "%s", dlerror());
        } else {
#define RESOLVE(member, symbol, older, parameters)                                                 \
    *(void **)&functions.member = symbol_of(library, symbol, older);
            FUNCTIONS(RESOLVE)
#undef RESOLVE
            *(void **)&functions.error_string = dlsym(library, "nvmlErrorString");
        }
    }
    pthread_mutex_unlock(&lock);
    if (library != NULL && functions.init == NULL)
        snprintf(why, size, LIBRARY " has no nvmlInit_v2");
    return library != NULL && functions.init != NULL ? &functions : NULL;
}

/* Keeps the first real trouble. A GPU that lacks a feature is not trouble. */
static bool answered(struct nvml *nvml, const char *asked, int result)
{
    const char *text = NULL;

    if (result == NVML_SUCCESS)
        return true;
    if (nvml->trouble[0] != '\0' || result == NVML_NOT_SUPPORTED || result == NVML_NO_PERMISSION ||
        result == NVML_FUNCTION_NOT_FOUND || result == NVML_INSUFFICIENT_SIZE)
        return false;
    if (nvml->call->error_string != NULL)
        text = nvml->call->error_string(result);
    snprintf(nvml->trouble, sizeof nvml->trouble, "NVML, asked for %s: %s (%d)", asked,
             text != NULL ? text : "error", result);
    return false;
}

/* Whether the library has the function and answered it. */
#define ASK(nvml, function, arguments)                                                             \
    ((nvml)->call->function != NULL && answered(nvml, #function, (nvml)->call->function arguments))

bool nvml_driver_release(char *text, size_t size)
{
    struct nvml nvml = { 0 };
    bool found;

    text[0] = '\0';
    nvml.call = load(nvml.trouble, sizeof nvml.trouble);
    if (nvml.call == NULL || !ASK(&nvml, init, ()))
        return false;
    found = ASK(&nvml, driver_version, (text, (unsigned)size));
    if (nvml.call->shutdown != NULL)
        nvml.call->shutdown();
    return found;
}

struct nvml *nvml_open(const char *pci_address)
{
    struct nvml *nvml = calloc(1, sizeof *nvml);

    if (nvml == NULL)
        return NULL;
    nvml->call = load(nvml->trouble, sizeof nvml->trouble);
    if (nvml->call == NULL)
        return nvml;
    if (!ASK(nvml, init, ())) {
        nvml->call = NULL;
        return nvml;
    }
    if (!ASK(nvml, driver_version, (nvml->driver, sizeof nvml->driver)))
        nvml->driver[0] = '\0';
    if (!ASK(nvml, find, (pci_address, &nvml->gpu)))
        nvml->gpu = NULL;
    if (nvml->gpu == NULL && nvml->trouble[0] == '\0')
        snprintf(nvml->trouble, sizeof nvml->trouble, "NVML does not find the GPU at %s",
                 pci_address);
    return nvml;
}

void nvml_close(struct nvml *nvml)
{
    if (nvml != NULL && nvml->call != NULL && nvml->call->shutdown != NULL)
        nvml->call->shutdown();
    free(nvml);
}

static int limits_of(unsigned long long reasons)
{
    int limits = 0;

    if (reasons & REASON_IDLE)
        limits |= LIMIT_IDLE;
    if (reasons & (REASON_APPLICATION_CLOCKS | REASON_SYNC_BOOST | REASON_DISPLAY))
        limits |= LIMIT_SETTING;
    if (reasons & (REASON_POWER_CAP | REASON_POWER_BRAKE))
        limits |= LIMIT_POWER;
    if (reasons & (REASON_THERMAL | REASON_HARDWARE_THERMAL))
        limits |= LIMIT_THERMAL;
    if ((reasons & REASON_HARDWARE) && !(reasons & (REASON_HARDWARE_THERMAL | REASON_POWER_BRAKE)))
        limits |= LIMIT_HARDWARE;
    return limits;
}

/* A reading that the driver does not answer stays as it was: unknown. */
void nvml_vitals(struct nvml *nvml, struct device_vitals *vitals)
{
    struct violation violation;
    unsigned long long reasons, millijoules;
    unsigned value;

    if (nvml->gpu == NULL)
        return;
    if (ASK(nvml, clock, (nvml->gpu, CLOCK_SM, &value)))
        vitals->clock_mhz = value;
    if (ASK(nvml, clock, (nvml->gpu, CLOCK_MEMORY, &value)))
        vitals->memory_clock_mhz = value;
    if (ASK(nvml, temperature, (nvml->gpu, SENSOR_GPU, &value)))
        vitals->temperature_c = value;
    if (ASK(nvml, power, (nvml->gpu, &value)))
        vitals->power_w = value / 1e3;
    if (ASK(nvml, energy, (nvml->gpu, &millijoules)))
        vitals->energy_j = (double)millijoules / 1e3;
    if (ASK(nvml, violation, (nvml->gpu, POLICY_POWER, &violation)))
        vitals->power_limited_ns = (double)violation.limited_ns;
    if (ASK(nvml, violation, (nvml->gpu, POLICY_THERMAL, &violation)))
        vitals->thermal_limited_ns = (double)violation.limited_ns;
    if (ASK(nvml, reasons, (nvml->gpu, &reasons)))
        vitals->limits = limits_of(reasons);
}

static void read_clocks_and_power(struct nvml *nvml, struct device_health *health)
{
    unsigned value;

    if (ASK(nvml, max_clock, (nvml->gpu, CLOCK_SM, &value)))
        health->clock_max_mhz = value;
    if (ASK(nvml, max_clock, (nvml->gpu, CLOCK_MEMORY, &value)))
        health->memory_clock_max_mhz = value;
    if (ASK(nvml, power_limit, (nvml->gpu, &value)))
        health->power_limit_w = value / 1e3;
}

/* A mode that is to change at the next start (`pending`) does not count. */
static void read_state(struct nvml *nvml, struct device_health *health)
{
    unsigned long long errors;
    unsigned mode, pending;
    int ecc, ecc_pending, persistence, compute_mode;

    if (ASK(nvml, ecc_mode, (nvml->gpu, &ecc, &ecc_pending)))
        health->ecc = ecc != 0;
    if (ASK(nvml, ecc_errors, (nvml->gpu, ECC_UNCORRECTED, ECC_VOLATILE, &errors)))
        health->ecc_uncorrected = (int64_t)errors;
    if (ASK(nvml, mig_mode, (nvml->gpu, &mode, &pending)))
        health->mig = mode != 0;
    if (ASK(nvml, persistence, (nvml->gpu, &persistence)))
        health->persistence = persistence != 0;
    if (ASK(nvml, compute_mode, (nvml->gpu, &compute_mode)))
        health->exclusive = compute_mode != COMPUTE_MODE_DEFAULT;
}

static void read_link(struct nvml *nvml, struct device_health *health)
{
    unsigned value;

    if (ASK(nvml, pcie_generation, (nvml->gpu, &value)))
        health->pcie_generation = (int)value;
    if (ASK(nvml, pcie_generation_max, (nvml->gpu, &value)))
        health->pcie_generation_max = (int)value;
    if (ASK(nvml, pcie_width, (nvml->gpu, &value)))
        health->pcie_width = (int)value;
    if (ASK(nvml, pcie_width_max, (nvml->gpu, &value)))
        health->pcie_width_max = (int)value;
}

enum { PROCESSES_MOST = 256 };

/* Processes that compute and processes that draw; some do both. */
struct process_list {
    struct nvml_process all[2 * PROCESSES_MOST];
    unsigned count;
};

static bool is_listed(const struct process_list *list, unsigned pid)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->all[i].pid == pid)
            return true;
    return false;
}

/* A process that both computes and draws is in both lists, and counts once. */
static void add_processes(struct process_list *list, const struct nvml_process *found,
                          unsigned count)
{
    for (unsigned i = 0; i < count && i < PROCESSES_MOST; i++)
        if (!is_listed(list, found[i].pid))
            list->all[list->count++] = found[i];
}

/* This process has the GPU open, so it is one of those listed; an empty list hides something. In a
 * container the numbers may be those of another namespace: then this process is not in the list,
 * and the memory of the others is unknown. */
static void read_processes(struct nvml *nvml, struct device_health *health)
{
    struct nvml_process found[PROCESSES_MOST];
    struct process_list list = { .count = 0 };
    unsigned count = PROCESSES_MOST;
    int64_t bytes = 0;

    if (!ASK(nvml, compute_processes, (nvml->gpu, &count, found)) || count == 0)
        return;
    add_processes(&list, found, count);
    count = PROCESSES_MOST;
    if (ASK(nvml, graphics_processes, (nvml->gpu, &count, found)))
        add_processes(&list, found, count);
    health->other_processes = (int)list.count - 1;
    if (!is_listed(&list, (unsigned)getpid()))
        return;
    for (unsigned i = 0; i < list.count; i++) {
        if (list.all[i].pid == (unsigned)getpid())
            continue;
        if (list.all[i].bytes > INT64_MAX / PROCESSES_MOST / 2) /* NVML_VALUE_NOT_AVAILABLE */
            return;
        bytes += (int64_t)list.all[i].bytes;
    }
    health->other_bytes = bytes;
}

void nvml_health(struct nvml *nvml, struct device_health *health)
{
    if (nvml->driver[0] != '\0')
        snprintf(health->source, sizeof health->source, "NVML, driver %s", nvml->driver);
    else if (nvml->call != NULL)
        snprintf(health->source, sizeof health->source, "NVML");
    nvml_vitals(nvml, &health->now);
    if (nvml->gpu != NULL) {
        read_clocks_and_power(nvml, health);
        read_state(nvml, health);
        read_link(nvml, health);
        read_processes(nvml, health);
    }
    snprintf(health->trouble, sizeof health->trouble, "%s", nvml->trouble);
}

/* --- Links between GPUs --- */

/* nvmlGpuTopologyLevel_t: the first thing that the ways to both have in common. */
static const char *path_between(int level)
{
    static const struct {
        int level;
        const char *path;
    } paths[] = {
        { 0, "PCIe, one board" },         { 10, "PCIe, one switch" },
        { 20, "PCIe, several switches" }, { 30, "PCIe, one host bridge" },
        { 40, "PCIe, one NUMA node" },    { 50, "PCIe, between NUMA nodes" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        if (paths[i].level == level)
            return paths[i].path;
    return "";
}

/* nvmlGpuP2PStatus_t. */
static const char *refusal(int status)
{
    static const char *const reasons[] = { "",
                                           "the chipset does not support it",
                                           "the GPU does not support it",
                                           "the way between them does not support it",
                                           "a registry key of the driver disables it",
                                           "it is not supported" };

    return status >= 0 && (size_t)status < ARRAY_SIZE(reasons) ? reasons[status] : "";
}

/* 0: none, or NVML does not say. */
static int nvlinks_up(struct nvml *nvml)
{
    int up = 0, active;

    for (unsigned i = 0; i < NVLINKS_MOST; i++)
        if (ASK(nvml, nvlink_state, (nvml->gpu, i, &active)))
            up += active != 0;
    return up;
}

void nvml_link(struct nvml *nvml, const char *peer_address, struct device_link *link)
{
    gpu_handle peer = NULL;
    int status, level, up;

    if (nvml->gpu != NULL && ASK(nvml, find, (peer_address, &peer)) && peer != NULL) {
        if (ASK(nvml, p2p_status, (nvml->gpu, peer, P2P_READ, &status)) && status != P2P_OK)
            snprintf(link->refused, sizeof link->refused, "%s", refusal(status));
        if (!ASK(nvml, p2p_status, (nvml->gpu, peer, P2P_NVLINK, &status)))
            link->kind[0] = '\0';
        else if (status != P2P_OK && ASK(nvml, common_ancestor, (nvml->gpu, peer, &level)))
            snprintf(link->kind, sizeof link->kind, "%s", path_between(level));
        else if (status == P2P_OK && (up = nvlinks_up(nvml)) > 0)
            snprintf(link->kind, sizeof link->kind, "NVLink, %d links up", up);
        else if (status == P2P_OK)
            snprintf(link->kind, sizeof link->kind, "NVLink");
    }
    snprintf(link->trouble, sizeof link->trouble, "%s", nvml->trouble);
}
