/* The CUDA device from the inside: declarations that its parts share.
 *
 * cuda.c opens it. Streams (stream.c), events (event.c), launches (launch.c, cuda_gemm.c,
 * cuda_ptx.c), copies (copy.c), collectives (cuda_collective.c) and graphs (graph.c) are the
 * runtime's, under the rules of device.h; cuda_memory.c keeps the books of what is allocated.
 * gpu_found.c says why there is no usable GPU, errors.c what an error means. Nothing uses the
 * legacy default stream, which would wait for all others.
 *
 * Phases go to the sink as they end; whatever else is recorded comes from CUPTI, and is handed
 * over at a flush (cupti_collector.c). */
#pragma once

#include "harness/device/cuda/libraries/errors.h"
#include "harness/device/driver.h"
#include "harness/device/plugin/capture.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>

struct cuda_memory;
struct cuda_gemms;
struct attentions;
struct collectives;
struct nvml;

struct cuda_device {
    struct device base;
    struct activity_sink sink;
    bool records;                 /* this device has the collector */
    struct pm_sampling *sampling; /* between the start and the stop of counters */

    pthread_mutex_t streams_lock;
    struct cuda_stream *streams;
    uint32_t last_stream; /* under the lock */

    struct cuda_memory *memory;
    struct cuda_gemms *gemms;
    struct attentions *attentions;   /* NULL: there is no cuDNN */
    struct collectives *collectives; /* NULL: there are no other ranks */

    struct nvml *nvml;
    int numa_node; /* that the GPU is attached to, or -1 */
    char local_cores[96];
};

struct cuda_stream {
    struct stream base;
    uint32_t id; /* from 1 on, never used twice */
    cudaStream_t handle;
    struct cuda_stream *next; /* of the device's */

    capture_slot capture;
    _Atomic(void *) workspace; /* cuBLAS's in this stream; NULL before its first product */
};

/* Makes the device's GPU the calling thread's: every function that calls CUDA begins with it, since
 * loader threads come by as well. */
enum status cuda_enter(const struct cuda_device *device);

/* --- stream.c --- */

enum status cuda_stream_create(struct device *device, struct stream **stream);
void cuda_stream_destroy(struct stream *stream);
enum status cuda_stream_synchronize(struct stream *stream);
enum status cuda_synchronize(struct device *device);
bool stream_all_idle(struct cuda_device *device);             /* nothing is queued or running */
bool stream_is_idle(struct cuda_device *device, uint32_t id); /* or was destroyed */

/* --- event.c, copy.c, launch.c, cuda_gemm.c, cuda_ptx.c, graph.c: the driver's functions --- */

enum status cuda_event_create(struct device *device, bool timing, struct event **event);
void cuda_event_destroy(struct event *event);
enum status cuda_event_record(struct event *event, struct stream *stream);
enum status cuda_event_synchronize(struct event *event);
enum status cuda_event_query(struct event *event);
enum status cuda_event_elapsed(struct event *from, struct event *to, double *elapsed_ns);
enum status cuda_stream_wait_event(struct stream *stream, struct event *event);

enum status cuda_copy(struct stream *stream, enum copy_kind kind, bool asynchronous, void *to,
                      const void *from, size_t bytes, bool *waited);
enum status cuda_memset(struct stream *stream, void *memory, int byte, size_t bytes);

enum status cuda_launch(struct stream *stream, enum kernel kernel, enum dtype dtype, long count,
                        const void *arguments, size_t size);
enum status cuda_gemm(struct stream *stream, const struct gemm *gemm);

enum status cuda_ptx_load(struct device *device, const char *text, const char *name,
                          struct ptx_kernel **kernel);
void cuda_ptx_free(struct ptx_kernel *kernel);
enum status cuda_ptx_launch(struct stream *stream, struct ptx_kernel *kernel,
                            const struct ptx_launch *launch);

enum status cuda_graph_begin(struct stream *stream);
enum status cuda_graph_end(struct stream *stream, struct graph **graph);
enum status cuda_graph_launch(struct stream *stream, struct graph *graph);
void cuda_graph_destroy(struct graph *graph);

void cuda_health(struct device *device, enum health_detail detail, struct device_health *health);

/* --- peer.c --- */

enum status cuda_peer_alloc(struct device *device, int peer, size_t bytes, void **memory);
enum status cuda_peer_free(struct device *device, int peer, void *memory);
enum status cuda_peer_copy(struct stream *stream, int peer, bool back, void *to, const void *from,
                           size_t bytes);
void cuda_peer_link(struct device *device, int peer, struct device_link *link);

/* --- Parts of the opening, in launch.c --- */

/* Loads every kernel, so that none is loaded in a timed window or in a capture, and writes what
 * they run as ("sm_90"). UNSUPPORTED where none of what they were built for runs on this GPU. */
enum status launch_load_kernels(const struct cuda_device *device, char *isa, size_t size);

/* The host's time for one eager launch of an empty kernel, median. */
enum status launch_measure(struct cuda_device *device, double *launch_ns);

/* In health.c: finds the GPU for its readings. */
enum status health_open(struct cuda_device *device);

/* --- Captures, in graph.c --- */

void cuda_capture_abandon(struct cuda_stream *stream); /* when the stream ends in mid-capture */

/* The workspace of the graph that `stream` is being captured into; NULL when it is not. */
void *cuda_capture_workspace(const struct cuda_stream *stream);

/* While a thread captures, CUDA refuses it whatever might be unsafe for any capture, queries of
 * events of other streams among it. Between the two, what the rules above have let through is let
 * through. */
struct relaxed {
    bool changed;
    enum cudaStreamCaptureMode mode;
};
struct relaxed cuda_capture_relax(void);
void cuda_capture_restore(struct relaxed relaxed);

/* --- cuda_attention.c: cuDNN's fused attention --- */

/* NULL where there is no cuDNN, which is not a failure: properties.attention_library has the
 * reason. Sets properties.fused_attention. */
void attentions_open(struct attentions **attentions, struct cuda_device *device);
void attentions_close(struct attentions *attentions); /* the device's work is done; NULL allowed */

enum status cuda_attention_plan(struct device *device, const struct attention_shape *shape,
                                size_t *workspace_bytes);
enum status cuda_attention(struct stream *stream, const struct fused_attention *attention);
