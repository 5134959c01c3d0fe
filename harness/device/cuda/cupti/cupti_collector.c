/* CUPTI calls back from any thread: for a buffer mostly from one that calls CUDA, with a full one
 * from a thread of its own. Both may come while it is itself called here, so no lock is held across
 * a call.
 *
 * It knows one client and passes no context to these callbacks: hence the one static collector. */
#include "harness/device/cuda/cupti/cupti_collector.h"

#include "harness/base/clock.h"
#include "harness/device/cuda/cupti/cupti_records.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVIDIA's advice is 1 to 10 MB per buffer; every thread that calls CUDA fills one of its own. */
enum { BUFFER_BYTES = 4 << 20, HEAD_BYTES = 4096, BUFFERS_MAX = 256 };

/* Before the bytes that CUPTI fills, in the same piece of memory. */
struct buffer {
    struct buffer *next;
    size_t valid;
};

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_MEMORY2,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, /* the other kind for kernels runs them one by one */
};

static struct {
    pthread_mutex_t use; /* start, flush and stop come one at a time */
    const struct cupti *cupti;
    CUpti_SubscriberHandle subscriber; /* NULL: not started */
    struct activity_sink sink;
    struct cupti_records records;
    struct cupti_calls calls;
    struct cudaDeviceProp gpu;
    struct cupti_switches switches;
    struct cupti_graphs graphs; /* if a launch is to be one record: the nodes of each */
    bool whole_graphs;          /* it is one now */
    bool unknown_graphs; /* one was launched whose nodes no record had: it is none any more */

    pthread_mutex_t lock; /* of what follows */
    bool running;
    struct buffer *full, **last, *spare;
    int count; /* of all buffers, those in CUPTI's hands included */
    size_t refused;
    char failure[160];              /* what CUPTI said when it gave up; "" */
    struct cupti_message *messages; /* since the last flush */
    size_t message_count, message_room;
} collector = { .use = PTHREAD_MUTEX_INITIALIZER,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .last = &collector.full };

#define CHECK(member, call, ...) TRY(cupti_check(cupti, cupti->member(__VA_ARGS__), call, NULL))

/* --- Buffers --- */

static uint8_t *bytes_of(struct buffer *buffer)
{
    return (uint8_t *)buffer + HEAD_BYTES;
}

/* Under the lock; NULL: there is no more. */
static struct buffer *new_buffer(void)
{
    struct buffer *buffer = NULL;

    if (collector.count < BUFFERS_MAX || !collector.cupti->refusable)
        buffer = aligned_alloc(HEAD_BYTES, HEAD_BYTES + BUFFER_BYTES);
    if (buffer == NULL)
        return NULL;
    collector.count++;
    if (collector.switches.buffers > 0) /* CUPTI was told that all are zero */
        memset(bytes_of(buffer), 0, BUFFER_BYTES);
    return buffer;
}

static void make_buffers(void)
{
    struct buffer *buffer;

    pthread_mutex_lock(&collector.lock);
    for (int i = 0; i < collector.switches.buffers && (buffer = new_buffer()) != NULL; i++) {
        buffer->next = collector.spare;
        collector.spare = buffer;
    }
    pthread_mutex_unlock(&collector.lock);
}

static void CUPTIAPI on_request(uint8_t **bytes, size_t *size, size_t *records_max)
{
    struct buffer *buffer;

    pthread_mutex_lock(&collector.lock);
    buffer = collector.spare;
    if (buffer != NULL)
        collector.spare = buffer->next;
    else
        buffer = new_buffer();
    if (buffer == NULL)
        collector.refused++;
    pthread_mutex_unlock(&collector.lock);
    *bytes = buffer != NULL ? bytes_of(buffer) : NULL;
    *size = buffer != NULL ? BUFFER_BYTES : 0;
    *records_max = 0; /* as many as fit */
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size,
                                 size_t valid)
{
    struct buffer *buffer = (struct buffer *)(void *)(bytes - HEAD_BYTES);

    (void)context;
    (void)stream;
    (void)size;
    buffer->next = NULL;
    buffer->valid = valid;
    pthread_mutex_lock(&collector.lock);
    if (collector.running) {
        *collector.last = buffer;
        collector.last = &buffer->next;
    } else {
        collector.count--;
        free(buffer);
    }
    pthread_mutex_unlock(&collector.lock);
}

/* From then on buffers that are complete come to the list only if `running`. */
static struct buffer *detach_full(bool running)
{
    struct buffer *list;

    pthread_mutex_lock(&collector.lock);
    collector.running = running;
    list = collector.full;
    collector.full = NULL;
    collector.last = &collector.full;
    pthread_mutex_unlock(&collector.lock);
    return list;
}

/* Buffers that were read are used again. */
static void give_back(struct buffer *list)
{
    struct buffer *last = NULL;

    if (list == NULL)
        return;
    for (struct buffer *buffer = list; buffer != NULL; buffer = buffer->next) {
        if (collector.switches.buffers > 0)
            memset(bytes_of(buffer), 0, BUFFER_BYTES);
        last = buffer;
    }
    pthread_mutex_lock(&collector.lock);
    last->next = collector.spare;
    collector.spare = list;
    pthread_mutex_unlock(&collector.lock);
}

/* --- Messages --- */

void cupti_collector_note(const struct cupti_message *message)
{
    pthread_mutex_lock(&collector.lock);
    if (collector.running && collector.message_count == collector.message_room) {
        size_t room = collector.message_room > 0 ? 2 * collector.message_room : 256;
        void *messages = realloc(collector.messages, room * sizeof *collector.messages);
        if (messages != NULL) {
            collector.messages = messages;
            collector.message_room = room;
        }
    }
    if (collector.running && collector.message_count < collector.message_room)
        collector.messages[collector.message_count++] = *message;
    pthread_mutex_unlock(&collector.lock);
}

/* The records take them over. */
static void take_messages(void)
{
    pthread_mutex_lock(&collector.lock);
    collector.records.messages = collector.messages;
    collector.records.message_count = collector.message_count;
    collector.messages = NULL;
    collector.message_count = collector.message_room = 0;
    pthread_mutex_unlock(&collector.lock);
}

/* --- Flush --- */

/* After `record`, or the first where that is NULL. NULL is the end, *cut the middle of a record. */
static CUpti_Activity *next_record(struct buffer *buffer, CUpti_Activity *record, bool *cut)
{
    CUptiResult result =
        buffer->valid > 0 ? collector.cupti->next_record(bytes_of(buffer), buffer->valid, &record)
                          : CUPTI_ERROR_MAX_LIMIT_REACHED;

    *cut = result != CUPTI_SUCCESS && result != CUPTI_ERROR_MAX_LIMIT_REACHED;
    return result == CUPTI_SUCCESS ? record : NULL;
}

/* The first pass: device work names its call by a number, and the call may be in a later buffer. */
static enum status note_calls(struct buffer *list)
{
    CUpti_Activity *record = NULL;
    bool cut;

    for (struct buffer *buffer = list; buffer != NULL; buffer = buffer->next)
        while ((record = next_record(buffer, record, &cut)) != NULL)
            TRY(cupti_records_note(&collector.records, record));
    cupti_records_join(&collector.records);

    return STATUS_OK;
}

/* With a launch as one record, nodes are noted where there are any, and shown of each launch. */
static enum status show(const struct activity *activity, bool is_launch)
{
    if (!collector.switches.nodes && activity->graph != 0 && !is_launch)
        TRY(cupti_graphs_note(&collector.graphs, activity));
    if (is_launch && cupti_graphs_show(&collector.graphs, activity, &collector.sink))
        return STATUS_OK;
    collector.unknown_graphs = collector.unknown_graphs || is_launch;
    if (collector.sink.record != NULL)
        collector.sink.record(collector.sink.context, activity);

    return STATUS_OK;
}

/* From the flush on that has a graph's nodes, a launch is one record. A graph that is new is shown
 * without nodes, and then all have records of nodes again: there may be a new one in each step. */
static enum status choose_graphs(void)
{
    const struct cupti *cupti = collector.cupti;
    bool whole = collector.graphs.count > 0 && !collector.unknown_graphs;

    if (whole && !collector.whole_graphs)
        CHECK(enable, "cuptiActivityEnable", CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    if (!whole && collector.whole_graphs)
        CHECK(disable, "cuptiActivityDisable", CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    collector.whole_graphs = whole;

    return STATUS_OK;
}

/* Returns how many records are lost. Without `shown` all are. */
static int64_t hand_over(struct buffer *list, bool shown)
{
    CUpti_Activity *record = NULL;
    struct activity activity;
    int64_t lost = 0;
    bool cut;

    for (struct buffer *buffer = list; buffer != NULL; buffer = buffer->next) {
        while ((record = next_record(buffer, record, &cut)) != NULL) {
            enum cupti_outcome outcome =
                shown ? cupti_records_translate(&collector.records, record, &activity)
                      : CUPTI_OUTCOME_BROKEN;
            if (outcome == CUPTI_OUTCOME_BROKEN ||
                (outcome == CUPTI_OUTCOME_SHOWN &&
                 show(&activity, record->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) != STATUS_OK))
                lost++;
            cupti_records_drop(&collector.records, record);
        }
        lost += cut;
    }
    return lost;
}

/* CUPTI counts these itself. For a refused buffer it counts the records that the buffer would have
 * held. */
static CUptiResult count_dropped(int64_t *lost)
{
    size_t dropped = 0, refused;
    CUptiResult result = collector.cupti->get_dropped(NULL, 0, &dropped);

    pthread_mutex_lock(&collector.lock);
    refused = collector.refused;
    collector.refused = 0;
    pthread_mutex_unlock(&collector.lock);
    *lost += (int64_t)(dropped > 0 ? dropped : refused);
    return result;
}

static enum status check_alive(void)
{
    char failure[sizeof collector.failure];

    pthread_mutex_lock(&collector.lock);
    snprintf(failure, sizeof failure, "%s", collector.failure);
    pthread_mutex_unlock(&collector.lock);
    if (failure[0] != '\0')
        FAIL(STATUS_DEVICE_ERROR,
             "cuda: CUPTI gave up while it traced: %s; no trace was written, because it would "
             "be incomplete; the timing is unaffected",
             failure);

    return STATUS_OK;
}

enum status cupti_collector_flush(void)
{
    enum status status = STATUS_OK;
    struct buffer *list = NULL;
    CUptiResult flushed, counted;
    int64_t lost;

    pthread_mutex_lock(&collector.use);
    if (collector.subscriber == NULL)
        goto out;
    flushed = collector.cupti->flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    list = detach_full(true);
    take_messages();
    status = note_calls(list);
    lost = hand_over(list, status == STATUS_OK);
    counted = count_dropped(&lost);
    if (lost > 0 && collector.sink.dropped != NULL)
        collector.sink.dropped(collector.sink.context, lost);
    TRY_OUT(status);
    TRY_OUT(check_alive());
    TRY_OUT(choose_graphs());
    TRY_OUT(cupti_check(collector.cupti, flushed, "cuptiActivityFlushAll", NULL));
    TRY_OUT(cupti_check(collector.cupti, counted, "cuptiActivityGetNumDroppedRecords", NULL));

out:
    give_back(list);
    cupti_records_release(&collector.records);
    pthread_mutex_unlock(&collector.use);
    return status;
}

/* --- Start and stop --- */

/* All host times of this program are from one clock; CUPTI maps the GPU's times to it, too. */
static uint64_t CUPTIAPI now(void)
{
    return (uint64_t)clock_ns();
}

/* After a fatal error CUPTI takes itself out of the process. */
static void CUPTIAPI on_state(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void *data)
{
    const CUpti_StateData *state = data;

    (void)context;
    if (domain != CUPTI_CB_DOMAIN_STATE || id != CUPTI_CBID_STATE_FATAL_ERROR)
        return;
    pthread_mutex_lock(&collector.lock);
    snprintf(collector.failure, sizeof collector.failure, "error %d%s%s",
             (int)state->notification.result, state->notification.message != NULL ? ", " : "",
             state->notification.message != NULL ? state->notification.message : "");
    pthread_mutex_unlock(&collector.lock);
}

/* The kind of calls, and then each call as traces show it or not. Calls that are enabled without
 * their kind once CUDA is initialised leave no record, though CUPTI says success (an H200,
 * CUPTI 13.0.1). CUPTI may refuse ids that no call has any more. An old one records all calls,
 * which costs more; those that traces do not show are hidden when records are translated. */
static enum status enable_calls(const struct cupti *cupti)
{
    bool chosen = cupti->enable_runtime_call != NULL && cupti->enable_driver_call != NULL;
    CUptiResult result = CUPTI_ERROR_UNKNOWN;
    int set = 0;

    CHECK(enable, "cuptiActivityEnable", CUPTI_ACTIVITY_KIND_RUNTIME);
    for (uint32_t id = 1; chosen && id < ARRAY_SIZE(collector.calls.runtime); id++)
        set += (result = cupti->enable_runtime_call(id, collector.calls.runtime[id] != NULL)) ==
               CUPTI_SUCCESS;
    if (chosen && set == 0)
        TRY(cupti_check(cupti, result, "cuptiActivityEnableRuntimeApi", NULL));
    set = 0;
    if (!collector.switches.driver)
        return STATUS_OK;
    CHECK(enable, "cuptiActivityEnable", CUPTI_ACTIVITY_KIND_DRIVER);
    for (uint32_t id = 1; chosen && id < ARRAY_SIZE(collector.calls.driver); id++)
        set += (result = cupti->enable_driver_call(id, collector.calls.driver[id] != NULL)) ==
               CUPTI_SUCCESS;
    if (chosen && set == 0)
        TRY(cupti_check(cupti, result, "cuptiActivityEnableDriverApi", NULL));

    return STATUS_OK;
}

static enum status set_attribute(const struct cupti *cupti, CUpti_ActivityAttribute attribute,
                                 const void *value, size_t size)
{
    CHECK(set_attribute, "cuptiActivitySetAttribute", attribute, &size, (void *)value);

    return STATUS_OK;
}

/* Before buffers are asked for, and before there is a context. */
static enum status prepare_buffers(const struct cupti *cupti)
{
    const size_t device_buffers = (size_t)collector.switches.device_buffers;
    const uint8_t zeroed = 1;

    if (collector.switches.device_buffers != cupti_switches_otherwise.device_buffers)
        TRY(set_attribute(cupti, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE,
                          &device_buffers, sizeof device_buffers));
    if (collector.switches.buffers == 0)
        return STATUS_OK;
    make_buffers();
    return set_attribute(cupti, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &zeroed,
                         sizeof zeroed);
}

/* The clock and how threads are numbered come before anything is recorded (cupti_activity.h). */
static enum status enable(const struct cupti *cupti)
{
    CHECK(enable_domain, "cuptiEnableDomain", 1, collector.subscriber, CUPTI_CB_DOMAIN_STATE);
    CHECK(set_thread_id_type, "cuptiSetThreadIdType", CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    CHECK(register_clock, "cuptiActivityRegisterTimestampCallback", now);
    if (cupti->enable_failed_syncs != NULL)
        CHECK(enable_failed_syncs, "cuptiActivityEnableAllSyncRecords", 0);
    TRY(prepare_buffers(cupti));
    CHECK(register_buffers, "cuptiActivityRegisterCallbacks", on_request, on_complete);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) CHECK(enable, "cuptiActivityEnable", kinds[i]);
    TRY(enable_calls(cupti));

    return STATUS_OK;
}

static void disable_kinds(const struct cupti *cupti)
{
    if (collector.whole_graphs)
        cupti->disable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    cupti->disable(CUPTI_ACTIVITY_KIND_DRIVER);
    cupti->disable(CUPTI_ACTIVITY_KIND_RUNTIME);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) cupti->disable(kinds[i]);
}

static void disable(const struct cupti *cupti)
{
    disable_kinds(cupti);
    cupti->flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); /* gives all buffers back */
    cupti->unsubscribe(collector.subscriber);
}

/* Under the lock, which `count` is under. */
static void free_all(struct buffer *list)
{
    while (list != NULL) {
        struct buffer *next = list->next;
        collector.count--;
        free(list);
        list = next;
    }
}

/* Under `use`. */
static void stop(void)
{
    struct buffer *list;

    if (collector.subscriber == NULL)
        return;
    disable(collector.cupti);
    list = detach_full(false);
    hand_over(list, false);
    take_messages();
    cupti_records_release(&collector.records);
    pthread_mutex_lock(&collector.lock);
    free_all(list);
    free_all(collector.spare);
    collector.spare = NULL;
    pthread_mutex_unlock(&collector.lock);
    collector.subscriber = NULL;
    cupti_graphs_release(&collector.graphs);
    collector.whole_graphs = collector.unknown_graphs = false;
    cupti_names_close(collector.records.names);
    collector.records.names = NULL;
}

enum status cupti_collector_start(int device, const struct cudaDeviceProp *gpu)
{
    enum status status = STATUS_OK;
    struct status_error error;

    pthread_mutex_lock(&collector.use);
    if (collector.subscriber != NULL)
        FAIL_OUT(STATUS_BAD_USAGE,
                 "cuda:%d: another device of this process is being traced; close it "
                 "first",
                 device);
    TRY_OUT(cupti_switches_read(&collector.switches, getenv("CHOKEPOINT_CUPTI")));
    TRY_OUT(cupti_load(&collector.cupti));
    TRY_OUT(cupti_subscribe(collector.cupti, &collector.subscriber, on_state));
    pthread_mutex_lock(&collector.lock);
    collector.running = true;
    collector.refused = 0;
    collector.failure[0] = '\0';
    pthread_mutex_unlock(&collector.lock);
    collector.sink = (struct activity_sink){ 0 };
    cupti_calls_find(&collector.calls, collector.cupti);
    collector.gpu = *gpu;
    collector.records = (struct cupti_records){ .cupti = collector.cupti,
                                                .calls = &collector.calls,
                                                .device = (uint32_t)device,
                                                .gpu = &collector.gpu };
    status = cupti_names_open(&collector.records.names);
    if (status == STATUS_OK)
        status = enable(collector.cupti);
    if (status != STATUS_OK) {
        error = *status_last();
        stop();
        status_raise(&error);
    }

out:
    pthread_mutex_unlock(&collector.use);
    return status;
}

/* Records of the device's opening are flushed first, without a sink, so no trace shows them. */
enum status cupti_collector_show(struct activity_sink sink)
{
    enum status status = cupti_collector_flush();

    pthread_mutex_lock(&collector.use);
    collector.sink = sink;
    pthread_mutex_unlock(&collector.use);
    return status;
}

bool cupti_collector_counts(void)
{
    return collector.switches.counters;
}

void cupti_collector_pause(void)
{
    pthread_mutex_lock(&collector.use);
    if (collector.subscriber != NULL)
        disable_kinds(collector.cupti);
    pthread_mutex_unlock(&collector.use);
}

void cupti_collector_stop(void)
{
    pthread_mutex_lock(&collector.use);
    stop();
    pthread_mutex_unlock(&collector.use);
}
