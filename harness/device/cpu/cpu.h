/* The CPU device from the inside: declarations that its parts share.
 *
 * cpu.c opens it. A stream (stream.c) is a queue with a worker; launches (launch.c, cpu_gemm.c,
 * cpu_attention.c), copies (copy.c), events (event.c) and graphs (graph.c) put items into it.
 * cpu_memory.c owns the device's memory, trace.c makes records of the host's calls. */
#pragma once

#include "harness/device/cpu/queue/queue.h"
#include "harness/device/driver.h"
#include "harness/device/plugin/capture.h"

#include <pthread.h>
#include <stdatomic.h>

struct cpu_memory;
struct cpu_gemms;
struct cpu_attentions;
struct gemm_scratch;

struct cpu_device {
    struct device base;
    struct activity_sink sink;
    const struct ranks_driver *ranks; /* NULL: there is one rank */
    int spin_ns;
    bool doorbell;
    void (*wait_begin)(void), (*wait_end)(void); /* the program's */

    pthread_rwlock_t streams_lock;
    struct cpu_stream *streams;
    _Atomic uint32_t last_stream, last_graph, last_correlation;

    struct cpu_memory *memory;
    struct cpu_gemms *gemms;
    struct cpu_attentions *attentions;

    pthread_mutex_t failure_lock;
    atomic_bool failed; /* for good: `failure` is constant from then on */
    struct status_error failure;
};

enum { STAGING_SLOTS = 4, STAGING_BYTES = 256 * 1024 };

struct cpu_stream {
    struct stream base;
    uint32_t id; /* from 1 on, never used twice */
    struct queue *queue;
    struct cpu_stream *next; /* of the device's */

    capture_slot capture;

    pthread_mutex_t staging_lock; /* held for one whole copy */
    unsigned char *staging; /* STAGING_SLOTS buffers of STAGING_BYTES, made when first needed */
    uint64_t staging_tickets[STAGING_SLOTS];

    /* The worker's own: */
    int64_t copy_start_ns;
    struct gemm_scratch *gemm_scratch;
    bool communicates; /* has run a collective */
};

/* --- stream.c --- */

enum status cpu_stream_create(struct device *device, struct stream **stream);
void cpu_stream_destroy(struct stream *stream);
enum status cpu_stream_synchronize(struct stream *stream);
enum status cpu_synchronize(struct device *device);

/* The next item of the stream, or the next node of the graph it is being captured into. The caller
 * fills it in and submits it, and waits for nothing in between. */
enum status stream_claim(struct cpu_stream *stream, struct item **item);
uint64_t stream_submit(struct cpu_stream *stream); /* its ticket; 0 of a graph's node */

/* Runs one item on the worker and records it. `graph` is 0, or the id of the graph whose node
 * `node` this is, as launched under `correlation`. */
void stream_run(struct cpu_stream *stream, const struct item *item, uint32_t correlation,
                uint32_t graph, uint32_t node);

void device_wait_all(struct cpu_device *device);       /* until everything queued by now is done */
enum status device_failure(struct cpu_device *device); /* the error of queued work, if any */

/* --- launch.c, cpu_gemm.c, cpu_attention.c, copy.c, cpu_collective.c, event.c, graph.c: the
 * driver's functions --- */

enum status cpu_launch(struct stream *stream, enum kernel kernel, enum dtype dtype, long count,
                       const void *arguments, size_t size);
enum status cpu_gemm(struct stream *stream, const struct gemm *gemm);
enum status cpu_attention_plan(struct device *device, const struct attention_shape *shape,
                               size_t *workspace_bytes);
enum status cpu_attention(struct stream *stream, const struct fused_attention *attention);
enum status cpu_copy(struct stream *stream, enum copy_kind kind, bool asynchronous, void *to,
                     const void *from, size_t bytes, bool *waited);
enum status cpu_collective(struct stream *stream, const struct collective *collective);
enum status cpu_memset(struct stream *stream, void *memory, int byte, size_t bytes);

enum status cpu_event_create(struct device *device, bool timing, struct event **event);
void cpu_event_destroy(struct event *event);
enum status cpu_event_record(struct event *event, struct stream *stream);
enum status cpu_event_synchronize(struct event *event);
enum status cpu_event_query(struct event *event);
enum status cpu_event_elapsed(struct event *from, struct event *to, double *elapsed_ns);
enum status cpu_stream_wait_event(struct stream *stream, struct event *event);

/* The same without a record of the call, for parts that order streams among themselves. */
void event_put_record(struct cpu_event *event, struct cpu_stream *stream, uint32_t correlation);
void event_put_wait(struct cpu_event *event, struct cpu_stream *stream, uint32_t correlation);

int cpu_graph_captured_nodes(const struct stream *stream);
enum status cpu_graph_begin(struct stream *stream);
enum status cpu_graph_end(struct stream *stream, struct graph **graph);
enum status cpu_graph_launch(struct stream *stream, struct graph *graph);
void cpu_graph_destroy(struct graph *graph);

/* A new node at the end of the graph that `stream` is being captured into. */
enum status cpu_capture_claim(struct cpu_stream *stream, struct item **item);
void cpu_capture_submit(struct cpu_stream *stream);
void cpu_capture_abandon(struct cpu_stream *stream); /* when the stream ends in mid-capture */

/* --- trace.c: records of the calls of host threads, for the sink that the device was opened with.
 * Without a sink none of these reads a clock or takes an id --- */

struct call {
    int64_t start_ns;
    uint32_t correlation; /* 0: nobody records */
};

struct call call_begin(struct cpu_device *device);
void call_end(struct cpu_device *device, const struct call *call, const char *name);

/* Ends the call and records it as a wait for `stream` (NULL: for the device) as well. */
void call_end_waiting(struct cpu_device *device, const struct call *call, const char *name,
                      const char *wait_name, const struct cpu_stream *stream);

/* An allocation, or a release where `bytes` is negative. */
void trace_memory(struct cpu_device *device, const struct call *call, const void *memory,
                  int64_t bytes, enum activity_memory kind, bool stream_ordered);

/* --- cpu_attention.c: its plans --- */

struct cpu_attentions; /* the device's plans */

enum status cpu_attentions_open(struct cpu_attentions **attentions);
void cpu_attentions_close(struct cpu_attentions *attentions); /* NULL is allowed */
