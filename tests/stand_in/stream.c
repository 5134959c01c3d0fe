/* Streams: each is a thread that works off a list. */
#include "tests/stand_in/runtime.h"

#include "harness/base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Under the lock. */
static struct CUstream_st *streams;
static uint32_t last_stream = STAND_IN_FIRST_STREAM;

/* Streams whose ids differ by SIMT_STREAMS count as one in the order of work. */
static uint64_t last_numbers[SIMT_STREAMS], host_waited[SIMT_STREAMS];

static void join(uint64_t *to, const uint64_t *from)
{
    for (int s = 0; s < SIMT_STREAMS; s++) to[s] = from[s] > to[s] ? from[s] : to[s];
}

void stand_in_follow(struct CUstream_st *stream, const uint64_t *before)
{
    join(stream->order.before, before);
}

void stand_in_host_waited(const uint64_t *before)
{
    join(host_waited, before);
}

/* The place of the next piece of work, which has `parts` more after it. */
static struct simt_order next_order(struct CUstream_st *stream, uint64_t parts)
{
    uint64_t *last = &last_numbers[stream->order.stream];
    struct simt_order order;

    stand_in_follow(stream, host_waited);
    stream->order.number = *last + 1;
    order = stream->order;
    *last += 1 + parts;
    stream->order.number = stream->order.before[stream->order.stream] = *last;
    return order;
}

cudaError_t stand_in_run(struct operation *operation, struct stand_in_work *work)
{
    cudaError_t error;

    work->start_ns = clock_ns();
    error = operation->run(operation);
    work->end_ns = clock_ns();
    stand_in_tell(work);
    return error;
}

/* STAND_IN_TROUBLE=slow:3,error:5,hangs:6: kernels and products take four times as long on GPU 3,
 * fail on GPU 5, and nothing ever ends on GPU 6. */
static bool is_troubled(const char *how, int device)
{
    const char *told = getenv("STAND_IN_TROUBLE");
    char word[32];

    snprintf(word, sizeof word, "%s:%d", how, device);
    for (size_t length; told != NULL && *told != '\0'; told += length + (told[length] == ',')) {
        length = strcspn(told, ",");
        if (length == strlen(word) && strncmp(told, word, length) == 0)
            return true;
    }
    return false;
}

static cudaError_t run_on(int device, struct operation *operation)
{
    bool is_kernel = operation->work.kind == STAND_IN_KERNEL;
    struct timespec more;
    cudaError_t error;
    int64_t ns;

    while (is_troubled("hangs", device)) pause();
    if (is_kernel && is_troubled("error", device))
        return cudaErrorLaunchFailure;
    error = stand_in_run(operation, &operation->work);
    ns = 3 * (operation->work.end_ns - operation->work.start_ns);
    more = (struct timespec){ ns / 1000000000, ns % 1000000000 };
    if (is_kernel && is_troubled("slow", device))
        nanosleep(&more, NULL);
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
        error = run_on(stream->device, operation);
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
    stand_in_host_waited(stream->order.before);
}

void stand_in_enqueue(struct CUstream_st *stream, const struct operation *operation)
{
    struct operation *queued = stand_in_must(malloc(sizeof *queued));

    *queued = *operation;
    queued->next = NULL;
    queued->order = next_order(stream, operation->parts);
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
    (*stream)->order.stream = (*stream)->id % SIMT_STREAMS;
    (*stream)->device = stand_in_device();
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
    bool done;

    stand_in_lock();
    done = stream->done == stream->submitted;
    if (done)
        stand_in_host_waited(stream->order.before);
    return stand_in_leave(done ? cudaSuccess : cudaErrorNotReady);
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
