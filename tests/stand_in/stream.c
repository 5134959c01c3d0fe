/* Streams: each is a thread that works off a list. */
#include "tests/stand_in/runtime.h"

#include "harness/base/clock.h"

#include <pthread.h>
#include <stdlib.h>

/* Under the lock. */
static struct CUstream_st *streams;
static uint32_t last_stream = STAND_IN_FIRST_STREAM;

cudaError_t stand_in_run(struct operation *operation, struct stand_in_work *work)
{
    cudaError_t error;

    work->start_ns = clock_ns();
    error = operation->run(operation);
    work->end_ns = clock_ns();
    stand_in_tell(work);
    return error;
}

static void *work(void *argument)
{
    struct CUstream_st *stream = argument;

    stand_in_lock();
    for (;;) {
        struct operation *operation = stream->first;
        cudaError_t error;
        if (operation == NULL && stream->closing)
            break;
        if (operation == NULL) {
            stand_in_wait();
            continue;
        }
        stream->first = operation->next;
        stand_in_unlock();
        error = stand_in_run(operation, &operation->work);
        free(operation->owned);
        free(operation);
        stand_in_lock();
        stand_in_lose(error);
        stream->done++;
        stand_in_wake();
    }
    stand_in_unlock();
    return NULL;
}

void stand_in_wait_until(struct CUstream_st *stream, long number)
{
    while (stream->done < number) stand_in_wait();
}

void stand_in_enqueue(struct CUstream_st *stream, const struct operation *operation)
{
    struct operation *queued = stand_in_must(malloc(sizeof *queued));

    *queued = *operation;
    queued->next = NULL;
    if (stream->first == NULL)
        stream->first = queued;
    else
        stream->last->next = queued;
    stream->last = queued;
    stream->submitted++;
    stand_in_wake();
}

cudaError_t stand_in_submit(cudaStream_t stream, const struct operation *operation)
{
    struct operation told = *operation;

    told.work.correlation = stand_in_correlation();
    told.work.stream = stream->id;
    stand_in_lock();
    if (stream->recording == NULL)
        stand_in_enqueue(stream, &told);
    else
        stand_in_record(stream->recording, &told);
    return stand_in_leave(cudaSuccess);
}

uint32_t stand_in_stream_id(cudaStream_t stream)
{
    return stream->id;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    stand_in_lock();
    if (stand_in_lost() != cudaSuccess || flags != cudaStreamNonBlocking)
        return stand_in_leave(cudaErrorInvalidValue);
    *stream = stand_in_must(calloc(1, sizeof **stream));
    (*stream)->id = last_stream++;
    (*stream)->next = streams;
    streams = *stream;
    if (pthread_create(&(*stream)->thread, NULL, work, *stream) != 0)
        abort();
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (stream->recording != NULL)
        abort();
    stand_in_lock();
    for (struct CUstream_st **link = &streams; *link != NULL; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    stand_in_forget_stream(stream);
    stream->closing = true;
    stand_in_wake();
    stand_in_unlock();
    pthread_join(stream->thread, NULL);
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    stand_in_lock();
    if (stream->recording != NULL) {
        stand_in_spoil(stream->recording);
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    }
    if (stand_in_is_unsafe())
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    stand_in_wait_until(stream, stream->submitted);
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    stand_in_lock();
    return stand_in_leave(stream->done < stream->submitted ? cudaErrorNotReady : cudaSuccess);
}

void stand_in_wait_for_all(void)
{
    for (struct CUstream_st *stream = streams; stream != NULL; stream = stream->next)
        stand_in_wait_until(stream, stream->submitted);
}

cudaError_t cudaDeviceSynchronize(void)
{
    stand_in_lock();
    if (stand_in_is_unsafe())
        return stand_in_leave(cudaErrorStreamCaptureUnsupported);
    stand_in_wait_for_all();
    return stand_in_leave(cudaSuccess);
}
