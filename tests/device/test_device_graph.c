/* Graphs of a device: what is recorded, what runs, what a capture does not allow. */
#include "tests/fixtures/lab/cpu_device.h"

#include <pthread.h>

enum { ELEMENTS = 64 };

DEVICE_TEST(recorded_work_runs_at_the_launch_and_not_before)
{
    float *x = cpu_device_memory(test->device, 2 * ELEMENTS * sizeof *x), *one = x + ELEMENTS;
    float host[ELEMENTS];
    struct device_counters before, after;
    struct graph *graph;

    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 10));
    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = one, .value = 1));
    before = device_counters(test->device);
    OK(graph_begin(test->stream));
    for (int i = 0; i < 100; i++) /* more than a graph has room for at first */
        OK(LAUNCH(test->stream, DTYPE_F32, residual_add, ELEMENTS, .y = x, .a = x, .b = one));
    OK(graph_end(test->stream, &graph));
    assert_int_equal(graph_nodes(graph), 100);
    after = device_counters(test->device);
    assert_int_equal(after.launches, before.launches);

    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, x, sizeof host));
    assert_float_equal(host[0], 10, 0);
    for (int i = 0; i < 3; i++) OK(graph_launch(test->stream, graph));
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, x, sizeof host));
    for (int i = 0; i < ELEMENTS; i++) assert_float_equal(host[i], 310, 0);
    after = device_counters(test->device);
    assert_int_equal(after.graph_launches - before.graph_launches, 3);
    assert_int_equal(after.launches, before.launches);
    graph_destroy(graph);
    graph_destroy(NULL);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

/* A product is resolved at the capture; pinned copies, device copies and memsets are nodes too. */
DEVICE_TEST(everything_but_pageable_copies_can_be_recorded)
{
    float *x = cpu_device_memory(test->device, 4096), *pinned, *y = x + ELEMENTS, host[ELEMENTS];
    struct graph *graph;

    OK(host_alloc(test->device, true, ELEMENTS * sizeof *pinned, (void **)&pinned));
    OK(graph_begin(test->stream));
    OK(device_memset(test->stream, x, 0, 4096));
    OK(device_copy_async(test->stream, COPY_HOST_TO_DEVICE, x, pinned, ELEMENTS * sizeof *x));
    OK(device_copy_async(test->stream, COPY_DEVICE_TO_DEVICE, y, x, ELEMENTS * sizeof *x));
    OK(device_gemm(test->stream, &(struct gemm){ .c = y + ELEMENTS,
                                                 .a = x,
                                                 .b = y,
                                                 .m = 8,
                                                 .n = 8,
                                                 .k = 8,
                                                 .batch = 1,
                                                 .lda = 8,
                                                 .ldb = 8,
                                                 .ldc = 8 }));
    OK(device_copy_async(test->stream, COPY_DEVICE_TO_HOST, pinned, y + ELEMENTS,
                         ELEMENTS * sizeof *x));
    OK(graph_end(test->stream, &graph));
    if (strcmp(test_device_name(), "cpu") == 0)
        assert_int_equal(graph_nodes(graph), 5);
    else
        assert_in_range(graph_nodes(graph), 5, 8); /* A product may be several kernels of cuBLAS. */
    for (int i = 0; i < ELEMENTS; i++) pinned[i] = 0.5f;
    OK(graph_launch(test->stream, graph)); /* pinned = pinned * pinned */
    OK(graph_launch(test->stream, graph));
    OK(stream_synchronize(test->stream));
    for (int i = 0; i < ELEMENTS; i++) assert_float_equal(pinned[i], 32, 0);
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, y, sizeof host));
    assert_float_equal(host[0], 2, 0);
    graph_destroy(graph);
    OK(host_free(test->device, true, pinned));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

/* Its library is loaded and its kernel chosen in the capture, which stays valid. */
DEVICE_TEST(a_product_with_an_epilogue_is_recorded_at_first_use)
{
    enum { N = 32 };
    float *x = cpu_device_memory(test->device, 4 * N * N * sizeof *x), *y = x + N * N, host[N * N];
    struct gemm gemm = { .c = y,
                         .a = x,
                         .b = x,
                         .m = N,
                         .n = N,
                         .k = N,
                         .batch = 1,
                         .lda = N,
                         .ldb = N,
                         .ldc = N,
                         .epilogue = EPILOGUE_BIAS,
                         .bias = x };
    struct graph *graph;

    if (!device_properties(test->device)->gemm_epilogues) {
        OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
        skip();
    }
    OK(LAUNCH(test->stream, DTYPE_F32, fill, N * N, .y = x, .value = 2));
    OK(graph_begin(test->stream));
    OK(device_gemm(test->stream, &gemm));
    OK(graph_end(test->stream, &graph));
    for (int i = 0; i < 2; i++) OK(graph_launch(test->stream, graph));
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, y, sizeof host));
    for (int i = 0; i < N * N; i++) assert_float_equal(host[i], 4 * N + 2, 0);
    graph_destroy(graph);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

/* The calls that a capture does not allow, and that end its validity. */
struct scene {
    struct cpu_device_test *test;
    struct stream *other;
    struct event *event;
    struct graph *graph;
    void *direct, *ordered, *pinned;
    char pageable[64];
};

static enum status synchronize_stream(struct scene *s)
{
    return stream_synchronize(s->test->stream);
}
static enum status synchronize_device(struct scene *s)
{
    return device_synchronize(s->test->device);
}
static enum status allocate_directly(struct scene *s)
{
    void *memory;
    return device_alloc(s->test->device, NULL, ALLOCATE_DIRECT, 4096, &memory);
}
static enum status free_directly(struct scene *s)
{
    return device_free(s->test->device, NULL, ALLOCATE_DIRECT, s->direct);
}
static enum status allocate_in_order(struct scene *s)
{
    void *memory;
    return device_alloc(s->test->device, s->test->stream, ALLOCATE_STREAM_ORDERED, 4096, &memory);
}
static enum status free_in_order(struct scene *s)
{
    return device_free(s->test->device, s->test->stream, ALLOCATE_STREAM_ORDERED, s->ordered);
}
static enum status allocate_pinned(struct scene *s)
{
    void *memory;
    return host_alloc(s->test->device, true, 4096, &memory);
}
static enum status free_pinned(struct scene *s)
{
    return host_free(s->test->device, true, s->pinned);
}
static enum status copy_pageable(struct scene *s)
{
    return device_copy_async(s->test->stream, COPY_HOST_TO_DEVICE, s->direct, s->pageable, 64);
}
static enum status copy_synchronously(struct scene *s)
{
    return device_copy(s->test->stream, COPY_HOST_TO_DEVICE, s->direct, s->pinned, 64);
}
static enum status wait(struct scene *s)
{
    return stream_wait_event(s->test->stream, s->event);
}
static enum status launch_graph(struct scene *s)
{
    return graph_launch(s->test->stream, s->graph);
}
static enum status begin_again(struct scene *s)
{
    return graph_begin(s->test->stream);
}
static enum status trim(struct scene *s)
{
    return device_memory_trim(s->test->device);
}

static void scene_open(struct scene *s, struct cpu_device_test *test)
{
    *s = (struct scene){ .test = test };
    OK(stream_create(test->device, &s->other));
    OK(event_create(test->device, true, &s->event));
    s->direct = cpu_device_memory(test->device, 4096);
    OK(device_alloc(test->device, test->stream, ALLOCATE_STREAM_ORDERED, 4096, &s->ordered));
    OK(host_alloc(test->device, true, 4096, &s->pinned));
    OK(graph_begin(test->stream));
    OK(device_memset(test->stream, s->direct, 0, 64));
    OK(graph_end(test->stream, &s->graph));
}

static void scene_close(struct scene *s)
{
    graph_destroy(s->graph);
    OK(host_free(s->test->device, true, s->pinned));
    OK(device_free(s->test->device, s->test->stream, ALLOCATE_STREAM_ORDERED, s->ordered));
    OK(device_free(s->test->device, NULL, ALLOCATE_DIRECT, s->direct));
    event_destroy(s->event);
    stream_destroy(s->other);
}

TEST(forbidden_calls_are_refused_and_end_the_capture)
{
    static const struct {
        const char *name;
        enum status (*call)(struct scene *);
        bool invalidates;
    } calls[] = {
        { "synchronize_stream", synchronize_stream, true },
        { "synchronize_device", synchronize_device, true },
        { "allocate_directly", allocate_directly, true },
        { "free_directly", free_directly, true },
        { "allocate_in_order", allocate_in_order, true },
        { "free_in_order", free_in_order, true },
        { "allocate_pinned", allocate_pinned, true },
        { "free_pinned", free_pinned, true },
        { "copy_pageable", copy_pageable, true },
        { "copy_synchronously", copy_synchronously, true },
        { "wait", wait, true },
        { "launch_graph", launch_graph, true },
        { "trim", trim, true },
        { "begin_again", begin_again, false },
    };
    struct scene scene;
    struct memory_info before, after;

    scene_open(&scene, *state);
    OK(device_memory_info(scene.test->device, &before));
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        struct graph *graph = (struct graph *)&scene;
        OK(graph_begin(scene.test->stream));
        OK(device_memset(scene.test->stream, scene.direct, 0, 64));
        if (calls[i].call(&scene) != STATUS_CAPTURE)
            fail_msg("%s was not refused in a capture", calls[i].name);
        if (calls[i].invalidates) {
            assert_int_equal(graph_end(scene.test->stream, &graph), STATUS_CAPTURE);
            assert_null(graph);
        } else {
            OK(graph_end(scene.test->stream, &graph));
            graph_destroy(graph);
        }
        OK(stream_synchronize(scene.test->stream)); /* The stream itself is as good as before. */
    }
    OK(device_memory_info(scene.test->device, &after));
    assert_int_equal(after.used, before.used);
    scene_close(&scene);
}

/* Not when it is captured, but at every launch, each time anew. */
DEVICE_TEST(a_recorded_event_is_made_by_every_launch)
{
    int64_t records = device_counters(test->device).event_records;
    struct event *before, *between;
    struct graph *graph;
    double first_ns = 0, second_ns = 0, ns = 0;

    OK(event_create(test->device, true, &before));
    OK(event_create(test->device, true, &between));
    OK(event_record(before, test->stream));
    OK(graph_begin(test->stream));
    OK(device_memset(test->stream, test->gate_target, 1, 64));
    OK(event_record(between, test->stream));
    OK(device_memset(test->stream, test->gate_target, 2, 64));
    OK(graph_end(test->stream, &graph));
    assert_int_equal(device_counters(test->device).event_records, records + 1);
    OK(graph_launch(test->stream, graph));
    OK(stream_synchronize(test->stream));
    OK(event_elapsed(before, between, &first_ns));
    assert_true(first_ns > 0);
    OK(graph_launch(test->stream, graph));
    OK(stream_synchronize(test->stream));
    OK(event_elapsed(before, between, &second_ns));
    assert_true(second_ns > first_ns);

    graph_destroy(graph);
    OK(event_record(between, test->stream)); /* The event is as good as any other. */
    OK(event_synchronize(between));
    OK(event_elapsed(before, between, &ns));
    assert_true(ns > second_ns);
    event_destroy(before);
    event_destroy(between);
}

TEST(other_streams_and_events_stay_usable_during_a_capture)
{
    struct scene scene;
    struct graph *graph;

    scene_open(&scene, *state);
    OK(graph_begin(scene.test->stream));
    OK(device_memset(scene.other, scene.direct, 1, 64));
    OK(event_record(scene.event, scene.other));
    OK(stream_synchronize(scene.other));
    OK(event_synchronize(scene.event));
    assert_ok(event_query(scene.event));
    OK(device_copy(scene.other, COPY_DEVICE_TO_HOST, scene.pageable, scene.direct, 64));
    assert_int_equal(scene.pageable[63], 1);
    OK(graph_end(scene.test->stream, &graph));
    assert_int_equal(graph_nodes(graph), 0);
    OK(graph_launch(scene.test->stream, graph));
    OK(stream_synchronize(scene.test->stream));
    graph_destroy(graph);
    scene_close(&scene);
}

static void *allocate_elsewhere(void *argument)
{
    struct scene *scene = argument;
    void *memory;

    if (device_alloc(scene->test->device, NULL, ALLOCATE_DIRECT, 4096, &memory) != STATUS_OK ||
        device_free(scene->test->device, NULL, ALLOCATE_DIRECT, memory) != STATUS_OK)
        return scene;
    return NULL;
}

/* The mode is thread-local: what a loader thread does meanwhile is its own affair. */
TEST(other_threads_may_allocate_during_a_capture)
{
    struct scene scene;
    struct graph *graph;
    pthread_t thread;
    void *failed;

    scene_open(&scene, *state);
    OK(graph_begin(scene.test->stream));
    assert_int_equal(pthread_create(&thread, NULL, allocate_elsewhere, &scene), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    OK(graph_end(scene.test->stream, &graph));
    graph_destroy(graph);
    scene_close(&scene);
}

static void *end_elsewhere(void *argument)
{
    struct cpu_device_test *test = argument;
    struct graph *graph;

    return graph_end(test->stream, &graph) == STATUS_CAPTURE &&
                   device_memset(test->stream, test->gate_target, 0, 1) == STATUS_CAPTURE
               ? NULL
               : test;
}

DEVICE_TEST(a_capture_belongs_to_its_thread)
{
    struct graph *graph;
    pthread_t thread;
    void *failed;

    assert_int_equal(graph_end(test->stream, &graph), STATUS_CAPTURE);
    assert_error_says("not being captured");
    OK(graph_begin(test->stream));
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, test), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(graph_end(test->stream, &graph), STATUS_CAPTURE); /* spoilt by the memset */
}

DEVICE_TEST(a_stream_may_end_in_the_middle_of_a_capture)
{
    struct stream *stream;

    OK(stream_create(test->device, &stream));
    OK(graph_begin(stream));
    OK(device_memset(stream, test->gate_target, 0, 1));
    stream_destroy(stream);
    OK(device_synchronize(test->device)); /* This thread captures nothing any more. */
}

DEVICE_TEST(a_graph_may_go_while_it_is_queued)
{
    struct graph *graph;
    char host[64];

    OK(graph_begin(test->stream));
    OK(device_memset(test->stream, test->gate_target, 42, 64));
    OK(graph_end(test->stream, &graph));
    gate_close(test, test->stream);
    OK(graph_launch(test->stream, graph));
    graph_destroy(graph);
    gate_open(test);
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, test->gate_target, 64));
    assert_int_equal(host[63], 42);
}

/* x += 1, a thousand times, from two streams: each run is whole or the count would be short. */
DEVICE_TEST(a_graph_never_runs_twice_at_a_time)
{
    float *x = cpu_device_memory(test->device, 2 * ELEMENTS * sizeof *x), *one = x + ELEMENTS;
    float host[ELEMENTS];
    struct stream *other;
    struct graph *graph;

    OK(stream_create(test->device, &other));
    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 0));
    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = one, .value = 1));
    OK(stream_synchronize(test->stream));
    OK(graph_begin(test->stream));
    for (int i = 0; i < 10; i++)
        OK(LAUNCH(test->stream, DTYPE_F32, residual_add, ELEMENTS, .y = x, .a = x, .b = one));
    OK(graph_end(test->stream, &graph));
    for (int i = 0; i < 1000; i++) OK(graph_launch(i % 2 ? other : test->stream, graph));
    OK(device_synchronize(test->device));
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, x, sizeof host));
    assert_float_equal(host[0], 10000, 0);
    graph_destroy(graph);
    stream_destroy(other);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

/* A graph may need memory of its own: 400 of them, one after the other, must not. */
DEVICE_TEST(graphs_come_and_go_while_another_stream_is_busy)
{
    struct stream *busy;
    unsigned char host[64];
    void *target = cpu_device_memory(test->device, sizeof host);

    OK(stream_create(test->device, &busy));
    gate_close(test, busy);
    for (int i = 0; i < 400; i++) {
        struct graph *graph;

        OK(graph_begin(test->stream));
        OK(device_memset(test->stream, target, i % 256, sizeof host));
        OK(graph_end(test->stream, &graph));
        OK(graph_launch(test->stream, graph));
        OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, target, sizeof host));
        assert_int_equal(host[63], i % 256);
        graph_destroy(graph);
    }
    gate_open(test);
    stream_destroy(busy);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, target));
}

TESTS_WITH(cpu_device_open, cpu_device_close)
