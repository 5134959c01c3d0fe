/* Streams, launches and events of a device: order, asynchrony, waits across streams. */
#include "tests/fixtures/lab/cpu_device.h"

#include <math.h>
#include <pthread.h>

enum { ELEMENTS = 64 };

DEVICE_TEST(launches_run_in_order_and_their_results_come_back)
{
    float *x = cpu_device_memory(test->device, ELEMENTS * sizeof *x), host[ELEMENTS];

    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 1.5f));
    for (int i = 0; i < 5000; i++) /* more than the queue holds */
        OK(LAUNCH(test->stream, DTYPE_F32, residual_add, ELEMENTS, .y = x, .a = x, .b = x));
    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 3));
    OK(LAUNCH(test->stream, DTYPE_F32, residual_add, ELEMENTS, .y = x, .a = x, .b = x));
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, x, sizeof host));
    for (int i = 0; i < ELEMENTS; i++) assert_float_equal(host[i], 6, 0);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

DEVICE_TEST(launches_return_before_the_work_is_done)
{
    float *x = cpu_device_memory(test->device, ELEMENTS * sizeof *x), host[ELEMENTS];
    struct event *event;

    OK(event_create(test->device, false, &event));
    gate_close(test, test->stream);
    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 7));
    OK(event_record(event, test->stream));
    assert_int_equal(event_query(event), STATUS_NOT_READY);
    gate_open(test);
    OK(event_synchronize(event));
    assert_ok(event_query(event));
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, x, sizeof host));
    assert_float_equal(host[ELEMENTS - 1], 7, 0);
    event_destroy(event);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

/* Arguments are copied at the launch: the caller's struct may go. */
DEVICE_TEST(arguments_are_taken_at_the_launch)
{
    float *x = cpu_device_memory(test->device, ELEMENTS * sizeof *x), host[ELEMENTS];
    struct fill arguments = { .y = x, .value = 4 };

    gate_close(test, test->stream);
    OK(device_launch(test->stream, KERNEL_fill, DTYPE_F32, ELEMENTS, &arguments, sizeof arguments));
    arguments = (struct fill){ .y = NULL, .value = 5 };
    gate_open(test);
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, x, sizeof host));
    assert_float_equal(host[0], 4, 0);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

DEVICE_TEST(a_query_that_is_not_ready_leaves_the_last_error_alone)
{
    struct event *event;
    struct status_error before;

    OK(event_create(test->device, false, &event));
    gate_close(test, test->stream);
    OK(event_record(event, test->stream));
    before = *status_last();
    assert_int_equal(event_query(event), STATUS_NOT_READY);
    assert_memory_equal(&before, status_last(), sizeof before);
    gate_open(test);
    OK(stream_synchronize(test->stream));
    event_destroy(event);
}

DEVICE_TEST(other_streams_go_on_while_one_waits)
{
    struct stream *other;
    struct event *here, *there;

    OK(stream_create(test->device, &other));
    OK(event_create(test->device, false, &here));
    OK(event_create(test->device, false, &there));
    gate_close(test, test->stream);
    OK(event_record(here, test->stream));
    OK(event_record(there, other));
    OK(stream_synchronize(other));
    assert_ok(event_query(there));
    assert_int_equal(event_query(here), STATUS_NOT_READY);
    gate_open(test);
    OK(stream_synchronize(test->stream));
    event_destroy(here);
    event_destroy(there);
    stream_destroy(other);
}

DEVICE_TEST(a_stream_waits_for_an_event_without_the_host)
{
    float *x = cpu_device_memory(test->device, ELEMENTS * sizeof *x), host[ELEMENTS];
    struct device_counters before = device_counters(test->device), after;
    struct stream *other;
    struct event *filled, *added;

    OK(stream_create(test->device, &other));
    OK(event_create(test->device, false, &filled));
    OK(event_create(test->device, false, &added));
    gate_close(test, test->stream);
    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 2));
    OK(event_record(filled, test->stream));
    OK(stream_wait_event(other, filled));
    OK(LAUNCH(other, DTYPE_F32, residual_add, ELEMENTS, .y = x, .a = x, .b = x));
    OK(event_record(added, other));
    assert_int_equal(event_query(added), STATUS_NOT_READY);
    after = device_counters(test->device);
    assert_int_equal(after.synchronizations, before.synchronizations);
    gate_open(test);
    OK(event_synchronize(added));
    OK(device_copy(other, COPY_DEVICE_TO_HOST, host, x, sizeof host));
    assert_float_equal(host[5], 4, 0);
    event_destroy(filled);
    event_destroy(added);
    stream_destroy(other);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

DEVICE_TEST(an_event_never_recorded_is_ready_and_holds_nobody_up)
{
    struct event *event;

    OK(event_create(test->device, true, &event));
    assert_ok(event_query(event));
    OK(event_synchronize(event));
    OK(stream_wait_event(test->stream, event));
    OK(stream_synchronize(test->stream));
    event_destroy(event);
}

DEVICE_TEST(the_last_record_counts_across_streams)
{
    struct stream *other;
    struct event *event;

    OK(stream_create(test->device, &other));
    OK(event_create(test->device, true, &event));
    gate_close(test, test->stream);
    OK(event_record(event, test->stream)); /* stuck */
    OK(event_record(event, other));        /* passes */
    OK(event_synchronize(event));
    assert_ok(event_query(event));
    gate_open(test);
    OK(stream_synchronize(test->stream)); /* The late, earlier record does not turn it back. */
    assert_ok(event_query(event));
    event_destroy(event);
    stream_destroy(other);
}

DEVICE_TEST(events_may_go_while_they_are_pending)
{
    struct stream *other;
    struct event *event;

    OK(stream_create(test->device, &other));
    OK(event_create(test->device, false, &event));
    gate_close(test, test->stream);
    OK(event_record(event, test->stream));
    OK(stream_wait_event(other, event));
    event_destroy(event);
    gate_open(test);
    OK(stream_synchronize(other));
    stream_destroy(other);
}

DEVICE_TEST(elapsed_time_is_the_devices_and_adds_up)
{
    size_t bytes = 4 << 20;
    void *x = cpu_device_memory(test->device, bytes);
    struct event *marks[3], *plain;
    double first, second, both;

    for (int i = 0; i < 3; i++) OK(event_create(test->device, true, &marks[i]));
    OK(event_create(test->device, false, &plain));
    assert_int_equal(event_elapsed(marks[0], marks[1], &both), STATUS_BAD_USAGE);
    for (int i = 0; i < 3; i++) {
        OK(event_record(marks[i], test->stream));
        OK(device_memset(test->stream, x, i, bytes));
    }
    OK(event_record(plain, test->stream));
    OK(stream_synchronize(test->stream));
    OK(event_elapsed(marks[0], marks[1], &first));
    OK(event_elapsed(marks[1], marks[2], &second));
    OK(event_elapsed(marks[0], marks[2], &both));
    assert_true(first > 0 && second > 0);
    /* The CPU device counts whole nanoseconds, CUDA in a float of milliseconds. */
    assert_true(fabs(first + second - both) <= (strcmp(test_device_name(), "cpu") ? 2000 : 0));
    assert_int_equal(event_elapsed(marks[0], plain, &both), STATUS_BAD_USAGE);
    assert_error_says("without timing");

    gate_close(test, test->stream);
    OK(event_record(marks[2], test->stream));
    assert_int_equal(event_elapsed(marks[0], marks[2], &both), STATUS_NOT_READY);
    gate_open(test);
    for (int i = 0; i < 3; i++) event_destroy(marks[i]);
    event_destroy(plain);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

enum { THREADS = 4, LAUNCHES = 2000 };

struct launcher {
    struct cpu_device_test *test;
    float *x;
};

static void *launch_often(void *argument)
{
    struct launcher *launcher = argument;
    struct stream *stream = launcher->test->stream;

    for (int i = 0; i < LAUNCHES; i++) {
        if (LAUNCH(stream, DTYPE_F32, residual_add, ELEMENTS, .y = launcher->x, .a = launcher->x,
                   .b = launcher->x + ELEMENTS) != STATUS_OK)
            return launcher;
        if (i % 500 == 0 && stream_synchronize(stream) != STATUS_OK)
            return launcher;
    }
    return NULL;
}

/* y += 1 from several threads on one stream: one worker, so none is lost, and all are counted. */
DEVICE_TEST(several_threads_may_launch_on_one_stream)
{
    float *x = cpu_device_memory(test->device, 2 * ELEMENTS * sizeof *x), host[ELEMENTS];
    struct launcher launcher = { test, x };
    struct device_counters before = device_counters(test->device), after;
    pthread_t threads[THREADS];
    void *failed;

    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 0));
    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x + ELEMENTS, .value = 1));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &launcher), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, x, sizeof host));
    for (int i = 0; i < ELEMENTS; i++) assert_float_equal(host[i], THREADS * LAUNCHES, 0);
    after = device_counters(test->device);
    assert_int_equal(after.launches - before.launches, THREADS * LAUNCHES + 2);
    assert_int_equal(after.synchronizations - before.synchronizations, THREADS * 4 + 1);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

DEVICE_TEST(destroying_a_stream_waits_for_its_work)
{
    float *x = cpu_device_memory(test->device, ELEMENTS * sizeof *x), host[ELEMENTS];
    struct stream *other;

    OK(stream_create(test->device, &other));
    for (int i = 0; i < 500; i++)
        OK(LAUNCH(other, DTYPE_F32, fill, ELEMENTS, .y = x, .value = (float)i));
    stream_destroy(other);
    stream_destroy(NULL);
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, x, sizeof host));
    assert_float_equal(host[3], 499, 0);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

DEVICE_TEST(the_device_waits_for_all_its_streams)
{
    struct stream *streams[3];
    struct event *events[3];
    char *memory = test->gate_target;

    for (int i = 0; i < 3; i++) {
        OK(stream_create(test->device, &streams[i]));
        OK(event_create(test->device, false, &events[i]));
        for (int j = 0; j < 200; j++) OK(device_memset(streams[i], memory + 1024 * i, j, 1024));
        OK(event_record(events[i], streams[i]));
    }
    OK(device_synchronize(test->device));
    for (int i = 0; i < 3; i++) {
        assert_ok(event_query(events[i]));
        event_destroy(events[i]);
        stream_destroy(streams[i]);
    }
}

DEVICE_TEST(kernels_exist_for_every_type)
{
    void *x = cpu_device_memory(test->device, 256);
    static const uint32_t ones[DTYPE_COUNT] = { 0x3f800000, 0x3f803f80, 0x3c003c00 };
    uint32_t bits;

    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        OK(LAUNCH(test->stream, (enum dtype)dtype, fill, ELEMENTS, .y = x, .value = 1));
        OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, &bits, x, sizeof bits));
        assert_int_equal(bits, ones[dtype]);
    }
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

TESTS_WITH(cpu_device_open, cpu_device_close)
