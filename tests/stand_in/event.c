/* Events: a number that counts up when the stream has come to it. */
#include "tests/stand_in/runtime.h"

#include "harness/base/clock.h"

#include <stdlib.h>
#include <string.h>

struct CUevent_st {
    int references;
    bool timing;
    long recorded, reached;
    int64_t time_ns;
    uint64_t before[SIMT_STREAMS]; /* what the last record comes after, as in simt_order */
};

/* Under the lock. */
static void release_event(struct CUevent_st *event)
{
    if (--event->references == 0)
        free(event);
}

static cudaError_t run_record(struct operation *operation)
{
    struct CUevent_st *event = operation->event.event;
    long number = operation->event.number;

    stand_in_lock();
    if (number == 0)
        number = ++event->recorded;
    if (event->reached < number) {
        event->reached = number;
        event->time_ns = clock_ns();
    }
    if (operation->event.number != 0)
        release_event(event);
    stand_in_wake();
    stand_in_unlock();
    return cudaSuccess;
}

static cudaError_t run_wait(struct operation *operation)
{
    struct CUevent_st *event = operation->event.event;

    stand_in_lock();
    while (event->reached < operation->event.number) stand_in_wait();
    release_event(event);
    stand_in_unlock();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    stand_in_lock();
    if (stand_in_lost() != cudaSuccess)
        return stand_in_leave(stand_in_lost());
    *event = stand_in_must(calloc(1, sizeof **event));
    (*event)->references = 1;
    (*event)->timing = !(flags & cudaEventDisableTiming);
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    stand_in_lock();
    release_event(event);
    return stand_in_leave(cudaSuccess);
}

void stand_in_event_follow(const struct operation *node, const uint64_t *before)
{
    if (node->run == run_record)
        memcpy(node->event.event->before, before, sizeof node->event.event->before);
}

/* The stream must not be captured: without cudaEventRecordExternal that would mean another
 * thing. */
static cudaError_t put_event(cudaStream_t stream, cudaEvent_t event,
                             cudaError_t (*run)(struct operation *))
{
    struct operation operation = { .run = run };

    stand_in_lock();
    if (stream->recording != NULL)
        return stand_in_leave(cudaErrorStreamCaptureIsolation);
    if (run == run_record)
        event->recorded++;
    else
        stand_in_follow(stream, event->before);
    event->references++;
    operation.event.event = event;
    operation.event.number = event->recorded;
    stand_in_enqueue(stream, &operation);
    if (run == run_record)
        memcpy(event->before, stream->order.before, sizeof event->before);
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return put_event(stream, event, run_record);
}

/* A node of a graph has number 0: each launch makes the next record. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    struct operation operation = { .run = run_record, .event = { event, 0 } };

    stand_in_lock();
    if (stream->recording == NULL || flags != cudaEventRecordExternal)
        return stand_in_leave(cudaErrorIllegalState);
    stand_in_record(stream->recording, &operation);
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    return put_event(stream, event, run_wait);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    long number;

    stand_in_lock();
    if (stand_in_is_unsafe())
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    for (number = event->recorded; event->reached < number;) stand_in_wait();
    stand_in_host_waited(event->before);
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    stand_in_lock();
    if (stand_in_is_unsafe())
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    if (event->reached < event->recorded)
        return stand_in_leave(cudaErrorNotReady);
    stand_in_host_waited(event->before);
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    stand_in_lock();
    if (from->recorded == 0 || to->recorded == 0 || !from->timing || !to->timing)
        return stand_in_leave(cudaErrorInvalidResourceHandle);
    if (from->reached < from->recorded || to->reached < to->recorded)
        return stand_in_leave(cudaErrorNotReady);
    *ms = (float)((double)(to->time_ns - from->time_ns) / 1e6);
    return stand_in_leave(cudaSuccess);
}
