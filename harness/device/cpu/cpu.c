/* The CPU device, opened: its properties, and the row of its functions.
 *
 * It follows CUDA's rules with real work in real time: a stream's worker computes what is launched,
 * copies are copies, waits are waits. Nothing is slept or modelled. Host and device share the
 * cores, so every worker and every spinning thread takes one from the rest. */
#include "harness/device/cpu/cpu.h"

#include "harness/base/clock.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/system/machine.h"
#include "harness/device/cpu/arithmetic/isa.h"
#include "harness/device/cpu/cpu_gemm.h"
#include "harness/device/cpu/cpu_memory.h"
#include "harness/device/cpu/host_health.h"
#include "harness/device/plugin/phase_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Long enough to catch a launch that follows a launch, short enough to leave the core to loader
 * threads soon; on a machine with one core, spinning only delays the thread that it waits for. */
enum { DEFAULT_SPIN_NS = 20000 };

static const int64_t DEFAULT_CAPACITY_MOST = (int64_t)4 << 30; /* or a quarter of the memory */

static void fill_properties(struct cpu_device *device)
{
    struct device_properties *properties = &device->base.properties;
    struct machine machine;

    machine_read(&machine, "");
    properties->host_cores = machine_cores();
    if (properties->host_cores == 1)
        device->spin_ns = 0;
    snprintf(properties->kind, sizeof properties->kind, "cpu");
    snprintf(properties->name, sizeof properties->name, "CPU device (%.63s, %d core%s)",
             machine.cpu_model, properties->host_cores, properties->host_cores == 1 ? "" : "s");
    snprintf(properties->isa, sizeof properties->isa, "%s", isa_name());
    gemm_library(properties->gemm_library, sizeof properties->gemm_library);
    for (int i = 0; i < machine.cache_count; i++) /* The last level is the largest. */
        if (machine.caches[i].bytes > properties->cache_bytes)
            properties->cache_bytes = machine.caches[i].bytes;
    properties->multiprocessors = 1;
    properties->warp_lanes = 1;
    properties->shares_host_cores = true;
    properties->spin_ns = device->spin_ns;
    properties->doorbell = device->doorbell;
    properties->bf16_matrix_units = gemm_has_bf16_tiles();
    properties->fused_attention = true;
}

static enum status run_nothing(struct cpu_stream *stream, const struct item *item)
{
    (void)stream;
    (void)item;
    return STATUS_OK;
}

static const struct cpu_work nothing = { .run = run_nothing };

/* The host's time for one launch, doorbell included: the median over runs that never fill the
 * queue. */
static enum status measure_launch(struct cpu_device *device)
{
    enum { RUNS = 15, LAUNCHES = 64 };
    enum status status = STATUS_OK;
    struct stream *stream = NULL;
    double ns[RUNS];

    TRY_OUT(cpu_stream_create(&device->base, &stream));
    /* The wait between runs is not timed. */
    for (int run = 0; run < RUNS; run++) {
        int64_t start_ns = clock_ns();
        for (int i = 0; i < LAUNCHES; i++) {
            struct item *item;
            TRY_OUT(stream_claim((struct cpu_stream *)stream, &item));
            item->work = &nothing;
            item->correlation = 0;
            stream_submit((struct cpu_stream *)stream);
        }
        ns[run] = (double)(clock_ns() - start_ns) / LAUNCHES;
        TRY_OUT(cpu_stream_synchronize(stream));
    }
    device->base.properties.launch_ns = stats_median(ns, RUNS);

out:
    if (stream != NULL)
        cpu_stream_destroy(stream);
    return status;
}

static void cpu_phase_push(struct device *device, const char *name)
{
    phase_stack_push(&((struct cpu_device *)device)->sink, name);
}

static void cpu_phase_pop(struct device *device)
{
    phase_stack_pop(&((struct cpu_device *)device)->sink);
}

static void cpu_health(struct device *device, enum health_detail detail,
                       struct device_health *health)
{
    (void)device;
    if (detail == HEALTH_ALL)
        host_health("", health);
}

static void cpu_close(struct device *base)
{
    struct cpu_device *device = (struct cpu_device *)base;

    while (device->streams != NULL) cpu_stream_destroy(&device->streams->base);
    cpu_memory_close(device->memory);
    cpu_attentions_close(device->attentions);
    cpu_gemms_close(device->gemms);
    pthread_rwlock_destroy(&device->streams_lock);
    pthread_mutex_destroy(&device->failure_lock);
    free(device);
}

static enum status cpu_open(struct device **result, int index, const struct driver_host *host);

static const struct device_driver driver = {
    .name = "cpu",
    .build_id = CHOKEPOINT_BUILD_ID,
    .open = cpu_open,
    .close = cpu_close,
    .memory_info = cpu_memory_info,
    .memory_trim = cpu_memory_trim,
    .synchronize = cpu_synchronize,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_host_free,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .stream_synchronize = cpu_stream_synchronize,
    .stream_wait_event = cpu_stream_wait_event,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_synchronize = cpu_event_synchronize,
    .event_query = cpu_event_query,
    .event_elapsed = cpu_event_elapsed,
    .copy = cpu_copy,
    .memset = cpu_memset,
    .launch = cpu_launch,
    .gemm = cpu_gemm,
    .attention_plan = cpu_attention_plan,
    .attention = cpu_attention,
    .collective = cpu_collective,
    .graph_begin = cpu_graph_begin,
    .graph_captured_nodes = cpu_graph_captured_nodes,
    .graph_end = cpu_graph_end,
    .graph_launch = cpu_graph_launch,
    .graph_destroy = cpu_graph_destroy,
    .phase_push = cpu_phase_push,
    .phase_pop = cpu_phase_pop,
    .health = cpu_health,
};

static enum status cpu_open(struct device **result, int index, const struct driver_host *host)
{
    enum status status = STATUS_OK;
    const struct device_options *options = &host->options;
    struct cpu_device *device = NULL;
    int64_t capacity = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 4;

    (void)index; /* There is one CPU device. */
    *result = NULL;
    capacity = capacity < DEFAULT_CAPACITY_MOST ? capacity : DEFAULT_CAPACITY_MOST;
    capacity = options->memory_bytes > 0 ? options->memory_bytes : capacity;
    status_forward(host->bridge);
    TRY_OUT(isa_check());
    device = calloc(1, sizeof *device);
    if (device == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for the CPU device (%zu bytes)",
                 sizeof *device);
    device->base.driver = &driver;
    device->spin_ns = options->spin_ns >= 0 ? options->spin_ns : DEFAULT_SPIN_NS;
    device->doorbell = !options->no_doorbell;
    device->ranks = host->ranks;
    device->wait_begin = host->wait_begin;
    device->wait_end = host->wait_end;
    pthread_rwlock_init(&device->streams_lock, NULL);
    pthread_mutex_init(&device->failure_lock, NULL);
    fill_properties(device);
    device->base.properties.memory_bytes = capacity;
    TRY_OUT(cpu_memory_open(&device->memory, capacity));
    TRY_OUT(cpu_gemms_open(&device->gemms));
    TRY_OUT(cpu_attentions_open(&device->attentions));
    TRY_OUT(measure_launch(device));
    device->last_stream = 0; /* The stream that was measured with does not count. */
    device->sink = options->sink;
    *result = &device->base;

out:
    if (status != STATUS_OK && device != NULL)
        cpu_close(&device->base);
    return status;
}

__attribute__((visibility("default"))) device_driver_fn chokepoint_device_driver;

const struct device_driver *chokepoint_device_driver(void)
{
    return &driver;
}
