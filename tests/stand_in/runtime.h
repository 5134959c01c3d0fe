/* Shared by the parts of the runtime's stand-in. One lock and one condition serve everything: this
 * is about who waits for what, not about speed.
 *
 * A call takes the lock, looks, and returns what stand_in_leave() makes of its error. Functions
 * here want the lock held unless they say otherwise. */
#pragma once

#include "harness/simt/simt.h"
#include "tests/stand_in/stand_in.h"

#include <pthread.h>

enum { STAND_IN_MEMORY = 1 << 30 }; /* of the GPU, in bytes */

/* --- runtime.c: the lock and errors --- */

void stand_in_lock(void); /* without the lock */
void stand_in_unlock(void);
void stand_in_wait(void); /* until something changed; the lock is free in the meantime */
void stand_in_wake(void); /* all that wait */

/* The error of a kernel, which the process keeps for good; the first one stays. */
cudaError_t stand_in_lost(void);
void stand_in_lose(cudaError_t error); /* cudaSuccess changes nothing */

/* The result of a call that has the lock: `error`, unless the process has lost its GPU. Unlocks. */
cudaError_t stand_in_leave(cudaError_t error);
cudaError_t stand_in_result(cudaError_t error); /* of a call without the lock */

/* Whether it has. Without the lock. */
bool stand_in_is_lost(void);

/* How many GPUs there are: STAND_IN_DEVICES; 1 if not given. Without the lock. STAND_IN_TROUBLE
 * says what is wrong with which (stream.c). */
int stand_in_devices(void);

/* `memory`, or the end of the program where that is NULL. With or without the lock. */
void *stand_in_must(void *memory);

/* --- stream.c --- */

struct CUstream_st {
    uint32_t id;
    int device;
    pthread_t thread;
    struct operation *first, *last;
    long submitted, done;
    bool closing;
    struct CUstream_st *next;
    struct recording *recording; /* NULL: it is not being captured */
    struct simt_order order;     /* of its last piece of work, which comes before the next, too */
};

/* Makes the stream's next work come after this, too; the host has waited for it, so that all that
 * is submitted from now on does. `before` is as in simt_order. */
void stand_in_follow(struct CUstream_st *stream, const uint64_t *before);
void stand_in_host_waited(const uint64_t *before);

/* Takes over `operation->owned`. */
void stand_in_enqueue(struct CUstream_st *stream, const struct operation *operation);

/* Waits until so many of the stream's operations are done; or all of all streams. */
void stand_in_wait_until(struct CUstream_st *stream, long number);
void stand_in_wait_for_all(void);

/* Without the lock. `work` is what the listener learns of it; its times are set here. */
cudaError_t stand_in_run(struct operation *operation, struct stand_in_work *work);

/* --- kernels.c --- */

/* The machine that executes kernels and knows the GPUs' memory. With or without the lock. */
struct simt *stand_in_machine(void);

/* Prints a finding of the machine. Without the lock. */
cudaError_t stand_in_found(enum simt_finding_kind kind);

/* --- memory.c --- */

/* Without the lock: whether the address is in pinned memory. */
bool stand_in_is_pinned(const void *address);

/* Without the lock: the GPU whose memory has the address; -1: none has. */
int stand_in_block_device(const void *address);

/* Makes memory that was freed on a closing stream free for every stream. */
void stand_in_forget_stream(const struct CUstream_st *stream);

/* --- event.c --- */

/* Where the node of a graph records an event: its next record comes after `before`. */
void stand_in_event_follow(const struct operation *node, const uint64_t *before);

/* --- graph.c: captures --- */

/* Whether a call that stream capture calls unsafe is so now: it ends the validity of this thread's
 * captures. */
bool stand_in_is_unsafe(void);

void stand_in_spoil(struct recording *recording); /* the capture will end as invalid */

/* Adds a node; takes over `operation->owned`. */
void stand_in_record(struct recording *recording, const struct operation *operation);
