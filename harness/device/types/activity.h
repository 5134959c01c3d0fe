/* One record of the activity of a host thread or a device: devices make them, traces keep them.
 *
 * A device hands every record to the sink it was opened with and keeps none. Names, kinds and
 * correlation follow CUPTI's: a call by the host (RUNTIME) and the device work it caused (KERNEL,
 * MEMCPY, MEMSET, SYNCHRONIZATION) carry the same correlation id; the nodes of a graph carry the id
 * of the cudaGraphLaunch that ran them. Times are clock_ns(). */
#pragma once

#include "harness/device/types/dtype.h"

#include <stdbool.h>
#include <stdint.h>

enum activity_kind {
    ACTIVITY_RUNTIME,         /* a host call, by its CUDA runtime name: "cudaLaunchKernel" */
    ACTIVITY_DRIVER,          /* the same for the driver API: "cuLaunchKernel" */
    ACTIVITY_KERNEL,          /* a kernel on the device; a GEMM is one too */
    ACTIVITY_MEMCPY,          /* a copy, by direction */
    ACTIVITY_MEMSET,          /* a memset */
    ACTIVITY_SYNCHRONIZATION, /* a host thread waiting for a stream, an event or the device */
    ACTIVITY_MEMORY,          /* an allocation (bytes > 0) or a release (bytes < 0), at start_ns */
    ACTIVITY_PHASE,           /* from phase push to phase pop, on the host */
    ACTIVITY_OVERHEAD,        /* what tracing itself cost */
    ACTIVITY_KIND_COUNT
};

enum activity_memory { /* CUPTI_ACTIVITY_MEMORY_KIND_* */
                       ACTIVITY_MEMORY_UNKNOWN,
                       ACTIVITY_MEMORY_PAGEABLE,
                       ACTIVITY_MEMORY_PINNED,
                       ACTIVITY_MEMORY_DEVICE,
};

enum activity_copy { /* CUPTI_ACTIVITY_MEMCPY_KIND_* */
                     ACTIVITY_COPY_NONE,
                     ACTIVITY_COPY_HTOD,
                     ACTIVITY_COPY_DTOH,
                     ACTIVITY_COPY_DTOD,
};

struct activity {
    enum activity_kind kind;
    const char *name; /* lives at least as long as the device */
    int64_t start_ns, end_ns;
    uint32_t device, stream; /* of device work; stream ids start at 1 and are never used twice */
    uint32_t thread;         /* gettid() of host calls, waits and phases */
    uint32_t correlation;    /* 0: none */
    int64_t bytes;           /* copied, set, allocated or communicated */
    uint64_t address;        /* of MEMORY records */
    bool asynchronous;       /* copies: the call was an Async one. MEMORY: stream-ordered */
    enum activity_copy copy;
    enum activity_memory source, destination; /* MEMORY records use `destination` */
    uint32_t graph;                           /* of graph nodes: the graph's id; 0 otherwise */
    uint32_t graph_node;
    bool fitted; /* the times are those of an earlier launch of the graph, fitted into this one's */
    uint32_t grid[3], block[3]; /* the CPU device: grid is its rows or packs, block is 1 */
    uint32_t registers;         /* a thread's */
    uint32_t shared_bytes;
    float occupancy; /* estimated, 0..1; 0 where it is not known */
    /* kernels that communicate: PyTorch's name, "allreduce"; NULL: others */
    const char *collective;
    enum dtype dtype; /* of what they communicate */
};

/* `record` is called from any thread, also from several at once, and must not block for long or
 * call the device. A null `record` records nothing: then the device reads no clock for it.
 * `dropped`, if not null, gets the number of records that the device has lost, before or while it
 * flushes. */
struct activity_sink {
    void (*record)(void *context, const struct activity *activity);
    void *context;
    void (*dropped)(void *context, int64_t records);
};
