/* The buffer of what a traced run does. Rows are kept in chunks. A thread remembers its chunk, and
 * which recording that chunk belongs to: every trace_begin() of any trace gets a number of its own,
 * so a chunk of an earlier recording, or of another trace, is never written to. A chunk is
 * published with the count of its rows, which only its thread raises; the reader of the rows sees
 * what was counted. */
#include "harness/recording/buffer.h"

#include "harness/base/clock.h"
#include "harness/base/rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { CHUNK_ROWS = 448 }; /* 64 KiB and a little less */

#define BYTES_MAX ((int64_t)256 << 20)

struct chunk {
    _Atomic(struct chunk *) next; /* set once it is in a list: readers need no lock */
    atomic_int count;
    struct trace_row rows[CHUNK_ROWS];
};

struct trace {
    atomic_bool recording;
    atomic_bool full;            /* no chunk is left: do not even ask */
    atomic_uint_fast64_t number; /* of the recording */
    atomic_int_fast64_t dropped;
    int64_t start_ns, end_ns, start_wall_ns;

    pthread_mutex_t lock;          /* of what follows */
    _Atomic(struct chunk *) first; /* of this recording, in the order they were taken */
    struct chunk *last;
    struct chunk *spare;
    int64_t chunks, chunks_max;
};

/* The chunk that this thread writes to. */
static _Thread_local struct {
    uint64_t number;
    struct chunk *chunk;
} own;

static atomic_uint_fast64_t last_number;

static uint32_t this_thread(void)
{
    static _Thread_local uint32_t thread;

    if (thread == 0)
        thread = (uint32_t)gettid();
    return thread;
}

enum status trace_open(struct trace **opened, int64_t bytes_max)
{
    struct trace *trace;

    *opened = NULL;
    TRY(rows_make(&trace, 1));
    pthread_mutex_init(&trace->lock, NULL);
    trace->chunks_max = (bytes_max > 0 ? bytes_max : BYTES_MAX) / (int64_t)sizeof(struct chunk);
    if (trace->chunks_max < 1)
        trace->chunks_max = 1;
    *opened = trace;

    return STATUS_OK;
}

static void free_chunks(struct chunk *chunk)
{
    while (chunk != NULL) {
        struct chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void trace_close(struct trace *trace)
{
    if (trace == NULL)
        return;
    free_chunks(trace->first);
    free_chunks(trace->spare);
    pthread_mutex_destroy(&trace->lock);
    free(trace);
}

/* A chunk used before, or a new one, at the end of the recording's list; NULL if memory or the
 * bound is reached. From then on threads see `full` and do not come here for nothing. */
static struct chunk *take_chunk(struct trace *trace)
{
    struct chunk *chunk;

    pthread_mutex_lock(&trace->lock);
    chunk = trace->spare;
    if (chunk != NULL)
        trace->spare = chunk->next;
    else if (trace->chunks < trace->chunks_max && (chunk = malloc(sizeof *chunk)) != NULL)
        trace->chunks++;
    if (chunk != NULL) {
        chunk->next = NULL;
        atomic_init(&chunk->count, 0);
        if (trace->last != NULL)
            trace->last->next = chunk;
        else
            trace->first = chunk;
        trace->last = chunk;
    } else {
        atomic_store_explicit(&trace->full, true, memory_order_relaxed);
    }
    pthread_mutex_unlock(&trace->lock);
    return chunk;
}

/* The row to fill, which row_done() then publishes; NULL when it was dropped.
 *
 * Relaxed: only this thread writes its chunk's count, a number that is not the thread's own makes
 * it take a chunk under the lock, and `full` read late costs one more look under the lock.
 * row_done() releases the row that it counts. */
static struct trace_row *row_begin(struct trace *trace, enum trace_kind kind)
{
    uint64_t number = atomic_load_explicit(&trace->number, memory_order_relaxed);
    struct chunk *chunk = own.number == number ? own.chunk : NULL;
    int count;

    if (chunk == NULL || atomic_load_explicit(&chunk->count, memory_order_relaxed) == CHUNK_ROWS) {
        chunk = atomic_load_explicit(&trace->full, memory_order_relaxed) ? NULL : take_chunk(trace);
        if (chunk == NULL) {
            atomic_fetch_add_explicit(&trace->dropped, 1, memory_order_relaxed);
            return NULL;
        }
        own.number = number;
        own.chunk = chunk;
    }
    count = atomic_load_explicit(&chunk->count, memory_order_relaxed);
    chunk->rows[count].kind = kind;
    return &chunk->rows[count];
}

/* Release: whoever reads the new count, sees the row. */
static void row_done(void)
{
    int count = atomic_load_explicit(&own.chunk->count, memory_order_relaxed);

    atomic_store_explicit(&own.chunk->count, count + 1, memory_order_release);
}

/* Acquire pairs with the release in trace_begin(): whoever records sees the new number. */
static bool is_recording(const struct trace *trace)
{
    return trace != NULL && atomic_load_explicit(&trace->recording, memory_order_acquire);
}

/* Activity that began before the recording is none of it. */
static void record_activity(void *context, const struct activity *activity)
{
    struct trace *trace = context;
    struct trace_row *row;

    if (!is_recording(trace) || activity->start_ns < trace->start_ns)
        return;
    row = row_begin(trace, TRACE_ACTIVITY);
    if (row == NULL)
        return;
    row->activity = *activity;
    row_done();
}

static void count_dropped(void *context, int64_t records)
{
    struct trace *trace = context;

    if (is_recording(trace))
        atomic_fetch_add_explicit(&trace->dropped, records, memory_order_relaxed);
}

struct activity_sink trace_sink(struct trace *trace)
{
    return (struct activity_sink){ .record = record_activity,
                                   .context = trace,
                                   .dropped = count_dropped };
}

/* All chunks of the recording before become spare ones. The new number makes every thread take a
 * chunk anew, and `recording` comes last, with release: whoever sees it sees the rest. */
void trace_begin(struct trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    if (trace->last != NULL) {
        trace->last->next = trace->spare;
        trace->spare = trace->first;
    }
    trace->first = trace->last = NULL;
    pthread_mutex_unlock(&trace->lock);
    atomic_store(&trace->dropped, 0);
    atomic_store(&trace->full, false);
    atomic_store(&trace->number, atomic_fetch_add(&last_number, 1) + 1);
    trace->start_wall_ns = clock_real_ns();
    trace->start_ns = trace->end_ns = clock_ns();
    atomic_store_explicit(&trace->recording, true, memory_order_release);
}

/* Exchanged, so that a second call does not move the end. */
void trace_end(struct trace *trace)
{
    if (atomic_exchange(&trace->recording, false))
        trace->end_ns = clock_ns();
}

int64_t trace_clock(const struct trace *trace)
{
    return is_recording(trace) ? clock_ns() : 0;
}

void trace_add_operator(struct trace *trace, const struct trace_operation *operation,
                        int64_t start_ns)
{
    struct trace_row *row;

    if (start_ns == 0 || !is_recording(trace) || (row = row_begin(trace, TRACE_OPERATOR)) == NULL)
        return;
    row->call = (struct trace_operator){
        .operation = operation, .start_ns = start_ns, .end_ns = clock_ns(), .thread = this_thread()
    };
    row_done();
}

void trace_add_step(struct trace *trace, const struct trace_step *step)
{
    struct trace_row *row;

    if (step->start_ns == 0 || !is_recording(trace) || (row = row_begin(trace, TRACE_STEP)) == NULL)
        return;
    row->step = *step;
    row->step.end_ns = clock_ns();
    row->step.thread = this_thread();
    row_done();
}

void trace_add_memory(struct trace *trace, const struct trace_memory *memory)
{
    struct trace_row *row;

    if (!is_recording(trace) || (row = row_begin(trace, TRACE_MEMORY)) == NULL)
        return;
    row->memory = *memory;
    row->memory.at_ns = clock_ns();
    row->memory.thread = this_thread();
    row_done();
}

void trace_add_replay(struct trace *trace, const struct graph_spans *spans, int64_t start_ns)
{
    struct trace_row *row;

    if (start_ns == 0 || !is_recording(trace) || (row = row_begin(trace, TRACE_REPLAY)) == NULL)
        return;
    row->replay = (struct trace_replay){
        .spans = spans, .start_ns = start_ns, .end_ns = clock_ns(), .thread = this_thread()
    };
    row_done();
}

int64_t trace_start_ns(const struct trace *trace)
{
    return trace->start_ns;
}

int64_t trace_end_ns(const struct trace *trace)
{
    return trace->end_ns;
}

int64_t trace_start_wall_ns(const struct trace *trace)
{
    return trace->start_wall_ns;
}

int64_t trace_row_count(const struct trace *trace)
{
    int64_t count = 0;

    for (const struct chunk *chunk = trace->first; chunk != NULL; chunk = chunk->next)
        count += atomic_load_explicit(&chunk->count, memory_order_acquire);
    return count;
}

int64_t trace_dropped(const struct trace *trace)
{
    return atomic_load(&trace->dropped);
}

const struct trace_row *trace_next(const struct trace *trace, struct trace_cursor *cursor)
{
    const struct chunk *chunk = cursor->started ? cursor->chunk : trace->first;

    cursor->started = true;
    while (chunk != NULL &&
           cursor->index >= atomic_load_explicit(&chunk->count, memory_order_acquire)) {
        chunk = chunk->next;
        cursor->index = 0;
    }
    cursor->chunk = chunk;
    return chunk != NULL ? &chunk->rows[cursor->index++] : NULL;
}
