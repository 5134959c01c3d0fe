/* A library that the device takes for NCCL, over the stand-in for CUDA. The ranks may be processes:
 * an operation on a stream exchanges its data through a file that all of them have mapped, and
 * NCCL's id is the path of that file. Sums are added in the order of ranks, as the CPU device adds
 * them; the real NCCL promises no order.
 *
 * It is as strict as NCCL's manual: all ranks must come with the same calls in the same order, in
 * place means that a rank's part is at its place in the whole, an end waits for all ranks. Who
 * breaks a rule ends with a sentence. A send waits until its receiver has taken everything, as a
 * long one does in NCCL: two ranks that both send first wait for ever, unless a group has their
 * receives as well.
 *
 * STAND_IN_NCCL_LOG=PATH: each call is a line of PATH.RANK, with its count, or the GPU.
 * STAND_IN_NCCL=WHAT makes the library fail, on the rank STAND_IN_NCCL_RANK alone where that is
 * given:
 *
 *     id, init, call   ncclGetUniqueId(), ncclCommInitRank(), the second collective
 *     async            the second collective never ends by itself; who asks gets its error
 *     destroy          ncclCommDestroy() does not return */
#include "harness/device/cuda/libraries/nccl.h"
#include "harness/device/cpu/arithmetic/convert.h"
#include "tests/stand_in/stand_in.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 1 << 14, RANKS_MOST = 16 };

enum kind { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, MESSAGE };

static const struct {
    const char *call, *kernel;
} kinds[] = {
    [ALL_REDUCE] = { "ncclAllReduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL" },
    [REDUCE_SCATTER] = { "ncclReduceScatter", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL" },
    [ALL_GATHER] = { "ncclAllGather", "ncclDevKernel_AllGather_RING_LL" },
    [BROADCAST] = { "ncclBroadcast", "ncclDevKernel_Broadcast_RING_LL" },
    [MESSAGE] = { NULL, "ncclDevKernel_SendRecv" }, /* its two calls are named by themselves */
};

/* On its way from one rank to another: a part of a message. */
struct mail {
    atomic_bool full;
    int type;
    size_t count; /* of the whole */
    float data[CHUNK];
};

/* The file that all ranks have mapped. */
struct shared {
    atomic_uint arrived, turn;
    struct {
        int kind, type, root, unused;
        size_t count;
    } said[RANKS_MOST];
    float slots[RANKS_MOST][CHUNK];            /* narrow elements leave half of them empty */
    struct mail mails[RANKS_MOST][RANKS_MOST]; /* by sender and receiver */
};

struct nccl_communicator {
    int rank, ranks, calls;
    struct shared *shared;
    atomic_bool aborted, failed;
    atomic_int running;
    struct nccl_communicator *next; /* of those that were aborted, whose work may still be queued */
};

static struct nccl_communicator *aborted;

#define DECLARE(symbol, parameters)                                                                \
    __attribute__((visibility("default"))) enum nccl_result symbol parameters;
NCCL_CALLS(DECLARE)
#undef DECLARE
__attribute__((visibility("default"))) const char *ncclGetErrorString(enum nccl_result result);
__attribute__((visibility("default"))) const char *ncclGetLastError(nccl_comm comm);

static void require(bool holds, const char *rule)
{
    if (holds)
        return;
    fprintf(stderr, "stand-in for NCCL: %s\n", rule);
    abort();
}

static bool is_told(const char *what, int rank)
{
    const char *told = getenv("STAND_IN_NCCL"), *only = getenv("STAND_IN_NCCL_RANK");

    return told != NULL && strcmp(told, what) == 0 && (only == NULL || atoi(only) == rank);
}

static void note(int rank, const char *call, size_t number)
{
    const char *prefix = getenv("STAND_IN_NCCL_LOG");
    char path[256];
    FILE *file;

    if (prefix == NULL)
        return;
    snprintf(path, sizeof path, "%s.%d", prefix, rank);
    file = fopen(path, "a");
    require(file != NULL, "the log cannot be written");
    fprintf(file, "%s %zu\n", call, number);
    fclose(file);
}

/* The stand-in for CUDA's, which has loaded this library. */
static void *of_cuda(const char *symbol)
{
    void *plugin = dlopen("libchokepoint_cuda.so", RTLD_LAZY | RTLD_NOLOAD), *found = NULL;

    if (plugin != NULL) {
        found = dlsym(plugin, symbol);
        dlclose(plugin);
    }
    require(found != NULL, "there is no stand-in for CUDA");
    return found;
}

static void rest(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
}

/* False: the communicator was aborted. */
static bool meet(struct nccl_communicator *comm)
{
    struct shared *shared = comm->shared;
    unsigned turn = atomic_load(&shared->turn);

    if (atomic_fetch_add(&shared->arrived, 1) + 1 == (unsigned)comm->ranks) {
        atomic_store(&shared->arrived, 0);
        atomic_fetch_add(&shared->turn, 1);
        return true;
    }
    while (atomic_load(&shared->turn) == turn) {
        if (atomic_load(&comm->aborted))
            return false;
        rest();
    }
    return true;
}

/* --- Collectives, on the thread of a stream --- */

static size_t least(size_t left)
{
    return left < CHUNK ? left : CHUNK;
}

static enum dtype dtype_of(int type)
{
    return type == NCCL_FLOAT32 ? DTYPE_F32 : type == NCCL_BFLOAT16 ? DTYPE_BF16 : DTYPE_F16;
}

static size_t bytes_of(const struct operation *operation, size_t count)
{
    return count * dtype_bytes(dtype_of(operation->collective.type));
}

static float get(const void *slot, size_t i, enum dtype dtype)
{
    float value;

    if (dtype == DTYPE_F32)
        return ((const float *)slot)[i];
    convert_widen(&value, (const uint16_t *)slot + i, dtype, 1, 1, 1);
    return value;
}

static void add_up(const struct operation *operation, void *to, size_t count)
{
    const struct nccl_communicator *comm = operation->collective.comm;
    enum dtype dtype = dtype_of(operation->collective.type);

    for (size_t i = 0; i < count; i++) {
        float sum = get(comm->shared->slots[0], i, dtype);
        for (int rank = 1; rank < comm->ranks; rank++)
            sum += get(comm->shared->slots[rank], i, dtype);
        if (dtype == DTYPE_F32)
            ((float *)to)[i] = sum;
        else
            convert_narrow((uint16_t *)to + i, &sum, dtype, 1, 1, 1);
    }
}

/* Puts `count` elements of all ranks, from their slots, to their places; `part` is whose part they
 * are. */
static void take(const struct operation *operation, int part, size_t at, size_t count)
{
    const struct nccl_communicator *comm = operation->collective.comm;
    char *to = operation->collective.receive + bytes_of(operation, at);
    size_t part_bytes = bytes_of(operation, operation->collective.count);

    switch ((enum kind)operation->collective.kind) {
    case ALL_REDUCE:
        add_up(operation, to, count);
        break;
    case REDUCE_SCATTER:
        if (part == comm->rank)
            add_up(operation, to, count);
        break;
    case ALL_GATHER:
        for (int rank = 0; rank < comm->ranks; rank++)
            memcpy(to + (size_t)rank * part_bytes, comm->shared->slots[rank],
                   bytes_of(operation, count));
        break;
    case BROADCAST:
        memcpy(to, comm->shared->slots[operation->collective.root], bytes_of(operation, count));
        break;
    case MESSAGE:
        break;
    }
}

static bool exchange(const struct operation *operation)
{
    struct nccl_communicator *comm = operation->collective.comm;
    size_t count = operation->collective.count;
    int parts = operation->collective.kind == REDUCE_SCATTER ? comm->ranks : 1;

    for (int part = 0; part < parts; part++)
        for (size_t at = 0; at < count; at += CHUNK) {
            memcpy(comm->shared->slots[comm->rank],
                   operation->collective.send + bytes_of(operation, (size_t)part * count + at),
                   bytes_of(operation, least(count - at)));
            if (!meet(comm))
                return false;
            take(operation, part, at, least(count - at));
            if (!meet(comm))
                return false;
        }
    return true;
}

static bool agree(const struct operation *operation)
{
    struct nccl_communicator *comm = operation->collective.comm;
    struct shared *shared = comm->shared;

    shared->said[comm->rank].kind = operation->collective.kind;
    shared->said[comm->rank].type = operation->collective.type;
    shared->said[comm->rank].root = operation->collective.root;
    shared->said[comm->rank].count = operation->collective.count;
    if (!meet(comm))
        return false;
    for (int rank = 0; rank < comm->ranks; rank++)
        require(memcmp(&shared->said[rank], &shared->said[comm->rank], sizeof shared->said[0]) == 0,
                "the ranks do not call the same");
    return meet(comm);
}

/* --- Messages --- */

/* Each moves a part if the mail is ready for it, and says whether all have been moved. */
static bool send_part(const struct operation *operation, const struct stand_in_message *message,
                      struct mail *mail, size_t *at)
{
    size_t count = message->count, part = least(count - *at);

    if (atomic_load(&mail->full) || *at == count)
        return !atomic_load(&mail->full);
    mail->type = operation->collective.type;
    mail->count = count;
    memcpy(mail->data, message->send + bytes_of(operation, *at), bytes_of(operation, part));
    *at += part;
    atomic_store(&mail->full, true);
    return false;
}

static bool take_part(const struct operation *operation, const struct stand_in_message *message,
                      struct mail *mail, size_t *at)
{
    size_t count = message->count, part = least(count - *at);

    if (!atomic_load(&mail->full) || *at == count)
        return *at == count;
    require(mail->type == operation->collective.type && mail->count == count,
            "a message is sent and received as different ones");
    memcpy(message->receive + bytes_of(operation, *at), mail->data, bytes_of(operation, part));
    *at += part;
    atomic_store(&mail->full, false);
    return *at == count;
}

static bool move_part(const struct operation *operation, const struct stand_in_message *message,
                      size_t *at)
{
    const struct nccl_communicator *comm = operation->collective.comm;
    struct shared *shared = comm->shared;

    return message->send != NULL
               ? send_part(operation, message, &shared->mails[comm->rank][message->peer], at)
               : take_part(operation, message, &shared->mails[message->peer][comm->rank], at);
}

/* Messages of one direction to one peer go one after another. */
static bool is_behind(const struct stand_in_message *messages, const bool *done, int index)
{
    for (int i = 0; i < index; i++)
        if (!done[i] && messages[i].peer == messages[index].peer &&
            (messages[i].send == NULL) == (messages[index].send == NULL))
            return true;
    return false;
}

static void pass_messages(const struct operation *operation)
{
    const struct stand_in_message *messages = operation->collective.messages;
    int count = operation->collective.message_count, left = count;
    bool done[STAND_IN_MESSAGES] = { false };
    size_t at[STAND_IN_MESSAGES] = { 0 };

    while (left > 0 && !atomic_load(&operation->collective.comm->aborted)) {
        for (int i = 0; i < count; i++)
            if (!done[i] && !is_behind(messages, done, i)) {
                done[i] = move_part(operation, &messages[i], &at[i]);
                left -= done[i];
            }
        if (left > 0)
            rest();
    }
}

/* Memory that is read or written. */
static cudaError_t use(const struct operation *operation, const void *memory, size_t bytes,
                       bool store)
{
    cudaError_t (*found)(const struct operation *, const void *, size_t, bool);

    *(void **)&found = of_cuda("stand_in_use");
    return found(operation, memory, bytes, store);
}

static cudaError_t use_messages(const struct operation *operation)
{
    cudaError_t error = cudaSuccess;

    for (int i = 0; i < operation->collective.message_count && error == cudaSuccess; i++) {
        const struct stand_in_message *message = &operation->collective.messages[i];
        bool sent = message->send != NULL;
        error = use(operation, sent ? message->send : message->receive,
                    bytes_of(operation, message->count), !sent);
    }
    return error;
}

/* Uses the memory that the collective reads and writes. */
static cudaError_t use_memory(const struct operation *operation)
{
    const struct nccl_communicator *comm = operation->collective.comm;
    size_t bytes = bytes_of(operation, operation->collective.count),
           all = bytes * (size_t)comm->ranks;
    enum kind kind = (enum kind)operation->collective.kind;
    cudaError_t error;

    if (kind == MESSAGE)
        return use_messages(operation);
    error = use(operation, operation->collective.send, kind == REDUCE_SCATTER ? all : bytes, false);
    return error != cudaSuccess ? error
                                : use(operation, operation->collective.receive,
                                      kind == ALL_GATHER ? all : bytes, true);
}

static cudaError_t run_collective(struct operation *operation)
{
    struct nccl_communicator *comm = operation->collective.comm;
    cudaError_t error = use_memory(operation);

    atomic_fetch_add(&comm->running, 1);
    while (atomic_load(&comm->failed) && !atomic_load(&comm->aborted)) rest();
    if (operation->collective.kind == MESSAGE)
        pass_messages(operation);
    else if (!atomic_load(&comm->aborted) && agree(operation))
        exchange(operation);
    atomic_fetch_sub(&comm->running, 1);
    return error;
}

static enum nccl_result submit_operation(struct operation *operation, cudaStream_t stream)
{
    struct nccl_communicator *comm = operation->collective.comm;
    enum kind kind = (enum kind)operation->collective.kind;
    int type = operation->collective.type;
    cudaError_t (*submit)(cudaStream_t, const struct operation *);
    struct stand_in_call (*begin)(const char *, bool);
    void (*end)(struct stand_in_call *);
    struct stand_in_call call;
    cudaError_t error;

    require(!atomic_load(&comm->aborted), "a communicator is used after its end");
    require(type == NCCL_FLOAT32 || type == NCCL_BFLOAT16 || type == NCCL_FLOAT16,
            "the type is none of a gradient");
    if (kind != MESSAGE)
        note(comm->rank, kinds[kind].call, operation->collective.count);
    comm->calls++;
    if (comm->calls == 2 && is_told("call", comm->rank))
        return NCCL_INTERNAL_ERROR;
    if (comm->calls == 2 && is_told("async", comm->rank))
        atomic_store(&comm->failed, true);
    operation->run = run_collective;
    operation->work = (struct stand_in_work){
        .kind = STAND_IN_KERNEL, .name = kinds[kind].kernel, .grid = 1, .block = 96
    };
    *(void **)&submit = of_cuda("stand_in_submit");
    *(void **)&begin = of_cuda("stand_in_begin");
    *(void **)&end = of_cuda("stand_in_end");
    call = begin("cuLaunchKernel", true);
    error = submit(stream, operation);
    end(&call);
    return error == cudaSuccess ? NCCL_SUCCESS : NCCL_UNHANDLED_CUDA_ERROR;
}

static enum nccl_result queue(enum kind kind, const void *send, void *receive, size_t count,
                              int type, int root, nccl_comm comm, cudaStream_t stream)
{
    struct operation operation = { .run = run_collective };

    operation.collective.comm = comm;
    operation.collective.send = send;
    operation.collective.receive = receive;
    operation.collective.count = count;
    operation.collective.kind = (int)kind;
    operation.collective.type = type;
    operation.collective.root = root;
    return submit_operation(&operation, stream);
}

/* Whether `part` is at the rank's place in the whole. */
static bool is_part(const void *whole, const void *part, size_t count, int type, int rank)
{
    return (const char *)whole + (size_t)rank * count * dtype_bytes(dtype_of(type)) == part;
}

enum nccl_result ncclAllReduce(const void *send, void *receive, size_t count, int type,
                               int operation, nccl_comm comm, cudaStream_t stream)
{
    require(send == receive && operation == NCCL_SUM, "an all-reduce in place adds up");
    return queue(ALL_REDUCE, send, receive, count, type, 0, comm, stream);
}

enum nccl_result ncclReduceScatter(const void *send, void *receive, size_t count, int type,
                                   int operation, nccl_comm comm, cudaStream_t stream)
{
    require(is_part(send, receive, count, type, comm->rank) && operation == NCCL_SUM,
            "a reduce-scatter in place adds up at the part of the rank");
    return queue(REDUCE_SCATTER, send, receive, count, type, 0, comm, stream);
}

enum nccl_result ncclAllGather(const void *send, void *receive, size_t count, int type,
                               nccl_comm comm, cudaStream_t stream)
{
    require(is_part(receive, send, count, type, comm->rank),
            "an all-gather in place takes the part of the rank");
    return queue(ALL_GATHER, send, receive, count, type, 0, comm, stream);
}

/* The group of the calling thread, whose messages are one operation. */
static _Thread_local struct {
    bool open;
    cudaStream_t stream;
    struct operation operation; /* without a communicator it is empty */
} group;

static void add_message(struct operation *operation, const struct stand_in_message *message,
                        int type, nccl_comm comm)
{
    int *count = &operation->collective.message_count;

    require(*count < STAND_IN_MESSAGES, "a group has more messages than there is room for");
    operation->collective.comm = comm;
    operation->collective.kind = MESSAGE;
    operation->collective.type = type;
    operation->collective.messages[(*count)++] = *message;
}

static enum nccl_result pass(const void *send, void *receive, size_t count, int type, int peer,
                             nccl_comm comm, cudaStream_t stream)
{
    const struct stand_in_message message = { send, receive, count, peer };
    struct operation alone = { .run = run_collective };
    struct nccl_communicator *first = group.operation.collective.comm;

    require(peer >= 0 && peer < comm->ranks && (group.open || peer != comm->rank),
            "a message has another rank, or both of its ends in a group");
    if (!group.open) {
        add_message(&alone, &message, type, comm);
        return submit_operation(&alone, stream);
    }
    require(first == NULL || (first == comm && group.operation.collective.type == type &&
                              group.stream == stream),
            "a group has messages of one type on one stream");
    add_message(&group.operation, &message, type, comm);
    group.stream = stream;
    return NCCL_SUCCESS;
}

enum nccl_result ncclSend(const void *send, size_t count, int type, int peer, nccl_comm comm,
                          cudaStream_t stream)
{
    note(comm->rank, "ncclSend", count);
    return pass(send, NULL, count, type, peer, comm, stream);
}

enum nccl_result ncclRecv(void *receive, size_t count, int type, int peer, nccl_comm comm,
                          cudaStream_t stream)
{
    note(comm->rank, "ncclRecv", count);
    return pass(NULL, receive, count, type, peer, comm, stream);
}

enum nccl_result ncclGroupStart(void)
{
    require(!group.open, "a group is begun within another");
    memset(&group, 0, sizeof group);
    group.open = true;
    return NCCL_SUCCESS;
}

enum nccl_result ncclGroupEnd(void)
{
    require(group.open, "a group ends that was not begun");
    group.open = false;
    return group.operation.collective.comm == NULL
               ? NCCL_SUCCESS
               : submit_operation(&group.operation, group.stream);
}

#ifndef LACKING
enum nccl_result ncclBroadcast(const void *send, void *receive, size_t count, int type, int root,
                               nccl_comm comm, cudaStream_t stream)
{
    require(send == receive, "a broadcast in place has one address");
    return queue(BROADCAST, send, receive, count, type, root, comm, stream);
}
#endif

/* --- Communicators --- */

enum nccl_result ncclGetUniqueId(struct nccl_id *id)
{
    const char *folder = getenv("TMPDIR");
    int file;

    if (is_told("id", 0))
        return NCCL_SYSTEM_ERROR;
    memset(id, 0, sizeof *id);
    snprintf(id->bytes, sizeof id->bytes, "%s/nccl.XXXXXX", folder != NULL ? folder : "/tmp");
    file = mkstemp(id->bytes);
    require(file >= 0 && ftruncate(file, sizeof(struct shared)) == 0, "there is no file to share");
    close(file);
    note(0, "ncclGetUniqueId", 0);
    return NCCL_SUCCESS;
}

enum nccl_result ncclCommInitRank(nccl_comm *result, int ranks, struct nccl_id id, int rank)
{
    struct nccl_communicator *comm = calloc(1, sizeof *comm);
    int file = open(id.bytes, O_RDWR | O_CLOEXEC), (*device)(void);
    bool is_gone = file < 0 && errno == ENOENT;

    *(void **)&device = of_cuda("stand_in_device");
    note(rank, "ncclCommInitRank", (size_t)device());
    if (is_told("init", rank)) {
        free(comm);
        unlink(id.bytes);
        return NCCL_SYSTEM_ERROR;
    }
    /* Another rank has failed and is about to end all: NCCL waits for it, too. */
    while (is_gone) rest();
    require(comm != NULL && file >= 0 && rank >= 0 && rank < ranks && ranks <= RANKS_MOST,
            "a rank has another id, or no place");
    comm->rank = rank;
    comm->ranks = ranks;
    comm->shared = mmap(NULL, sizeof *comm->shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    require(comm->shared != MAP_FAILED, "the file cannot be mapped");
    close(file);
    meet(comm);
    if (rank == 0)
        unlink(id.bytes);
    *result = comm;
    return NCCL_SUCCESS;
}

enum nccl_result ncclCommGetAsyncError(nccl_comm comm, enum nccl_result *error)
{
    *error = atomic_load(&comm->failed) ? NCCL_REMOTE_ERROR : NCCL_SUCCESS;
    return NCCL_SUCCESS;
}

enum nccl_result ncclCommDestroy(nccl_comm comm)
{
    note(comm->rank, "ncclCommDestroy", 0);
    while (is_told("destroy", comm->rank)) rest();
    meet(comm);
    munmap(comm->shared, sizeof *comm->shared);
    free(comm);
    return NCCL_SUCCESS;
}

/* Work that is queued still refers to it. */
enum nccl_result ncclCommAbort(nccl_comm comm)
{
    note(comm->rank, "ncclCommAbort", 0);
    atomic_store(&comm->aborted, true);
    while (atomic_load(&comm->running) > 0) rest();
    comm->next = aborted;
    aborted = comm;
    return NCCL_SUCCESS;
}

enum nccl_result ncclGetVersion(int *version)
{
    *version = 22809;
    return NCCL_SUCCESS;
}

const char *ncclGetErrorString(enum nccl_result result)
{
    return result == NCCL_SUCCESS ? "no error" : "an error of the stand-in";
}

const char *ncclGetLastError(nccl_comm comm)
{
    (void)comm;
    return "\nit was told to fail\nand did";
}
