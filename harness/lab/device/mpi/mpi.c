/* MPI as what connects ranks: joining the job, and collectives made of sends and receives.
 *
 * They are made here, and not left to MPI's own, for the order of additions: MPI only advises that a
 * reduction gives the same bits each time (MPI 4.0, 6.9.1, "advice to implementors"). A sum here is always
 * that of rank 0's element, rank 1's, and so on. Long data goes round by round: every rank adds up its own part,
 * and then all take each other's, which moves as many bytes as a ring. Short data goes from each rank to each,
 * and all add it up.
 *
 * A wait is a loop of tests, with short rests after the first: the rank that is waited for may need the core.
 * sched_yield() would not do: since Linux 6.6 a thread that yields gives up its turn for milliseconds. A rank that
 * never comes must not keep the others for ever, so a wait ends with an error after a while. Where MPI itself waits for
 * all ranks, at the job's begin and its end, no call can be made to return: a watch ends the process instead. */
#include "harness/base/clock.h"
#include "harness/lab/device/cpu/arithmetic/convert.h"
#include "harness/lab/device/ranks_driver.h"

#include <mpi.h>

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUND_FLOATS =
        64 << 10, /* of a rank's part: 256 KiB, which fit a core's cache; narrow elements as many */
    SHORT_FLOATS = 1024, /* up to here one round costs less than two */
    BLOCK = 1024,        /* elements that are widened at once */
    TESTS_SPUN = 200,    /* before the thread rests between tests */
    REST_NS = 20000,
    LOOK_NS = 10000000, /* of the watch */
    TAG = 1,
};

/* Steps and what is between them take seconds at most. */
#define PATIENCE         "CHOKEPOINT_RANK_TIMEOUT"
#define PATIENCE_SECONDS 60.0
#define PATIENCE_MOST    1e9
#define COUNTED_AT_ONCE  1.0 /* s per look, at most: a job that was stopped did not wait */

struct channel {
    MPI_Comm communicator;
    pthread_mutex_t lock;
    MPI_Request *requests; /* [2 * count] */
    int *peers;            /* [2 * count], of the requests */
    float *received;       /* [count * ROUND_FLOATS] */
    float *sum;            /* [ROUND_FLOATS] */
};

static struct channel channels[RANKS_CHANNELS];
static struct ranks_place place;
static double patience = PATIENCE_SECONDS;
static char segment[256]; /* unlink_segment()'s; "": there is none */

static enum status check(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, text, &length);
        FAIL(STATUS_DEVICE_ERROR, "rank %d: %s failed: %.200s", place.rank, call, text);
    }

    return STATUS_OK;
}

/* --- The watch --- */

/* The variable in which a launcher states a rank's number. */
#ifdef OPEN_MPI
#define RANK_VARIABLE "PMIX_RANK"
#else
#define RANK_VARIABLE "PMI_RANK"
#endif

/* Over a call in which MPI waits for all ranks. */
struct watch {
    pthread_t thread;
    const char *doing;
    atomic_bool over;
};

/* The launcher then ends the other ranks. MPI tells no rank its number before all have joined. */
static _Noreturn void end_process(const struct watch *watch)
{
    const char *rank = getenv(RANK_VARIABLE);

    fprintf(stderr,
            "chokepoint: rank %s: waited %.4g s in vain for all ranks to %s the job; " PATIENCE
            " sets the time\n",
            rank != NULL ? rank : "unknown", patience, watch->doing);
    _exit(status_exit_code(STATUS_DEVICE_ERROR));
}

static double counted_since(int64_t *last_ns)
{
    int64_t now_ns = clock_ns();
    double seconds = (double)(now_ns - *last_ns) * 1e-9;

    *last_ns = now_ns;
    return fmin(seconds, COUNTED_AT_ONCE);
}

static void *keep_watch(void *context)
{
    const struct timespec rest = { .tv_nsec = LOOK_NS };
    struct watch *watch = context;
    int64_t last_ns = clock_ns();
    double waited = 0;

    while (!atomic_load(&watch->over)) {
        nanosleep(&rest, NULL);
        waited += counted_since(&last_ns);
        if (waited > patience && !atomic_load(&watch->over))
            end_process(watch);
    }
    return NULL;
}

static enum status watch_start(struct watch *watch, const char *doing)
{
    *watch = (struct watch){ .doing = doing };
    if (pthread_create(&watch->thread, NULL, keep_watch, watch) != 0)
        FAIL(STATUS_OUT_OF_MEMORY, "no thread to watch how the ranks %s the job", doing);

    return STATUS_OK;
}

static void watch_end(struct watch *watch)
{
    atomic_store(&watch->over, true);
    pthread_join(watch->thread, NULL);
}

/* --- Joining --- */

static enum status open_channel(struct channel *channel)
{
    size_t count = (size_t)place.count;

    pthread_mutex_init(&channel->lock, NULL);
    TRY(check(MPI_Comm_dup(MPI_COMM_WORLD, &channel->communicator), "MPI_Comm_dup"));
    TRY(check(MPI_Comm_set_errhandler(channel->communicator, MPI_ERRORS_RETURN),
              "MPI_Comm_set_errhandler"));
    channel->requests = calloc(2 * count, sizeof *channel->requests);
    channel->peers = calloc(2 * count, sizeof *channel->peers);
    channel->received = malloc(count * ROUND_FLOATS * sizeof *channel->received);
    channel->sum = malloc(ROUND_FLOATS * sizeof *channel->sum);
    if (channel->requests == NULL || channel->peers == NULL || channel->received == NULL ||
        channel->sum == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory to connect %d ranks", place.count);

    return STATUS_OK;
}

static enum status find_place(void)
{
    MPI_Comm local;

    TRY(check(MPI_Comm_rank(MPI_COMM_WORLD, &place.rank), "MPI_Comm_rank"));
    TRY(check(MPI_Comm_size(MPI_COMM_WORLD, &place.count), "MPI_Comm_size"));
    TRY(check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local),
              "MPI_Comm_split_type"));
    TRY(check(MPI_Comm_rank(local, &place.local_rank), "MPI_Comm_rank"));
    TRY(check(MPI_Comm_size(local, &place.local_count), "MPI_Comm_size"));
    TRY(check(MPI_Comm_free(&local), "MPI_Comm_free"));

    return STATUS_OK;
}

/* Open MPI's memory that this rank shares with those of its machine. Once all have it, its name is needed no more,
 * and would stay if the rank were killed. */
static void unlink_segment(void)
{
    static const char *const beginnings[] = { "/dev/shm/vader_segment.", "/dev/shm/sm_segment." };
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512], ending[16];

    snprintf(ending, sizeof ending, ".%d\n", place.rank);
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        char *path = strstr(line, "/dev/shm/"), *end = strrchr(line, '.');
        for (size_t i = 0; path != NULL && i < ARRAY_SIZE(beginnings); i++)
            if (strncmp(path, beginnings[i], strlen(beginnings[i])) == 0 &&
                strcmp(end, ending) == 0)
                snprintf(segment, sizeof segment, "%.*s", (int)strcspn(path, "\n"), path);
    }
    if (maps != NULL)
        fclose(maps);
    if (segment[0] != '\0')
        unlink(segment);
}

/* MPI_Finalize() unlinks it again, and complains where it is not there. */
static void restore_segment(void)
{
    int file = segment[0] != '\0' ? open(segment, O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;

    if (file >= 0)
        close(file);
}

static enum status read_patience(void)
{
    const char *text = getenv(PATIENCE);
    char *end;

    if (text == NULL || text[0] == '\0')
        return STATUS_OK;
    patience = strtod(text, &end);
    if (*end != '\0' || !(patience > 0 && patience <= PATIENCE_MOST))
        FAIL(STATUS_BAD_USAGE, PATIENCE "=%.40s: give seconds above 0", text);

    return STATUS_OK;
}

/* The workers of streams and the host call MPI at the same time. */
static enum status join_all(void)
{
    int provided = MPI_THREAD_SINGLE;

    TRY(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread"));
    if (provided < MPI_THREAD_MULTIPLE)
        FAIL(STATUS_NO_LIBRARY,
             "this MPI takes calls from one thread only; install one with MPI_THREAD_MULTIPLE");
    TRY(find_place());
    for (int i = 0; i < RANKS_CHANNELS; i++) TRY(open_channel(&channels[i]));
    TRY(check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"));

    return STATUS_OK;
}

static enum status join(struct ranks_place *found, const struct status_bridge *bridge)
{
    enum status status = STATUS_OK;
    struct watch watch;

    status_forward(bridge);
    TRY_OUT(read_patience());
    TRY_OUT(watch_start(&watch, "join"));
    status = join_all();
    watch_end(&watch);
    TRY_OUT(status);
    unlink_segment();
    *found = place;

out:
    return status;
}

static void leave(void)
{
    struct watch watch;
    bool watched = watch_start(&watch, "leave") == STATUS_OK;

    for (int i = 0; i < RANKS_CHANNELS; i++) {
        struct channel *channel = &channels[i];

        MPI_Comm_free(&channel->communicator);
        pthread_mutex_destroy(&channel->lock);
        free(channel->requests);
        free(channel->peers);
        free(channel->received);
        free(channel->sum);
        *channel = (struct channel){ 0 };
    }
    restore_segment();
    MPI_Finalize();
    if (watched)
        watch_end(&watch);
}

static void abort_all(int exit_code)
{
    MPI_Abort(MPI_COMM_WORLD, exit_code);
}

/* --- Messages --- */

/* Names those that have neither sent nor taken what was agreed. OK where all have by now. */
static enum status give_up(struct channel *channel, int count)
{
    char late[200] = "";
    int last = -1;

    for (int i = 0; i < count; i++) {
        size_t length = strlen(late);
        int done = 0;
        TRY(check(MPI_Test(&channel->requests[i], &done, MPI_STATUS_IGNORE), "MPI_Test"));
        if (!done && channel->peers[i] != last) {
            last = channel->peers[i];
            snprintf(late + length, sizeof late - length, "%s%d", length > 0 ? ", " : "", last);
        }
    }
    if (late[0] != '\0')
        FAIL(STATUS_DEVICE_ERROR, "waited %.4g s in vain for rank%s %s; " PATIENCE " sets the time",
             patience, strchr(late, ',') != NULL ? "s" : "", late);

    return STATUS_OK;
}

static enum status await(struct channel *channel, int count)
{
    const struct timespec rest = { .tv_nsec = REST_NS };
    int64_t last_ns = clock_ns();
    double waited = 0;

    for (int tests = 0;; tests++) {
        int done = 0;
        TRY(check(MPI_Testall(count, channel->requests, &done, MPI_STATUSES_IGNORE),
                  "MPI_Testall"));
        if (done)
            break;
        if (tests >= TESTS_SPUN) {
            nanosleep(&rest, NULL);
            waited += counted_since(&last_ns);
            if (waited > patience)
                TRY(give_up(channel, count));
        }
    }

    return STATUS_OK;
}

/* The bytes that a rank sends to another, and the room for those that it gets. */
struct message {
    const void *send;
    void *receive;
    size_t send_bytes, receive_bytes;
};

/* `message` says what this rank exchanges with `peer`; either way may be empty. */
typedef struct message message_fn(const void *context, int peer);

static enum status exchange(struct channel *channel, message_fn *message, const void *context)
{
    int count = 0;

    for (int step = 1; step < place.count; step++) {
        int peer = (place.rank + step) % place.count;
        struct message with = message(context, peer);
        if (with.receive_bytes > 0) {
            channel->peers[count] = peer;
            TRY(check(MPI_Irecv(with.receive, (int)with.receive_bytes, MPI_BYTE, peer, TAG,
                                channel->communicator, &channel->requests[count++]),
                      "MPI_Irecv"));
        }
        if (with.send_bytes > 0) {
            channel->peers[count] = peer;
            TRY(check(MPI_Isend(with.send, (int)with.send_bytes, MPI_BYTE, peer, TAG,
                                channel->communicator, &channel->requests[count++]),
                      "MPI_Isend"));
        }
    }
    TRY(await(channel, count));

    return STATUS_OK;
}

/* --- Collectives --- */

/* Some of the elements. */
struct part {
    int64_t first, count;
};

/* Rank `rank`'s of `ranks` parts of `count` elements: in order, and equal where they can be. */
static struct part part_of(int64_t count, int rank, int ranks)
{
    int64_t first = count * rank / ranks;

    return (struct part){ first, count * (rank + 1) / ranks - first };
}

static int64_t part_longest(int64_t count, int ranks)
{
    return (count + ranks - 1) / ranks;
}

/* At most `most` elements of the part, from its element `at` on. */
static struct part part_slice(struct part part, int64_t at, int64_t most)
{
    int64_t skipped = at < part.count ? at : part.count, left = part.count - skipped;

    return (struct part){ part.first + skipped, left < most ? left : most };
}

/* One round: `data` and the part of each rank in it, or the whole of it to and from everybody. */
struct round {
    struct channel *channel;
    char *data;
    const struct part *parts; /* [count], by rank */
    enum dtype dtype;
};

static size_t bytes_of(const struct round *round, int64_t count)
{
    return (size_t)count * dtype_bytes(round->dtype);
}

static void *received_from(const struct channel *channel, int rank)
{
    return channel->received + (size_t)rank * ROUND_FLOATS;
}

static void add_floats(const struct channel *channel, float *own, int64_t count)
{
    float *sum = channel->sum;

    for (int rank = 0; rank < place.count; rank++) {
        const float *from = rank == place.rank ? own : received_from(channel, rank);
        if (rank == 0)
            memcpy(sum, from, (size_t)count * sizeof *sum);
        else
            for (int64_t i = 0; i < count; i++) sum[i] += from[i];
    }
    memcpy(own, sum, (size_t)count * sizeof *sum);
}

/* In fp32, and rounded once. */
static void add_halves(const struct channel *channel, uint16_t *own, int64_t count,
                       enum dtype dtype)
{
    float sum[BLOCK], term[BLOCK];

    for (int64_t at = 0; at < count; at += BLOCK) {
        long block = (long)(count - at < BLOCK ? count - at : BLOCK);
        for (int rank = 0; rank < place.count; rank++) {
            const uint16_t *from = rank == place.rank ? own : received_from(channel, rank);
            convert_widen(rank == 0 ? sum : term, from + at, dtype, 1, block, block);
            for (long i = 0; rank > 0 && i < block; i++) sum[i] += term[i];
        }
        convert_narrow(own + at, sum, dtype, 1, block, block);
    }
}

/* own = the sum over ranks of what was received from them, and own in its place. */
static void add_up(const struct round *round, struct part own)
{
    void *data = round->data + bytes_of(round, own.first);

    if (round->dtype == DTYPE_F32)
        add_floats(round->channel, data, own.count);
    else
        add_halves(round->channel, data, own.count, round->dtype);
}

static struct message scatter_message(const void *context, int peer)
{
    const struct round *round = context;
    const struct part *own = &round->parts[place.rank], *theirs = &round->parts[peer];

    return (struct message){
        .send = round->data + bytes_of(round, theirs->first),
        .send_bytes = bytes_of(round, theirs->count),
        .receive = received_from(round->channel, peer),
        .receive_bytes = bytes_of(round, own->count),
    };
}

static struct message gather_message(const void *context, int peer)
{
    const struct round *round = context;
    const struct part *own = &round->parts[place.rank], *theirs = &round->parts[peer];

    return (struct message){
        .send = round->data + bytes_of(round, own->first),
        .send_bytes = bytes_of(round, own->count),
        .receive = round->data + bytes_of(round, theirs->first),
        .receive_bytes = bytes_of(round, theirs->count),
    };
}

static struct message whole_message(const void *context, int peer)
{
    const struct round *round = context;
    const struct part *own = &round->parts[place.rank];

    return (struct message){
        .send = round->data + bytes_of(round, own->first),
        .send_bytes = bytes_of(round, own->count),
        .receive = received_from(round->channel, peer),
        .receive_bytes = bytes_of(round, own->count),
    };
}

static struct message broadcast_message(const void *context, int peer)
{
    const struct round *round = context;
    const struct part *own = &round->parts[place.rank];
    size_t bytes = bytes_of(round, own->count);
    char *data = round->data + bytes_of(round, own->first);

    return (struct message){
        .send = data,
        .send_bytes = place.rank == 0 ? bytes : 0,
        .receive = data,
        .receive_bytes = peer == 0 ? bytes : 0,
    };
}

/* Every rank's part, at most ROUND_FLOATS of it at a time. */
static enum status run_parts(struct channel *channel, const struct collective *collective)
{
    enum status status = STATUS_OK;
    struct part *parts = malloc((size_t)place.count * sizeof *parts);
    struct round round = { channel, collective->data, parts, collective->dtype };
    int64_t longest = part_longest(collective->count, place.count);

    if (parts == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for the parts of %d ranks", place.count);
    for (int64_t at = 0; at < longest; at += ROUND_FLOATS) {
        for (int rank = 0; rank < place.count; rank++)
            parts[rank] =
                part_slice(part_of(collective->count, rank, place.count), at, ROUND_FLOATS);
        if (collective->kind != COLLECTIVE_ALL_GATHER) {
            TRY_OUT(exchange(channel, scatter_message, &round));
            add_up(&round, parts[place.rank]);
        }
        if (collective->kind != COLLECTIVE_REDUCE_SCATTER)
            TRY_OUT(exchange(channel, gather_message, &round));
    }

out:
    free(parts);
    return status;
}

/* The whole of the data, from each rank to each, or from the first to all. */
static enum status run_whole(struct channel *channel, const struct collective *collective)
{
    enum status status = STATUS_OK;
    bool adds = collective->kind != COLLECTIVE_BROADCAST;

    struct part *parts = calloc((size_t)place.count, sizeof *parts), *own = NULL;
    struct round round = { channel, collective->data, parts, collective->dtype };

    if (parts == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for the parts of %d ranks", place.count);
    own = &parts[place.rank];
    for (int64_t at = 0; at < collective->count; at += ROUND_FLOATS) {
        *own = part_slice((struct part){ 0, collective->count }, at, ROUND_FLOATS);
        TRY_OUT(exchange(channel, adds ? whole_message : broadcast_message, &round));
        if (adds)
            add_up(&round, *own);
    }

out:
    free(parts);
    return status;
}

/* With one of the others, as one message each way: parts of it would each wait for its counterpart. */
static struct message peer_message(const void *context, int peer)
{
    const struct collective *collective = context;
    size_t bytes = (size_t)collective->count * dtype_bytes(collective->dtype);
    bool sends = collective->kind != COLLECTIVE_RECV, takes = collective->kind != COLLECTIVE_SEND;

    if (peer != collective->peer)
        return (struct message){ 0 };
    return (struct message){
        .send = collective->data,
        .send_bytes = sends ? bytes : 0,
        .receive = sends ? collective->received : collective->data,
        .receive_bytes = takes ? bytes : 0,
    };
}

static enum status check_length(int64_t count, enum dtype dtype)
{
    if (count > INT_MAX / (int64_t)dtype_bytes(dtype))
        FAIL(STATUS_BAD_USAGE, "a message of %lld elements has more than the 2 GiB that one may",
             (long long)count);

    return STATUS_OK;
}

static enum status run_message(struct channel *channel, const struct collective *collective)
{
    TRY(check_length(collective->count, collective->dtype));
    TRY(exchange(channel, peer_message, collective));

    return STATUS_OK;
}

/* Piece `index` of each rank. */
struct pieces {
    const struct collective *collective;
    int index;
};

static struct message piece_message(const void *context, int peer)
{
    const struct pieces *pieces = context;
    const struct collective *collective = pieces->collective;
    const struct collective_piece *piece =
        &collective->pieces[peer * collective->rank_pieces + pieces->index];
    size_t element = dtype_bytes(collective->dtype);

    return (struct message){
        .send = (const char *)collective->data + (size_t)piece->sent_first * element,
        .send_bytes = (size_t)piece->sent * element,
        .receive = (char *)collective->received + (size_t)piece->received_first * element,
        .receive_bytes = (size_t)piece->received * element,
    };
}

static enum status run_all_to_all(struct channel *channel, const struct collective *collective)
{
    for (int i = 0; i < place.count * collective->rank_pieces; i++) {
        TRY(check_length(collective->pieces[i].sent, collective->dtype));
        TRY(check_length(collective->pieces[i].received, collective->dtype));
    }
    for (int i = 0; i < collective->rank_pieces; i++) {
        const struct pieces pieces = { collective, i };
        struct message own = piece_message(&pieces, place.rank);
        memcpy(own.receive, own.send, own.send_bytes);
        TRY(exchange(channel, piece_message, &pieces));
    }

    return STATUS_OK;
}

static enum status run_for_all(struct channel *channel, const struct collective *collective)
{
    bool whole = collective->kind == COLLECTIVE_BROADCAST ||
                 (collective->kind == COLLECTIVE_ALL_REDUCE && collective->count <= SHORT_FLOATS);

    return whole ? run_whole(channel, collective) : run_parts(channel, collective);
}

static enum status run(enum ranks_channel which, const struct collective *collective)
{
    enum status status = STATUS_OK;
    struct channel *channel = &channels[which];

    pthread_mutex_lock(&channel->lock);
    status = collective_has_peer(collective)             ? run_message(channel, collective)
             : collective->kind == COLLECTIVE_ALL_TO_ALL ? run_all_to_all(channel, collective)
                                                         : run_for_all(channel, collective);
    pthread_mutex_unlock(&channel->lock);
    return status;
}

struct gathering {
    char *memory;
    size_t bytes;
};

static struct message bytes_message(const void *context, int peer)
{
    const struct gathering *gathering = context;

    return (struct message){
        .send = gathering->memory + (size_t)place.rank * gathering->bytes,
        .send_bytes = gathering->bytes,
        .receive = gathering->memory + (size_t)peer * gathering->bytes,
        .receive_bytes = gathering->bytes,
    };
}

static enum status gather(enum ranks_channel which, void *memory, size_t bytes)
{
    struct channel *channel = &channels[which];
    enum status status;

    pthread_mutex_lock(&channel->lock);
    status = exchange(channel, bytes_message, &(struct gathering){ memory, bytes });
    pthread_mutex_unlock(&channel->lock);
    return status;
}

static const struct ranks_driver driver = {
    .build_id = CHOKEPOINT_BUILD_ID,
#ifdef OPEN_MPI
    .library = "Open MPI",
    .srun_option = "--mpi=pmix",
    .joins_by = RANK_VARIABLE,
#else
    .library = "MPICH",
    .srun_option = "--mpi=pmi2",
#endif
    .join = join,
    .leave = leave,
    .abort = abort_all,
    .run = run,
    .gather = gather,
};

__attribute__((visibility("default"))) ranks_driver_fn chokepoint_ranks_driver;

const struct ranks_driver *chokepoint_ranks_driver(void)
{
    return &driver;
}
