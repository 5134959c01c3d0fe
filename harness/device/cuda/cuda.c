/* The CUDA device, opened: its properties, and the row of its functions.
 *
 * The runtime is linked statically, so that the plugin needs nothing of CUDA to load: libcuda.so.1,
 * the driver's, is opened by the runtime when it is first called, and gpu_found.c says what is
 * wrong if that fails. The runtime in cuBLAS is another copy; both use the GPU's primary context,
 * and a stream is the driver's own in either.
 *
 * device.h has checked the arguments. A sticky error (an illegal address, say) stays with the
 * process: CUDA gives no way back but to start again.
 *
 * Order at the opening: CUPTI before CUDA has a context, all that takes device memory before the
 * capacity is measured, and the sink last, so that it sees nothing of the opening. */
#include "harness/device/cuda/cuda.h"

#include "harness/base/system/machine.h"
#include "harness/device/cuda/cuda_collective.h"
#include "harness/device/cuda/cuda_gemm.h"
#include "harness/device/cuda/cuda_memory.h"
#include "harness/device/cuda/cupti/cupti_collector.h"
#include "harness/device/cuda/cupti/pm_sampling.h"
#include "harness/device/cuda/libraries/gpu_found.h"
#include "harness/device/cuda/libraries/nvml.h"
#include "harness/device/plugin/phase_stack.h"

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

/* CUDA's current device is the thread's: it is remembered here, since cudaSetDevice() is a call
 * that a launch need not pay each time. */
enum status cuda_enter(const struct cuda_device *device)
{
    static _Thread_local int current = -1;
    int index = device->base.properties.index;

    if (current == index)
        return STATUS_OK;
    CUDA(cudaSetDevice(index));
    current = index;

    return STATUS_OK;
}

enum { LARGE_MULTIPROCESSORS = 4 };

/* Matrix units take these products ("CUDA C++ Programming Guide", "Compute capabilities"): fp16
 * from 7.5 on, bf16 and tf32 from 8.0 on. */
static enum status fill_properties(struct cuda_device *device, const struct gpu_found *found,
                                   int index)
{
    struct device_properties *properties = &device->base.properties;
    struct cudaDeviceProp gpu;

    properties->index = index;
    properties->peers = found->count - 1;
    TRY(cuda_enter(device));
    CUDA(cudaGetDeviceProperties(&gpu, index));
    CUDA(cudaRuntimeGetVersion(&properties->cuda_runtime));
    snprintf(properties->kind, sizeof properties->kind, "cuda");
    snprintf(properties->name, sizeof properties->name, "%s", found->name);
    properties->compute_capability = found->compute_capability;
    properties->cuda_driver = found->driver_version;
    properties->memory_bytes = (int64_t)gpu.totalGlobalMem;
    properties->cache_bytes = gpu.l2CacheSize;
    properties->memory_bus_bits = gpu.memoryBusWidth;
    properties->multiprocessors = gpu.multiProcessorCount;
    properties->warp_lanes = gpu.warpSize;
    properties->host_cores = machine_cores();
    properties->is_gpu = true;
    /* The least GPUs of compute capability 7.5 have 14; fewer are no whole GPU, but a slice, or a
     * stand-in for one. */
    properties->is_large = properties->clocks_rise_with_work =
        gpu.multiProcessorCount >= LARGE_MULTIPROCESSORS;
    /* Clocks and launches vary more than on the host. */
    properties->window_seconds_least = properties->is_large ? 0.3 : 0;
    properties->fp16_matrix_units = found->compute_capability >= 75;
    properties->bf16_matrix_units = properties->tf32 = found->compute_capability >= 80;

    return STATUS_OK;
}

/* NVTX looks for a tool at its first call, and only one thread may make that call: NVTX's other
 * calls read what it writes, without a lock. */
static void find_nvtx_tool(void)
{
    nvtxInitialize(NULL);
}

/* An NVTX range, which nsys and ncu show, and a record for the sink if there is one. Without a tool
 * in the process an NVTX call is a test of a pointer. */
static void cuda_phase_push(struct device *device, const char *name)
{
    nvtxRangePushA(name);
    phase_stack_push(&((struct cuda_device *)device)->sink, name);
}

static void cuda_phase_pop(struct device *device)
{
    nvtxRangePop();
    phase_stack_pop(&((struct cuda_device *)device)->sink);
}

static void cuda_range_push(struct device *device, const char *name)
{
    (void)device;
    nvtxRangePushA(name);
}

static void cuda_range_pop(struct device *device)
{
    (void)device;
    nvtxRangePop();
}

/* Without a profiler both do nothing, or fail, which is the same to us. */
static void cuda_profile(struct device *base, bool on)
{
    if (cuda_enter((struct cuda_device *)base) != STATUS_OK)
        return;
    if ((on ? cudaProfilerStart() : cudaProfilerStop()) != cudaSuccess)
        (void)cudaGetLastError();
}

/* Before the device has a context. */
static enum status start_recording(struct cuda_device *device, int index)
{
    struct cudaDeviceProp gpu;

    CUDA(cudaGetDeviceProperties(&gpu, index));
    TRY(cupti_collector_start(index, &gpu));
    device->records = true;

    return STATUS_OK;
}

static enum status cuda_activity_flush(struct device *base)
{
    return ((struct cuda_device *)base)->records ? cupti_collector_flush() : STATUS_OK;
}

/* Records would slow what is counted. */
static enum status cuda_counters_start(struct device *base)
{
    struct cuda_device *device = (struct cuda_device *)base;

    if (!device->records || !cupti_collector_counts())
        FAIL(STATUS_UNSUPPORTED, "CHOKEPOINT_CUPTI does not ask for the GPU's counters");
    TRY(cuda_enter(device));
    cupti_collector_pause();
    return pm_sampling_start(&device->sampling, base->properties.index,
                             base->properties.compute_capability);
}

static enum status cuda_counters_stop(struct device *base, struct hardware_counters *counters)
{
    struct cuda_device *device = (struct cuda_device *)base;
    struct pm_sampling *sampling = device->sampling;

    device->sampling = NULL;
    return pm_sampling_stop(sampling, counters);
}

/* Waits for all work. Nothing is reset: another device may be open on the same GPU. Parts that own
 * memory of CUDA first; CUPTI is stopped when no work is left to record. */
static void cuda_close(struct device *base)
{
    struct cuda_device *device = (struct cuda_device *)base;

    if (cuda_enter(device) == STATUS_OK) {
        while (device->streams != NULL) cuda_stream_destroy(&device->streams->base);
        cuda_memory_close(device->memory);
        attentions_close(device->attentions);
        cuda_gemms_close(device->gemms);
    }
    collectives_close(device->collectives);
    nvml_close(device->nvml);
    if (device->records) {
        cupti_collector_flush(); /* The sink is told if this fails, too: of dropped records. */
        cupti_collector_stop();
    }
    pthread_mutex_destroy(&device->streams_lock);
    free(device);
}

static enum status cuda_open(struct device **result, int index, const struct driver_host *host);

static const struct device_driver driver = {
    .name = "cuda",
    .build_id = CHOKEPOINT_BUILD_ID,
    .open = cuda_open,
    .close = cuda_close,
    .memory_info = cuda_memory_info,
    .memory_trim = cuda_memory_trim,
    .synchronize = cuda_synchronize,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .stream_synchronize = cuda_stream_synchronize,
    .stream_wait_event = cuda_stream_wait_event,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_synchronize = cuda_event_synchronize,
    .event_query = cuda_event_query,
    .event_elapsed = cuda_event_elapsed,
    .copy = cuda_copy,
    .memset = cuda_memset,
    .launch = cuda_launch,
    .gemm = cuda_gemm,
#if CUDART_VERSION >= 12080 /* cuda_ptx.c */
    .ptx_load = cuda_ptx_load,
    .ptx_free = cuda_ptx_free,
    .ptx_launch = cuda_ptx_launch,
#endif
    .attention_plan = cuda_attention_plan,
    .attention = cuda_attention,
    .collective = cuda_collective,
    .check_ranks = cuda_check_ranks,
    .graph_begin = cuda_graph_begin,
    .graph_end = cuda_graph_end,
    .graph_launch = cuda_graph_launch,
    .graph_destroy = cuda_graph_destroy,
    .phase_push = cuda_phase_push,
    .phase_pop = cuda_phase_pop,
    .profile = cuda_profile,
    .range_push = cuda_range_push,
    .range_pop = cuda_range_pop,
    .activity_flush = cuda_activity_flush,
    .counters_start = cuda_counters_start,
    .counters_stop = cuda_counters_stop,
    .health = cuda_health,
    .peer_alloc = cuda_peer_alloc,
    .peer_free = cuda_peer_free,
    .peer_copy = cuda_peer_copy,
    .peer_link = cuda_peer_link,
};

/* Whatever takes device memory comes before the capacity is measured. */
static enum status open_parts(struct cuda_device *device, const struct driver_host *host)
{
    struct device_properties *properties = &device->base.properties;
    int64_t memory_limit = host->options.memory_bytes;

    TRY(launch_load_kernels(device, properties->isa, sizeof properties->isa));
    TRY(cuda_gemms_open(&device->gemms, device));
    attentions_open(&device->attentions, device);
    TRY(collectives_open(&device->collectives, device, host));
    TRY(launch_measure(device, &properties->launch_ns));
    device->last_stream = 0; /* The stream that was measured with does not count. */
    TRY(cuda_memory_open(&device->memory, properties->index, memory_limit));
    if (memory_limit > 0)
        properties->memory_bytes = memory_limit;

    return STATUS_OK;
}

static enum status cuda_open(struct device **result, int index, const struct driver_host *host)
{
    static pthread_once_t nvtx = PTHREAD_ONCE_INIT;
    enum status status = STATUS_OK;
    struct cuda_device *device = NULL;
    struct gpu_found found;

    *result = NULL;
    status_forward(host->bridge);
    gpu_look(&found, index);
    if (host->ranks != NULL && found.count > 0 && index >= found.count)
        TRY_OUT(collectives_check_gpus(host->place.local_count, index - host->place.local_rank,
                                       found.count));
    TRY_OUT(gpu_verdict(&found, index));
    device = calloc(1, sizeof *device);
    if (device == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for the CUDA device (%zu bytes)",
                 sizeof *device);
    device->base.driver = &driver;
    pthread_mutex_init(&device->streams_lock, NULL);
    device->sink = host->options.sink;
    if (device->sink.record != NULL)
        TRY_OUT(start_recording(device, index));
    TRY_OUT(fill_properties(device, &found, index));
    TRY_OUT(health_open(device));
    TRY_OUT(open_parts(device, host));
    if (device->records) {
        CUDA_OUT(cudaDeviceSynchronize());
        TRY_OUT(cupti_collector_show(device->sink));
    }
    pthread_once(&nvtx, find_nvtx_tool);
    *result = &device->base;

out:
    if (status != STATUS_OK && device != NULL)
        cuda_close(&device->base);
    return status;
}

__attribute__((visibility("default"))) device_driver_fn chokepoint_device_driver;

const struct device_driver *chokepoint_device_driver(void)
{
    return &driver;
}
