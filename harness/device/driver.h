/* The functions that a plugin implements: one const row per device.
 *
 * A plugin is a shared library libchokepoint_<name>.so beside the program. It exports one function,
 * device_driver(), and links against nothing of ours: what it needs from the program comes in
 * struct driver_host. The program refuses a plugin whose build id differs from its own.
 *
 * The public functions of device.h have checked arguments and applied the fault hook before a
 * driver's function is called, and count the call when it succeeded. Each function's contract is
 * that of its namesake. */
#pragma once

#include "harness/device/device.h"
#include "harness/device/peer.h"
#include "harness/device/ranks_driver.h"

/* The public parts of the objects. A driver's own structs begin with these. */
struct device {
    const struct device_driver *driver;
    struct device_properties properties; /* filled by the driver's open */
    struct device_ledger *ledger;        /* the program's: counters and faults */
};
struct stream {
    struct device *device;
    bool capturing; /* the program's: what is queued is recorded, and not counted */
    bool blocking;  /* the program's: stream_set_blocking() */
};
struct event {
    struct device *device;
    bool timing;
};
struct graph {
    struct device *device;
    int nodes;
};

struct ptx_kernel {
    struct device *device;
};

/* Given to launch() in place of a kernel, with no arguments: launch() then queues work that fails
 * when it runs, as a kernel with a bad address does. CHOKEPOINT_FAIL=kernel:n asks for it. */
enum { DRIVER_KERNEL_FAILS = KERNEL_COUNT };

struct driver_host {
    const struct status_bridge *bridge; /* for good: hand it to status_forward() first of all */
    const struct ranks_driver *ranks;   /* connects this rank to the others; NULL: there are none */
    struct ranks_place place;           /* this rank's */
    struct device_options options;
    /* Around a wait in a call that seldom has one, as a launch into a full queue
     * (types/device_wait.h). */
    void (*wait_begin)(void), (*wait_end)(void);
};

/* Vitals only, or all. */
enum health_detail { HEALTH_VITALS, HEALTH_ALL };

struct device_driver {
    const char *name, *build_id;
    enum status (*open)(struct device **device, int index, const struct driver_host *host);
    void (*close)(struct device *device);
    enum status (*memory_info)(struct device *device, struct memory_info *info);
    enum status (*memory_trim)(struct device *device);
    enum status (*synchronize)(struct device *device);
    enum status (*alloc)(struct device *device, struct stream *stream, enum allocation how,
                         size_t bytes, void **memory);
    enum status (*free)(struct device *device, struct stream *stream, enum allocation how,
                        void *memory);
    enum status (*host_alloc)(struct device *device, bool pinned, size_t bytes, void **memory);
    enum status (*host_free)(struct device *device, bool pinned, void *memory);
    enum status (*stream_create)(struct device *device, struct stream **stream);
    void (*stream_destroy)(struct stream *stream);
    enum status (*stream_synchronize)(struct stream *stream);
    enum status (*stream_wait_event)(struct stream *stream, struct event *event);
    enum status (*event_create)(struct device *device, bool timing, struct event **event);
    void (*event_destroy)(struct event *event);
    enum status (*event_record)(struct event *event, struct stream *stream);
    enum status (*event_synchronize)(struct event *event);
    enum status (*event_query)(struct event *event);
    enum status (*event_elapsed)(struct event *from, struct event *to, double *elapsed_ns);
    /* *waited: the call blocked until device work was done. */
    enum status (*copy)(struct stream *stream, enum copy_kind kind, bool asynchronous, void *to,
                        const void *from, size_t bytes, bool *waited);
    enum status (*memset)(struct stream *stream, void *memory, int byte, size_t bytes);
    enum status (*launch)(struct stream *stream, enum kernel kernel, enum dtype dtype, long count,
                          const void *arguments, size_t size);
    /* Where properties.gemm_epilogues is false, it sees no epilogue. */
    enum status (*gemm)(struct stream *stream, const struct gemm *gemm);
    /* All NULL: the device executes no PTX. */
    enum status (*ptx_load)(struct device *device, const char *text, const char *name,
                            struct ptx_kernel **kernel);
    void (*ptx_free)(struct ptx_kernel *kernel);
    enum status (*ptx_launch)(struct stream *stream, struct ptx_kernel *kernel,
                              const struct ptx_launch *launch);
    /* Both NULL where properties.fused_attention is false. */
    enum status (*attention_plan)(struct device *device, const struct attention_shape *shape,
                                  size_t *workspace_bytes);
    enum status (*attention)(struct stream *stream, const struct fused_attention *attention);
    enum status (*collective)(struct stream *stream,
                              const struct collective *collective); /* or NULL */
    enum status (*check_ranks)(struct device *device, int ranks);   /* NULL: any number can */
    enum status (*graph_begin)(struct stream *stream);
    enum status (*graph_end)(struct stream *stream, struct graph **graph);
    int (*graph_captured_nodes)(const struct stream *stream); /* NULL: it does not number them */
    enum status (*graph_launch)(struct stream *stream, struct graph *graph);
    void (*graph_destroy)(struct graph *graph);
    void (*phase_push)(struct device *device, const char *name);
    void (*phase_pop)(struct device *device);
    /* NULL: no profiler knows the device. */
    void (*profile)(struct device *device, bool on);
    void (*range_push)(struct device *device, const char *name);
    void (*range_pop)(struct device *device);
    /* NULL: the device hands its records over as they come. */
    enum status (*activity_flush)(struct device *device);
    /* Both NULL: the device has no counters. */
    enum status (*counters_start)(struct device *device);
    enum status (*counters_stop)(struct device *device, struct hardware_counters *counters);
    /* On entry all of *health is unknown. The driver fills in the values that it knows. */
    void (*health)(struct device *device, enum health_detail detail, struct device_health *health);
    /* All NULL where there is never a peer. `peer` is one; `back`: from the peer's memory. On entry
     * all of *link is unknown. */
    enum status (*peer_alloc)(struct device *device, int peer, size_t bytes, void **memory);
    enum status (*peer_free)(struct device *device, int peer, void *memory);
    enum status (*peer_copy)(struct stream *stream, int peer, bool back, void *to, const void *from,
                             size_t bytes);
    void (*peer_link)(struct device *device, int peer, struct device_link *link);
};

/* The one exported symbol of a plugin. */
typedef const struct device_driver *device_driver_fn(void);
#define DEVICE_DRIVER_SYMBOL "chokepoint_device_driver"
