/* The queue of a stream. A ring of items between two counters: `submitted`, which hosts advance
 * under a lock, and `done`, which only the worker advances. An item's slot is written before
 * `submitted` passes it and reused after `done` has, so slots need no locks of their own.
 *
 * The doorbell is the system call that a driver makes to tell its hardware of new work: here it is
 * the futex wake, sent even to a worker that is awake. */
#include "harness/device/cpu/queue/queue.h"

#include "harness/device/cpu/queue/cpu_progress.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 1024 }; /* as deep as the queue of a CUDA channel */

struct queue {
    _Alignas(64) pthread_mutex_t lock; /* of the three that follow, and of the slot claimed */
    uint64_t count;                    /* submitted */
    uint64_t done_seen;                /* what `done` was when we last had to look */
    _Alignas(64) struct cpu_progress submitted;
    _Alignas(64) struct cpu_progress done;
    _Alignas(64) struct queue_options options;
    struct item *items;
    pthread_t worker;
};

/* The worker: an item without work ends it. */
static void *work(void *argument)
{
    struct queue *queue = argument;
    uint64_t done = 0;

    if (queue->options.start != NULL)
        queue->options.start(queue->options.context);
    for (;;) {
        cpu_progress_await(&queue->submitted, done + 1, queue->options.spin_ns);
        const struct item *item = &queue->items[done % DEPTH];
        if (item->work == NULL)
            return NULL;
        queue->options.run(queue->options.context, item);
        cpu_progress_set(&queue->done, ++done);
        cpu_progress_wake(&queue->done);
    }
}

enum status queue_open(struct queue **result, const struct queue_options *options)
{
    enum status status = STATUS_OK;
    struct queue *queue = aligned_alloc(_Alignof(struct queue), sizeof *queue);
    int error;

    *result = NULL;
    if (queue == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a stream (%zu bytes)", sizeof *queue);
    memset(queue, 0, sizeof *queue);
    queue->options = *options;
    queue->items = aligned_alloc(_Alignof(struct item), DEPTH * sizeof *queue->items);
    if (queue->items == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a stream's queue (%zu bytes)",
                 DEPTH * sizeof *queue->items);
    memset(queue->items, 0,
           DEPTH * sizeof *queue->items); /* no page faults in the first launches */
    pthread_mutex_init(&queue->lock, NULL);
    error = pthread_create(&queue->worker, NULL, work, queue);
    if (error != 0) {
        pthread_mutex_destroy(&queue->lock);
        FAIL_OUT(STATUS_DEVICE_ERROR, "cannot start a stream's worker thread: %s", strerror(error));
    }
    *result = queue;

out:
    if (status != STATUS_OK && queue != NULL) {
        free(queue->items);
        free(queue);
    }
    return status;
}

void queue_close(struct queue *queue)
{
    if (queue == NULL)
        return;
    queue_claim(queue)->work = NULL;
    queue_submit(queue);
    pthread_join(queue->worker, NULL);
    pthread_mutex_destroy(&queue->lock);
    free(queue->items);
    free(queue);
}

struct item *queue_claim(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    if (queue->count - queue->done_seen >= DEPTH) {
        if (queue->options.wait_begin != NULL)
            queue->options.wait_begin();
        cpu_progress_await(&queue->done, queue->count - DEPTH + 1, queue->options.spin_ns);
        if (queue->options.wait_end != NULL)
            queue->options.wait_end();
        queue->done_seen = cpu_progress_value(&queue->done);
    }
    return &queue->items[queue->count % DEPTH];
}

uint64_t queue_submit(struct queue *queue)
{
    uint64_t ticket = ++queue->count;

    cpu_progress_set(&queue->submitted, ticket);
    pthread_mutex_unlock(&queue->lock);
    if (queue->options.doorbell)
        cpu_progress_ring(&queue->submitted);
    else
        cpu_progress_wake(&queue->submitted);
    return ticket;
}

uint64_t queue_submitted(struct queue *queue)
{
    return cpu_progress_value(&queue->submitted);
}

bool queue_done(struct queue *queue, uint64_t ticket)
{
    return cpu_progress_value(&queue->done) >= ticket;
}

void queue_wait(struct queue *queue, uint64_t ticket)
{
    cpu_progress_await(&queue->done, ticket, queue->options.spin_ns);
}
