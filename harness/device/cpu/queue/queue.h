/* A first-in-first-out queue of items and the one worker thread that runs them. */
#ifndef HARNESS_DEVICE_CPU_QUEUE_QUEUE_H
#define HARNESS_DEVICE_CPU_QUEUE_QUEUE_H

#include "harness/device/cpu/queue/item.h"

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

#endif
