/* The buffer of a trace: every record once, from any number of threads, in bounded memory. */
#include "harness/base/clock.h"
#include "harness/recording/buffer.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, RECORDS = 5000, CHUNK = 64 << 10 };

static struct trace *open_trace(int64_t bytes_max)
{
    struct trace *trace = NULL;

    assert_ok(trace_open(&trace, bytes_max));
    return trace;
}

/* A kernel whose bytes say which one it is. */
static void record(struct trace *trace, uint32_t stream, int64_t number)
{
    struct activity_sink sink = trace_sink(trace);
    int64_t now = clock_ns();

    sink.record(sink.context, &(struct activity){ .kind = ACTIVITY_KERNEL,
                                                  .name = "kernel",
                                                  .start_ns = now,
                                                  .end_ns = now + 1,
                                                  .stream = stream,
                                                  .bytes = number });
}

struct recorder {
    struct trace *trace;
    pthread_t thread;
    uint32_t number;
    atomic_bool *stop; /* NULL: RECORDS records */
};

static void *record_many(void *context)
{
    struct recorder *recorder = context;

    for (int64_t i = 0; recorder->stop != NULL ? !atomic_load(recorder->stop) : i < RECORDS; i++)
        record(recorder->trace, recorder->number, i);
    return NULL;
}

static void start_recorders(struct recorder *recorders, struct trace *trace, atomic_bool *stop)
{
    for (int i = 0; i < THREADS; i++) {
        recorders[i] = (struct recorder){ .trace = trace, .number = (uint32_t)i, .stop = stop };
        assert_int_equal(pthread_create(&recorders[i].thread, NULL, record_many, &recorders[i]), 0);
    }
}

static void join_recorders(struct recorder *recorders)
{
    for (int i = 0; i < THREADS; i++) pthread_join(recorders[i].thread, NULL);
}

/* Counts the rows of each recorder, which must be in order; `all`: and without a gap. */
static int64_t count_rows(const struct trace *trace, bool all)
{
    struct trace_cursor cursor = { 0 };
    const struct trace_row *row;
    int64_t last[THREADS], count = 0;

    for (int i = 0; i < THREADS; i++) last[i] = -1;
    while ((row = trace_next(trace, &cursor)) != NULL) {
        int64_t *mine = &last[row->activity.stream];
        assert_int_equal(row->kind, TRACE_ACTIVITY);
        assert_string_equal(row->activity.name, "kernel");
        assert_true(all ? row->activity.bytes == *mine + 1 : row->activity.bytes > *mine);
        *mine = row->activity.bytes;
        count++;
    }
    assert_int_equal(count, trace_row_count(trace));
    return count;
}

TEST(threads_lose_and_mix_nothing)
{
    struct trace *trace = open_trace(0);
    struct recorder recorders[THREADS];

    trace_begin(trace);
    start_recorders(recorders, trace, NULL);
    join_recorders(recorders);
    trace_end(trace);
    assert_int_equal(count_rows(trace, true), THREADS * RECORDS);
    assert_int_equal(trace_dropped(trace), 0);
    trace_close(trace);
}

TEST(what_finds_no_room_is_counted)
{
    struct trace *trace = open_trace(5 * CHUNK);
    struct recorder recorders[THREADS];
    int64_t kept;

    trace_begin(trace);
    start_recorders(recorders, trace, NULL);
    join_recorders(recorders);
    trace_end(trace);
    kept = count_rows(trace, false);
    assert_in_range(kept, 1, 5 * CHUNK / sizeof(struct trace_row));
    assert_int_equal(kept + trace_dropped(trace), THREADS * RECORDS);
    trace_begin(trace); /* There is room again. */
    assert_int_equal(trace_dropped(trace), 0);
    record(trace, 0, 0);
    trace_end(trace);
    assert_int_equal(count_rows(trace, true), 1);
    trace_close(trace);
}

TEST(only_what_begins_while_recording_is_kept)
{
    struct trace *trace = open_trace(0);
    struct activity_sink sink = trace_sink(trace);
    struct activity early = { .kind = ACTIVITY_KERNEL, .name = "kernel", .start_ns = clock_ns() };

    record(trace, 0, 0);
    assert_int_equal(trace_clock(trace), 0);
    trace_begin(trace);
    assert_int_not_equal(trace_clock(trace), 0);
    early.end_ns = clock_ns();
    sink.record(sink.context, &early);
    record(trace, 0, 0);
    record(trace, 0, 1);
    trace_end(trace);
    record(trace, 0, 2);
    assert_int_equal(trace_clock(trace), 0);
    assert_int_equal(count_rows(trace, true), 2);
    assert_true(trace_start_ns(trace) < trace_end_ns(trace));
    trace_begin(trace);
    trace_end(trace);
    assert_int_equal(count_rows(trace, true), 0);
    trace_close(trace);
}

TEST(traces_of_one_thread_stay_apart)
{
    struct trace *first = open_trace(0), *second = open_trace(0);

    trace_begin(first);
    trace_begin(second);
    for (int i = 0; i < 1000; i++) {
        record(first, 0, i);
        if (i % 2 == 0)
            record(second, 1, i / 2);
    }
    trace_end(first);
    trace_end(second);
    assert_int_equal(count_rows(first, true), 1000);
    assert_int_equal(count_rows(second, true), 500);
    trace_close(first);
    trace_close(second);
}

TEST(without_a_trace_nothing_happens)
{
    struct trace *trace = open_trace(0);
    const struct trace_operation operation = { .name = "op" };

    assert_int_equal(trace_clock(NULL), 0);
    trace_add_operator(NULL, &operation, 0);
    trace_add_memory(NULL, &(struct trace_memory){ .bytes = 1 });
    trace_add_step(NULL, &(struct trace_step){ .number = 1 });
    trace_add_operator(trace, &operation, clock_ns());
    trace_add_memory(trace, &(struct trace_memory){ .bytes = 1 });
    trace_add_step(trace, &(struct trace_step){ .number = 1, .start_ns = clock_ns() });
    assert_int_equal(trace_row_count(trace), 0);
    trace_begin(trace);
    trace_add_operator(trace, &operation, 0); /* begun while nothing was recorded */
    trace_add_step(trace, &(struct trace_step){ .number = 1 });
    trace_end(trace);
    assert_int_equal(trace_row_count(trace), 0);
    trace_close(trace);
    trace_close(NULL);
}

TEST(recording_may_end_while_threads_record)
{
    struct trace *trace = open_trace(0);
    struct recorder recorders[THREADS];
    atomic_bool stop = false;
    int64_t kept;

    trace_begin(trace);
    start_recorders(recorders, trace, &stop);
    while (trace_row_count(trace) < 1000) continue;
    trace_end(trace);
    kept = trace_row_count(trace);
    assert_true(kept >= 1000);
    atomic_store(&stop, true);
    join_recorders(recorders);
    /* A thread that was in the middle of a record may have finished it, no more. */
    assert_in_range(count_rows(trace, true), kept, kept + THREADS);
    trace_close(trace);
}

TEST(rows_of_the_step_say_when_and_where)
{
    struct trace *trace = open_trace(0);
    const struct trace_operation operation = { .name = "op", .flops = 7 };
    struct trace_cursor cursor = { 0 };
    const struct trace_row *row;
    int64_t start_ns;

    trace_begin(trace);
    start_ns = trace_clock(trace);
    trace_add_operator(trace, &operation, start_ns);
    trace_add_memory(trace, &(struct trace_memory){ .bytes = -512, .category = "input" });
    trace_add_step(trace, &(struct trace_step){ .number = 3, .start_ns = start_ns, .samples = 8 });
    trace_end(trace);
    row = trace_next(trace, &cursor);
    assert_int_equal(row->kind, TRACE_OPERATOR);
    assert_ptr_equal(row->call.operation, &operation);
    assert_true(row->call.start_ns == start_ns && row->call.end_ns >= start_ns);
    row = trace_next(trace, &cursor);
    assert_int_equal(row->kind, TRACE_MEMORY);
    assert_int_equal(row->memory.bytes, -512);
    assert_true(row->memory.at_ns >= start_ns);
    row = trace_next(trace, &cursor);
    assert_int_equal(row->kind, TRACE_STEP);
    assert_int_equal(row->step.samples, 8);
    assert_true(row->step.end_ns >= start_ns && row->step.end_ns <= trace_end_ns(trace));
    assert_int_not_equal(row->step.thread, 0);
    assert_null(trace_next(trace, &cursor));
    trace_close(trace);
}

TEST(what_the_device_lost_while_recording_counts_as_dropped)
{
    struct trace *trace = open_trace(0);
    struct activity_sink sink = trace_sink(trace);

    sink.dropped(sink.context, 3); /* before: nobody missed them */
    trace_begin(trace);
    assert_int_equal(trace_dropped(trace), 0);
    sink.dropped(sink.context, 5);
    sink.dropped(sink.context, 2);
    trace_end(trace);
    sink.dropped(sink.context, 4);
    assert_int_equal(trace_dropped(trace), 7);
    trace_close(trace);
}
