/* MPI as what connects ranks: joining the job, and messages. mpi_collectives.c makes collectives of
 * them.
 *
 * A wait is a loop of tests, with short rests after the first: the rank that is waited for may need
 * the core. sched_yield() would not do: since Linux 6.6 a thread that yields gives up its turn for
 * milliseconds. A rank that never comes must not keep the others for ever, so a wait ends with an
 * error after a while. Where MPI itself waits for all ranks, at the job's begin and its end, no
 * call can be made to return: a watch ends the process instead. */
#include "harness/base/clock.h"
#include "harness/device/mpi/mpi_collectives.h"

#include <mpi.h>

#include <fcntl.h>
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
    TESTS_SPUN = 200, /* before the thread rests between tests */
    REST_NS = 20000,
    LOOK_NS = 10000000, /* of the watch */
    TAG = 1,
};

/* Steps and what is between them take seconds at most. */
#define PATIENCE         "CHOKEPOINT_RANK_TIMEOUT"
#define PATIENCE_SECONDS 60.0
#define PATIENCE_MOST    1e9
#define COUNTED_AT_ONCE  1.0 /* s per look, at most: a job that was stopped did not wait */

static struct channel channels[RANKS_CHANNELS];
static struct ranks_place place;
static double patience = PATIENCE_SECONDS;
static char segment[256]; /* unlink_segment()'s; "": there is none */

static enum status mpi_check(int code, const char *call)
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

/* Seconds since the last look, for a wait that has a limit. */
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

/* A communicator of its own, so that messages of two channels cannot be mistaken for each other.
 * The arrays have room for a message to and one from each rank. */
static enum status open_channel(struct channel *channel)
{
    size_t count = (size_t)place.count;

    channel->place = place;
    pthread_mutex_init(&channel->lock, NULL);
    TRY(mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &channel->communicator), "MPI_Comm_dup"));
    TRY(mpi_check(MPI_Comm_set_errhandler(channel->communicator, MPI_ERRORS_RETURN),
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

/* Open MPI's memory that this rank shares with those of its machine. Once all have it, its name is
 * needed no more, and would stay if the rank were killed. */
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

    TRY(mpi_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread"));
    if (provided < MPI_THREAD_MULTIPLE)
        FAIL(STATUS_NO_LIBRARY,
             "this MPI takes calls from one thread only; install one with MPI_THREAD_MULTIPLE");
    MPI_Comm local;

    TRY(mpi_check(MPI_Comm_rank(MPI_COMM_WORLD, &place.rank), "MPI_Comm_rank"));
    TRY(mpi_check(MPI_Comm_size(MPI_COMM_WORLD, &place.count), "MPI_Comm_size"));
    TRY(mpi_check(
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local),
        "MPI_Comm_split_type"));
    TRY(mpi_check(MPI_Comm_rank(local, &place.local_rank), "MPI_Comm_rank"));
    TRY(mpi_check(MPI_Comm_size(local, &place.local_count), "MPI_Comm_size"));
    TRY(mpi_check(MPI_Comm_free(&local), "MPI_Comm_free"));
    for (int i = 0; i < RANKS_CHANNELS; i++) TRY(open_channel(&channels[i]));
    return mpi_check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

static enum status join(struct ranks_place *found, const struct status_bridge *bridge)
{
    enum status status;
    struct watch watch;

    status_forward(bridge);
    TRY(read_patience());
    TRY(watch_start(&watch, "join"));
    status = join_all();
    watch_end(&watch);
    TRY(status);
    unlink_segment();
    *found = place;

    return STATUS_OK;
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
    /* MPI_Finalize() unlinks it again, and complains where it is not there. */
    int file = segment[0] != '\0' ? open(segment, O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (file >= 0)
        close(file);
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
        TRY(mpi_check(MPI_Test(&channel->requests[i], &done, MPI_STATUS_IGNORE), "MPI_Test"));
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

/* If give_up() finds that all have come meanwhile, the next test sees it too. */
static enum status await(struct channel *channel, int count)
{
    const struct timespec rest = { .tv_nsec = REST_NS };
    int64_t last_ns = clock_ns();
    double waited = 0;

    for (int tests = 0;; tests++) {
        int done = 0;
        TRY(mpi_check(MPI_Testall(count, channel->requests, &done, MPI_STATUSES_IGNORE),
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

/* Each rank begins with the one after it, so that not all send to the same one first. */
enum status channel_exchange(struct channel *channel, message_fn *message, const void *context)
{
    int count = 0;

    for (int step = 1; step < place.count; step++) {
        int peer = (place.rank + step) % place.count;
        struct message with = message(context, peer);
        if (with.receive_bytes > 0) {
            channel->peers[count] = peer;
            TRY(mpi_check(MPI_Irecv(with.receive, (int)with.receive_bytes, MPI_BYTE, peer, TAG,
                                    channel->communicator, &channel->requests[count++]),
                          "MPI_Irecv"));
        }
        if (with.send_bytes > 0) {
            channel->peers[count] = peer;
            TRY(mpi_check(MPI_Isend(with.send, (int)with.send_bytes, MPI_BYTE, peer, TAG,
                                    channel->communicator, &channel->requests[count++]),
                          "MPI_Isend"));
        }
    }
    return await(channel, count);
}

static enum status mpi_run(enum ranks_channel which, const struct collective *collective)
{
    enum status status = STATUS_OK;
    struct channel *channel = &channels[which];

    pthread_mutex_lock(&channel->lock);
    status = collectives_run(channel, collective);
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
    status = channel_exchange(channel, bytes_message, &(struct gathering){ memory, bytes });
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
    .run = mpi_run,
    .gather = gather,
};

__attribute__((visibility("default"))) ranks_driver_fn chokepoint_ranks_driver;

const struct ranks_driver *chokepoint_ranks_driver(void)
{
    return &driver;
}
