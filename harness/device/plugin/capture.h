/* The rules of capturing a stream into a graph: those of device.h, the same on every device and
 * narrower than CUDA's.
 *
 * A capture belongs to the thread that began it, as in CUDA's thread-local mode. A thread's
 * captures are a list, because a call that is unsafe during any of them invalidates them all.
 * `stream` is the stream's number, for messages. */
#pragma once

#include "harness/base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A stream's member: the capture under way, or NULL. */
typedef _Atomic(struct capture *) capture_slot;

/* A plugin's own capture or graph holds one. */
struct capture {
    capture_slot *slot;
    struct capture *next; /* of this thread's */
    pthread_t thread;
    atomic_bool invalid;
};

/* CAPTURE: the stream is being captured already. */
enum status capture_may_begin(capture_slot *slot, uint32_t stream);
void capture_begin(struct capture *capture, capture_slot *slot);

/* CAPTURE: nobody captures the stream, or another thread does. */
enum status capture_may_end(capture_slot *slot, uint32_t stream);

/* Takes the capture off its stream and its thread's list. */
void capture_end(struct capture *capture);

/* CAPTURE: a call that was not allowed has invalidated the capture, so there is no graph. */
enum status capture_check(struct capture *capture, uint32_t stream);

/* Whether this thread captures any stream. */
bool capture_is_open(void);

/* CAPTURE, and the capture is invalid, if the stream is being captured: for calls that cannot be
 * recorded. `call` names what is not possible: "copying ... on the stream". */
enum status capture_forbids(capture_slot *slot, const char *call);

/* The same for calls that a thread may not make while it captures anything. */
enum status capture_forbids_thread(const char *call);

/* CAPTURE, and the capture is invalid, if another thread captures the stream: for calls that may be
 * recorded. */
enum status capture_allows(capture_slot *slot, uint32_t stream);
