/* Communication between GPUs by NCCL. Each collective of the program becomes one call of NCCL, or a
 * group of sends and receives. All calls are made under one lock, since NCCL takes one at a time
 * for a communicator. A failure aborts the communicator and is kept: every later call and every
 * wait returns it.
 *
 * Destroying a communicator may wait for ranks that have died, so a thread of its own does it, and
 * is left behind when it takes too long. */
#include "harness/device/cuda/cuda_collective.h"

#include "harness/base/clock.h"
#include "harness/device/cuda/cuda.h"
#include "harness/device/cuda/cuda_memory.h"
#include "harness/device/cuda/cupti/cupti_collector.h"
#include "harness/device/cuda/cupti/cupti_records.h"
#include "harness/device/cuda/libraries/nccl.h"
#include "harness/device/plugin/phase_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    LOOK_NS = 100000000, /* between two looks for an error */
    DESTROY_SECONDS = 10,
};

struct collectives {
    const struct nccl *nccl;
    struct ranks_place place;

    pthread_mutex_t lock; /* of what follows, and NCCL takes one call at a time */
    nccl_comm comm;       /* NULL: aborted */
    struct status_error failure;
    atomic_bool failed;

    pthread_t watch;
    bool watched, closing;
    pthread_cond_t closes;
};

#define NCCL(call)     TRY(nccl_check(collectives->nccl, collectives->nccl->call, #call))
#define NCCL_OUT(call) TRY_OUT(nccl_check(collectives->nccl, collectives->nccl->call, #call))

/* --- Opening --- */

enum status collectives_check_gpus(int ranks, int first, int gpus)
{
    if (first + ranks > gpus)
        FAIL(STATUS_NO_DEVICE,
             "cuda: each of %d ranks takes a GPU of its own, cuda:%d to cuda:%d, and there %s %d; "
             "start fewer ranks, or show them more GPUs (CUDA_VISIBLE_DEVICES)",
             ranks, first, first + ranks - 1, gpus == 1 ? "is" : "are", gpus);

    return STATUS_OK;
}

enum status cuda_check_ranks(struct device *device, int ranks)
{
    const struct device_properties *properties = &device->properties;
    const struct nccl *nccl;

    TRY(collectives_check_gpus(ranks, properties->index, properties->peers + 1));
    TRY(nccl_load(&nccl));

    return STATUS_OK;
}

/* MPI tells what the first rank's NCCL made. */
static enum status take_id(struct nccl_id *id, const struct collectives *collectives,
                           const struct ranks_driver *ranks)
{
    enum status status = STATUS_OK;
    struct nccl_id *all = calloc((size_t)collectives->place.count, sizeof *all);

    if (all == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for NCCL's id on %d ranks",
                 collectives->place.count);
    if (collectives->place.rank == 0)
        NCCL_OUT(ncclGetUniqueId(&all[0]));
    TRY_OUT(ranks->gather(RANKS_DEVICES, all, sizeof *all));
    *id = all[0];

out:
    free(all);
    return status;
}

static struct timespec from_now(clockid_t clock, int64_t ns)
{
    struct timespec time;

    clock_gettime(clock, &time);
    ns += time.tv_nsec;
    time.tv_sec += ns / 1000000000;
    time.tv_nsec = ns % 1000000000;
    return time;
}

/* Under the lock: the first failure stays, and the communicator ends, with all that runs on it. */
static void give_up(struct collectives *collectives)
{
    if (collectives->comm == NULL)
        return;
    collectives->failure = *status_last();
    atomic_store(&collectives->failed, true);
    collectives->nccl->ncclCommAbort(collectives->comm);
    collectives->comm = NULL;
}

/* An error that NCCL noticed after its calls had returned, such as a rank that died. */
static enum status look(const struct collectives *collectives)
{
    enum nccl_result error = NCCL_SUCCESS;

    NCCL(ncclCommGetAsyncError(collectives->comm, &error));
    /* Work that is not done yet is no error. */
    if (error != NCCL_IN_PROGRESS)
        TRY(nccl_check(collectives->nccl, error, "a collective of the ranks"));

    return STATUS_OK;
}

/* Looks for errors while no call is made: a rank would wait for ever for one that died. */
static void *watch(void *context)
{
    struct collectives *collectives = context;

    pthread_mutex_lock(&collectives->lock);
    while (!collectives->closing && collectives->comm != NULL) {
        struct timespec next = from_now(CLOCK_MONOTONIC, LOOK_NS);
        pthread_cond_timedwait(&collectives->closes, &collectives->lock, &next);
        if (collectives->comm != NULL && look(collectives) != STATUS_OK)
            give_up(collectives);
    }
    pthread_mutex_unlock(&collectives->lock);
    return NULL;
}

enum status collectives_open(struct collectives **opened, struct cuda_device *device,
                             const struct driver_host *host)
{
    enum status status = STATUS_OK;
    struct collectives *collectives = NULL;
    pthread_condattr_t monotonic;
    struct nccl_id id;
    nccl_comm comm;

    *opened = NULL;
    if (host->ranks == NULL)
        goto out;
    collectives = calloc(1, sizeof *collectives);
    if (collectives == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a communicator (%zu bytes)",
                 sizeof *collectives);
    collectives->place = host->place;
    pthread_mutex_init(&collectives->lock, NULL);
    pthread_condattr_init(&monotonic);
    /* A wall clock that is set would end or prolong the watch's waits. */
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&collectives->closes, &monotonic);
    pthread_condattr_destroy(&monotonic);
    TRY_OUT(nccl_load(&collectives->nccl));
    TRY_OUT(take_id(&id, collectives, host->ranks));
    TRY_OUT(cuda_enter(device));
    NCCL_OUT(ncclCommInitRank(&comm, host->place.count, id, host->place.rank));
    collectives->comm = comm;
    if (pthread_create(&collectives->watch, NULL, watch, collectives) != 0)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no thread to watch the communication of the ranks");
    collectives->watched = true;
    *opened = collectives;
    collectives = NULL;

out:
    collectives_close(collectives);
    return status;
}

/* --- Closing --- */

static void *destroy(void *context)
{
    struct collectives *collectives = context;

    collectives->nccl->ncclCommDestroy(collectives->comm);
    return NULL;
}

/* NCCL may wait for the other ranks here. If one of them has failed, or this one, they do not come:
 * then the communicator is left to the end of the process, which is near. False: it was left. */
static bool destroy_in_time(struct collectives *collectives)
{
    pthread_t thread;
    struct timespec latest = from_now(CLOCK_REALTIME, DESTROY_SECONDS * INT64_C(1000000000));

    if (pthread_create(&thread, NULL, destroy, collectives) != 0)
        return false;
    if (pthread_timedjoin_np(thread, NULL, &latest) == 0)
        return true;
    pthread_detach(thread);
    return false;
}

void collectives_close(struct collectives *collectives)
{
    if (collectives == NULL)
        return;
    if (collectives->watched) {
        pthread_mutex_lock(&collectives->lock);
        collectives->closing = true;
        pthread_cond_signal(&collectives->closes);
        pthread_mutex_unlock(&collectives->lock);
        pthread_join(collectives->watch, NULL);
    }
    /* On a device that failed, nothing that NCCL has queued will end. */
    if (collectives->comm != NULL && cudaDeviceSynchronize() != cudaSuccess)
        collectives->nccl->ncclCommAbort(collectives->comm);
    else if (collectives->comm != NULL && !destroy_in_time(collectives))
        return;
    pthread_cond_destroy(&collectives->closes);
    pthread_mutex_destroy(&collectives->lock);
    free(collectives);
}

enum status collectives_check(struct collectives *collectives)
{
    return collectives != NULL && atomic_load(&collectives->failed)
               ? status_raise(&collectives->failure)
               : STATUS_OK;
}

/* --- Communicating --- */

static const char *const names[] = {
#define NAME(id, name) [COLLECTIVE_##id] = name,
    COLLECTIVES(NAME)
#undef NAME
};

static const int types[DTYPE_COUNT] = {
    [DTYPE_F32] = NCCL_FLOAT32,
    [DTYPE_BF16] = NCCL_BFLOAT16,
    [DTYPE_F16] = NCCL_FLOAT16,
};

/* Both sides know where nothing goes. */
static enum status queue_piece(struct collectives *collectives, const struct collective *collective,
                               int peer, const struct collective_piece *piece, cudaStream_t stream)
{
    int type = types[collective->dtype];
    size_t element = dtype_bytes(collective->dtype);
    const char *data = collective->data;
    char *received = collective->received;

    if (piece->sent > 0)
        NCCL(ncclSend(data + (size_t)piece->sent_first * element, (size_t)piece->sent, type, peer,
                      collectives->comm, stream));
    if (piece->received > 0)
        NCCL(ncclRecv(received + (size_t)piece->received_first * element, (size_t)piece->received,
                      type, peer, collectives->comm, stream));

    return STATUS_OK;
}

static enum status queue_pieces(struct collectives *collectives,
                                const struct collective *collective, cudaStream_t stream)
{
    const struct collective_piece both = { .sent = collective->count,
                                           .received = collective->count };
    int count = collective->rank_pieces;

    if (collective->kind == COLLECTIVE_SEND_RECV)
        return queue_piece(collectives, collective, collective->peer, &both, stream);
    for (int i = 0; i < collectives->place.count * count; i++)
        TRY(queue_piece(collectives, collective, i / count, &collective->pieces[i], stream));

    return STATUS_OK;
}

/* Under the lock. A group that was begun is ended even after a failure, or all later calls would
 * belong to it. */
static enum status queue_group(struct collectives *collectives, const struct collective *collective,
                               cudaStream_t stream)
{
    enum status status;
    enum nccl_result ended;

    NCCL(ncclGroupStart());
    status = queue_pieces(collectives, collective, stream);
    ended = collectives->nccl->ncclGroupEnd();
    return status != STATUS_OK ? status : nccl_check(collectives->nccl, ended, "ncclGroupEnd()");
}

/* Under the lock. In place: NCCL recognises this if a rank's part lies at its place in the whole
 * buffer. */
static enum status queue(struct collectives *collectives, const struct collective *collective,
                         cudaStream_t stream)
{
    nccl_comm comm = collectives->comm;
    void *data = collective->data, *part;
    size_t count = (size_t)collective->count, part_count = count / (size_t)collectives->place.count;
    size_t part_bytes = part_count * dtype_bytes(collective->dtype);
    int type = types[collective->dtype];

    part = (char *)data + (size_t)collectives->place.rank * part_bytes;
    switch (collective->kind) {
    case COLLECTIVE_ALL_REDUCE:
        NCCL(ncclAllReduce(data, data, count, type, NCCL_SUM, comm, stream));
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        NCCL(ncclReduceScatter(data, part, part_count, type, NCCL_SUM, comm, stream));
        break;
    case COLLECTIVE_ALL_GATHER:
        NCCL(ncclAllGather(part, data, part_count, type, comm, stream));
        break;
    case COLLECTIVE_BROADCAST:
        NCCL(ncclBroadcast(data, data, count, type, 0, comm, stream));
        break;
    case COLLECTIVE_SEND:
        NCCL(ncclSend(data, count, type, collective->peer, comm, stream));
        break;
    case COLLECTIVE_RECV:
        NCCL(ncclRecv(data, count, type, collective->peer, comm, stream));
        break;
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_SEND_RECV:
        TRY(queue_group(collectives, collective, stream));
        break;
    case COLLECTIVE_COUNT:
        break;
    }

    return STATUS_OK;
}

static enum status check_memory(struct cuda_device *device, const struct collective *collective,
                                const void *data, int64_t count)
{
    size_t bytes = (size_t)count * dtype_bytes(collective->dtype);

    if (regions_kind(cuda_memory_regions(device->memory), data, bytes) != ACTIVITY_MEMORY_DEVICE)
        FAIL(STATUS_BAD_USAGE, "collective: its data is no memory of device %d",
             device->base.properties.index);

    return STATUS_OK;
}

enum status cuda_collective(struct stream *base, const struct collective *collective)
{
    enum status status = STATUS_OK;
    struct cuda_stream *stream = (struct cuda_stream *)base;
    struct cuda_device *device = (struct cuda_device *)base->device;
    struct collectives *collectives = device->collectives;
    int64_t start_ns;

    TRY_OUT(cuda_enter(device));
    TRY_OUT(check_memory(device, collective, collective->data, collective->count));
    if (collective->kind == COLLECTIVE_SEND_RECV)
        TRY_OUT(check_memory(device, collective, collective->received, collective->count));
    if (collective->kind == COLLECTIVE_ALL_TO_ALL)
        TRY_OUT(check_memory(device, collective, collective->received,
                             collective_received(collective, collectives->place.count)));
    TRY_OUT(capture_allows(&stream->capture, stream->id));
    pthread_mutex_lock(&collectives->lock);
    start_ns = device->records ? clock_ns() : 0;
    status = collectives->comm != NULL ? queue(collectives, collective, stream->handle)
                                       : status_raise(&collectives->failure);
    if (status != STATUS_OK)
        give_up(collectives);
    else if (device->records) {
        /* NCCL's kernels are recorded by CUPTI, which knows nothing of messages: those of this call
         * are found by its time. */
        const struct cupti_message message = {
            .start_ns = start_ns,
            .end_ns = clock_ns(),
            .thread = phase_stack_thread(),
            .name = names[collective->kind],
            .bytes = (int64_t)((size_t)collective->count * dtype_bytes(collective->dtype)),
            .dtype = collective->dtype,
        };

        cupti_collector_note(&message);
    }
    pthread_mutex_unlock(&collectives->lock);

out:
    return status;
}
