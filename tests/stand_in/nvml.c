/* A libnvidia-ml.so.1 for machines without a driver: one GPU that is well, unless the environment
 * says otherwise. It answers the prototypes of NVIDIA's reference guide, written down here once
 * more so that a mistake in the device's own would show.
 *
 *     FAKE_NVML_FAILS=nvmlDeviceGetTemperature:15   that function, or every one ("all"), returns 15
 *     FAKE_NVML_REASONS=0x48                        clocks event reasons; 0 if not given
 *     FAKE_NVML_POWER_NS, FAKE_NVML_THERMAL_NS      violation times; 0 if not given
 *     FAKE_NVML_PROCESSES=own,7,8                   that compute; "own" is this process
 *     FAKE_NVML_COMPUTE_MODE=3                      exclusive; 0 if not given
 *     FAKE_NVML_DRIVER=550.54.15                    the driver's release
 *     FAKE_NVML_NVLINKS=18                          links of each GPU that are up; 0 is PCIe
 *     FAKE_NVML_P2P=4                               why no GPU reads another's memory; 0: it does
 *
 * With LACKING it has nvmlInit_v2 and the way to the GPU, and nothing else; with EMPTY not even
 * those. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FAKE __attribute__((visibility("default")))

typedef struct fake_device {
    unsigned bus;
} * nvmlDevice_t;
typedef int nvmlReturn_t;

#ifndef EMPTY
static struct fake_device devices[256];

static nvmlReturn_t result_of(const char *function)
{
    const char *fails = getenv("FAKE_NVML_FAILS"), *colon;
    size_t length;

    if (fails == NULL || (colon = strchr(fails, ':')) == NULL)
        return 0;
    length = (size_t)(colon - fails);
    if ((length == strlen(function) && strncmp(fails, function, length) == 0) ||
        (length == 3 && strncmp(fails, "all", 3) == 0))
        return atoi(colon + 1);
    return 0;
}

FAKE nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlInit_v2(void)
{
    return result_of(__func__);
}

FAKE nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvmlDevice_t *device)
{
    unsigned domain, bus, number, function;

    if (sscanf(address, "%8x:%2x:%2x.%1x", &domain, &bus, &number, &function) != 4)
        return 2;
    if (bus == 0xee) /* nothing is plugged in there */
        return 6;
    devices[bus & 0xff].bus = bus;
    *device = &devices[bus & 0xff];
    return result_of(__func__);
}
#endif

#if !defined LACKING && !defined EMPTY
static unsigned long long number(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 0) : 0;
}

FAKE nvmlReturn_t nvmlShutdown(void);
nvmlReturn_t nvmlShutdown(void)
{
    return result_of(__func__);
}

FAKE const char *nvmlErrorString(nvmlReturn_t result);
const char *nvmlErrorString(nvmlReturn_t result)
{
    return result == 15 ? "GPU is lost" : "Some error";
}

FAKE nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length);
nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    const char *release = getenv("FAKE_NVML_DRIVER");

    if (length < 80) /* NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE */
        return 7;
    snprintf(version, length, "%s", release != NULL ? release : "580.65.06");
    return result_of(__func__);
}

/* At 412.345 W since the clock began. */
static unsigned long long millijoules(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)(412345 * ((double)now.tv_sec + (double)now.tv_nsec * 1e-9));
}

/* A function that answers one number. */
#define ANSWERS(name, type, answer)                                                                \
    FAKE nvmlReturn_t name(nvmlDevice_t device, type *value);                                      \
    nvmlReturn_t name(nvmlDevice_t device, type *value)                                            \
    {                                                                                              \
        (void)device;                                                                              \
        *value = (answer);                                                                         \
        return result_of(__func__);                                                                \
    }

ANSWERS(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, number("FAKE_NVML_REASONS"))
ANSWERS(nvmlDeviceGetPowerUsage, unsigned, 412345)
ANSWERS(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, millijoules())
ANSWERS(nvmlDeviceGetEnforcedPowerLimit, unsigned, 700000)
ANSWERS(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, 4)
ANSWERS(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, 5)
ANSWERS(nvmlDeviceGetCurrPcieLinkWidth, unsigned, 8)
ANSWERS(nvmlDeviceGetMaxPcieLinkWidth, unsigned, 16)

FAKE nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned *mhz);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned *mhz)
{
    (void)device;
    *mhz = type == 1 ? 1755 : type == 2 ? 2619 : 1;
    return result_of(__func__);
}

FAKE nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned *mhz);
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int type, unsigned *mhz)
{
    (void)device;
    *mhz = type == 1 ? 1980 : type == 2 ? 3201 : 1;
    return result_of(__func__);
}

FAKE nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *celsius)
{
    (void)device;
    *celsius = sensor == 0 ? 61 : 0;
    return result_of(__func__);
}

struct violation_time {
    unsigned long long reference_us, violation_ns;
};

FAKE nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, int policy,
                                               struct violation_time *time);
nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, int policy,
                                          struct violation_time *time)
{
    (void)device;
    time->reference_us = 1;
    time->violation_ns = number(policy == 0 ? "FAKE_NVML_POWER_NS" : "FAKE_NVML_THERMAL_NS");
    return result_of(__func__);
}

FAKE nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, int *current, int *pending);
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, int *current, int *pending)
{
    (void)device;
    *current = 1;
    *pending = 0;
    return result_of(__func__);
}

FAKE nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int error, int counter,
                                              unsigned long long *count);
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int error, int counter,
                                         unsigned long long *count)
{
    (void)device;
    *count = error == 1 && counter == 0 ? 3 : 1000;
    return result_of(__func__);
}

FAKE nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending);
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
    (void)device;
    *current = 0;
    *pending = 1;
    return result_of(__func__);
}

FAKE nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, int *mode);
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, int *mode)
{
    (void)device;
    *mode = 1; /* nvmlEnableState_t: NVML_FEATURE_ENABLED */
    return result_of(__func__);
}

FAKE nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int *mode);
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, int *mode)
{
    (void)device;
    *mode = (int)number("FAKE_NVML_COMPUTE_MODE"); /* nvmlComputeMode_t */
    return result_of(__func__);
}

/* Read, write, NVLink, atomics, PCI. */
FAKE nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t peer, int index,
                                         int *status);
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t peer, int index, int *status)
{
    if (device == peer)
        return 2;
    *status = index == 2 && number("FAKE_NVML_NVLINKS") == 0 ? 5 : (int)number("FAKE_NVML_P2P");
    return result_of(__func__);
}

/* Four GPUs to a switch, each switch at a node of its own. */
FAKE nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t peer,
                                                      int *level);
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t peer, int *level)
{
    *level = device->bus / 4 == peer->bus / 4 ? 10 : 50;
    return result_of(__func__);
}

FAKE nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, int *active);
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, int *active)
{
    (void)device;
    if (link >= 18)
        return 2;
    *active = link < number("FAKE_NVML_NVLINKS");
    return result_of(__func__);
}

struct process_info {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

FAKE nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                                          struct process_info *infos);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                                     struct process_info *infos)
{
    const char *list = getenv("FAKE_NVML_PROCESSES");
    unsigned room = *count;
    (void)device;

    *count = 0;
    for (const char *at = list != NULL ? list : "own"; *at != '\0'; at += strcspn(at, ",")) {
        at += *at == ',';
        if (*count == room)
            return 7;
        infos[(*count)++] = (struct process_info){
            .pid = strncmp(at, "own", 3) == 0 ? (unsigned)getpid() : (unsigned)atoi(at),
            .bytes = *at == '0' ? ~0ull : 1ull << 30, /* "07": memory not available */
        };
    }
    return result_of(__func__);
}

/* One that draws, and computes too. */
FAKE nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                                           struct process_info *infos);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned *count,
                                                      struct process_info *infos)
{
    (void)device;
    *count = 1;
    infos[0] = (struct process_info){ .pid = 7, .bytes = 1ull << 30 };
    return result_of(__func__);
}
#endif
