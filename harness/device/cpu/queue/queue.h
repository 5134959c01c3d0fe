/* A first-in-first-out queue of items and the one worker thread that runs them. */
#pragma once

#include "harness/device/device.h"

/* --- One item of a queue, or one node of a graph: what to do, and on what --- */

enum { ARGUMENTS_MAX = 112 }; /* bytes of a kernel's argument struct */

struct cpu_stream;
struct cpu_event;
struct cpu_graph;
struct gemm_plan;
struct attention_plan;
struct item;

/* A kind of work. `run` is called on the stream's worker. `show` fills what is this kind's own in a
 * record of it (kind ACTIVITY_KIND_COUNT: none); NULL for what traces never show. After the device
 * has failed only bookkeeping still runs: what others may be waiting for. */
struct cpu_work {
    enum status (*run)(struct cpu_stream *stream, const struct item *item);
    void (*show)(const struct cpu_stream *stream, const struct item *item,
                 struct activity *activity);
    bool bookkeeping;
};

typedef void kernel_fn(const void *arguments, long first, long last);

/* A kernel as built for one storage type. */
struct cpu_kernel {
    kernel_fn *run;
    const char *name;
};

struct kernel_item {
    const struct cpu_kernel *kernel;
    long count;
    _Alignas(16) unsigned char arguments[ARGUMENTS_MAX];
};

struct gemm_item {
    const struct gemm_plan *plan;
    void *c;
    const void *a, *b;
};

struct attention_item {
    const struct attention_plan *plan;
    struct fused_attention given;
};

/* A part of a copy: all of it, or the chunk that fits a staging buffer. */
struct copy_item {
    void *to;
    const void *from;
    size_t bytes, bytes_in_all;
    enum copy_kind kind;
    enum activity_memory source, destination;
    bool asynchronous, first, last;
};

struct memset_item {
    void *memory;
    size_t bytes;
    int byte;
};

struct event_item {
    struct cpu_event *event;
    uint64_t number; /* of the record that is made, or waited for */
};

struct graph_item {
    struct cpu_graph *graph;
    uint64_t number; /* of the launch */
};

struct item {
    _Alignas(64) const struct cpu_work *work; /* NULL ends the worker */
    uint32_t correlation;
    union {
        struct kernel_item kernel;
        struct gemm_item gemm;
        struct attention_item attention;
        struct copy_item copy;
        struct memset_item memset;
        struct collective collective;
        struct event_item event;
        struct graph_item graph;
    };
};

/* --- The queue --- */

struct queue;

struct queue_options {
    void (*start)(void *context); /* the worker's first act; may be NULL */
    void (*run)(void *context, const struct item *item);
    void *context;
    int spin_ns;   /* how long a thread spins before it sleeps, on either side */
    bool doorbell; /* one system call to the worker for every item */
    void (*wait_begin)(void), (*wait_end)(void); /* around the wait for room; may be NULL */
};

enum status queue_open(struct queue **queue, const struct queue_options *options);
void queue_close(struct queue *queue); /* runs what is queued first; NULL is allowed */

/* The slot of the next item, to be filled in and submitted by the same thread, without
 * waiting for anything in between: the queue is locked. Blocks while the queue is full. */
struct item *queue_claim(struct queue *queue);

/* Hands the claimed item to the worker. Its ticket: the number of items submitted so far. */
uint64_t queue_submit(struct queue *queue);

uint64_t queue_submitted(struct queue *queue);
bool queue_done(struct queue *queue, uint64_t ticket);
void queue_wait(struct queue *queue, uint64_t ticket); /* until all items up to `ticket` are done */
