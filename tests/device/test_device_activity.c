/* The records of the CPU device: every host call once, and with the work it caused. */
#include "tests/fixtures/lab/cpu_device.h"

#include <pthread.h>
#include <unistd.h>

enum { RECORDS = 20000, ELEMENTS = 64 };

static struct {
    pthread_mutex_t lock;
    struct activity records[RECORDS];
    int count;
} recorded = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void record(void *context, const struct activity *activity)
{
    assert_ptr_equal(context, &recorded);
    pthread_mutex_lock(&recorded.lock);
    if (recorded.count < RECORDS)
        recorded.records[recorded.count] = *activity;
    recorded.count++;
    pthread_mutex_unlock(&recorded.lock);
}

static int open_recorded(void **state)
{
    cpu_device_options.sink = (struct activity_sink){ .record = record, .context = &recorded };
    return cpu_device_open(state);
}

/* Drops what was recorded so far; nothing may be under way. */
static void begin(struct cpu_device_test *test)
{
    OK(device_synchronize(test->device));
    recorded.count = 0;
}

static int count_of(enum activity_kind kind, const char *name)
{
    int count = 0;

    assert_true(recorded.count <= RECORDS);
    for (int i = 0; i < recorded.count; i++)
        count += recorded.records[i].kind == kind &&
                 (name == NULL || strcmp(recorded.records[i].name, name) == 0);
    return count;
}

/* The only record of `kind` and `name` (NULL: any). */
static const struct activity *the(enum activity_kind kind, const char *name)
{
    for (int i = 0; i < recorded.count; i++)
        if (recorded.records[i].kind == kind &&
            (name == NULL || strcmp(recorded.records[i].name, name) == 0)) {
            assert_int_equal(count_of(kind, name), 1);
            return &recorded.records[i];
        }
    fail_msg("no record of kind %d and name %s", (int)kind, name == NULL ? "(any)" : name);
    return NULL;
}

/* The host call that caused `work`: exactly one has its correlation id. */
static const struct activity *cause_of(const struct activity *work)
{
    const struct activity *cause = NULL;

    assert_int_not_equal(work->correlation, 0);
    for (int i = 0; i < recorded.count; i++)
        if (recorded.records[i].kind == ACTIVITY_RUNTIME &&
            recorded.records[i].correlation == work->correlation) {
            assert_null(cause);
            cause = &recorded.records[i];
        }
    assert_non_null(cause);
    return cause;
}

DEVICE_TEST(every_kernel_has_exactly_one_launch)
{
    enum { LAUNCHES = 300 };
    float *x = cpu_device_memory(test->device, ELEMENTS * sizeof *x);
    int64_t end_of_last = 0;
    int kernels = 0;

    begin(test);
    for (int i = 0; i < LAUNCHES; i++)
        OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 1));
    OK(stream_synchronize(test->stream));
    assert_int_equal(count_of(ACTIVITY_RUNTIME, "cudaLaunchKernel"), LAUNCHES);
    assert_int_equal(count_of(ACTIVITY_KERNEL, "fill_f32"), LAUNCHES);
    for (int i = 0; i < recorded.count; i++) {
        const struct activity *kernel = &recorded.records[i], *launch;
        if (kernel->kind != ACTIVITY_KERNEL)
            continue;
        launch = cause_of(kernel);
        kernels++;
        assert_string_equal(launch->name, "cudaLaunchKernel");
        assert_int_equal(launch->thread, gettid());
        assert_true(launch->start_ns <= kernel->start_ns); /* The end may come earlier or later. */
        assert_true(launch->start_ns <= launch->end_ns && kernel->start_ns <= kernel->end_ns);
        assert_true(end_of_last <= kernel->start_ns); /* one after the other */
        end_of_last = kernel->end_ns;
        assert_int_equal(kernel->stream, 1);
        assert_int_equal(kernel->grid[0], ELEMENTS);
        assert_int_equal(kernel->block[0], 1);
        assert_int_equal(kernel->graph, 0);
    }
    assert_int_equal(kernels, LAUNCHES);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

DEVICE_TEST(products_are_named_by_type_transposes_and_shape)
{
    float *x = cpu_device_memory(test->device, 16384);
    struct gemm gemm = { .c = x,
                         .a = x,
                         .b = x,
                         .m = 4,
                         .n = 8,
                         .k = 16,
                         .batch = 1,
                         .lda = 16,
                         .ldb = 16,
                         .ldc = 8,
                         .transpose_b = true };

    begin(test);
    OK(device_gemm(test->stream, &gemm));
    gemm.dtype_ab = DTYPE_BF16;
    gemm.batch = 3;
    gemm.stride_a = gemm.stride_b = gemm.stride_c = 256;
    OK(device_gemm(test->stream, &gemm));
    OK(stream_synchronize(test->stream));
    assert_string_equal(cause_of(the(ACTIVITY_KERNEL, "gemm_f32_nt_4x8x16"))->name,
                        "cudaLaunchKernel");
    cause_of(the(ACTIVITY_KERNEL, "gemm_bf16f32_nt_4x8x16_b3"));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

DEVICE_TEST(copies_say_direction_memory_and_bytes)
{
    enum { LARGE = 3 * 1024 * 1024 + 5 };
    unsigned char *device = cpu_device_memory(test->device, 2 * LARGE), *pageable, *pinned;
    const struct activity *copy;

    OK(host_alloc(test->device, false, LARGE, (void **)&pageable));
    OK(host_alloc(test->device, true, LARGE, (void **)&pinned));
    memset(pageable, 1, LARGE);
    begin(test);
    OK(device_copy_async(test->stream, COPY_HOST_TO_DEVICE, device, pageable, LARGE));
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, pinned, device, 1000));
    OK(device_copy_async(test->stream, COPY_DEVICE_TO_DEVICE, device + LARGE, device, LARGE));
    OK(device_memset(test->stream, device, 0, 77));
    OK(stream_synchronize(test->stream));
    assert_int_equal(count_of(ACTIVITY_MEMCPY, NULL), 3); /* The staged one is one, too. */

    copy = the(ACTIVITY_MEMCPY, "Memcpy HtoD (Pageable -> Device)");
    assert_string_equal(cause_of(copy)->name, "cudaMemcpyAsync");
    assert_int_equal(copy->bytes, LARGE);
    assert_int_equal(copy->copy, ACTIVITY_COPY_HTOD);
    assert_int_equal(copy->source, ACTIVITY_MEMORY_PAGEABLE);
    assert_int_equal(copy->destination, ACTIVITY_MEMORY_DEVICE);
    assert_true(copy->asynchronous);
    assert_true(copy->start_ns >= cause_of(copy)->start_ns && copy->start_ns < copy->end_ns);

    copy = the(ACTIVITY_MEMCPY, "Memcpy DtoH (Device -> Pinned)");
    assert_string_equal(cause_of(copy)->name, "cudaMemcpy");
    assert_int_equal(copy->bytes, 1000);
    assert_int_equal(copy->destination, ACTIVITY_MEMORY_PINNED);
    assert_false(copy->asynchronous);
    assert_true(cause_of(copy)->end_ns >= copy->end_ns); /* It waited. */

    copy = the(ACTIVITY_MEMCPY, "Memcpy DtoD (Device -> Device)");
    assert_int_equal(copy->copy, ACTIVITY_COPY_DTOD);
    copy = the(ACTIVITY_MEMSET, "Memset (Device)");
    assert_string_equal(cause_of(copy)->name, "cudaMemsetAsync");
    assert_int_equal(copy->bytes, 77);
    OK(host_free(test->device, false, pageable));
    OK(host_free(test->device, true, pinned));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

DEVICE_TEST(nodes_carry_the_launch_of_their_graph)
{
    enum { NODES = 5, LAUNCHES = 3 };
    float *x = cpu_device_memory(test->device, ELEMENTS * sizeof *x);
    int seen[NODES] = { 0 };
    uint32_t id = 0;
    struct graph *graph;

    begin(test);
    OK(graph_begin(test->stream));
    for (int i = 0; i < NODES; i++)
        OK(LAUNCH(test->stream, DTYPE_BF16, fill, ELEMENTS, .y = x, .value = 1));
    OK(graph_end(test->stream, &graph));
    assert_int_equal(count_of(ACTIVITY_KERNEL, NULL), 0);
    assert_int_equal(count_of(ACTIVITY_RUNTIME, "cudaStreamBeginCapture"), 1);
    assert_int_equal(count_of(ACTIVITY_RUNTIME, "cudaGraphInstantiate"), 1);
    begin(test);
    for (int i = 0; i < LAUNCHES; i++) OK(graph_launch(test->stream, graph));
    OK(stream_synchronize(test->stream));
    assert_int_equal(count_of(ACTIVITY_RUNTIME, "cudaGraphLaunch"), LAUNCHES);
    assert_int_equal(count_of(ACTIVITY_RUNTIME, "cudaLaunchKernel"), 0);
    assert_int_equal(count_of(ACTIVITY_KERNEL, "fill_bf16"), NODES * LAUNCHES);
    for (int i = 0; i < recorded.count; i++) {
        const struct activity *kernel = &recorded.records[i];
        if (kernel->kind != ACTIVITY_KERNEL)
            continue;
        assert_string_equal(cause_of(kernel)->name, "cudaGraphLaunch");
        assert_int_not_equal(kernel->graph, 0);
        assert_true(id == 0 || kernel->graph == id);
        id = kernel->graph;
        seen[kernel->graph_node]++;
    }
    for (int i = 0; i < NODES; i++) assert_int_equal(seen[i], LAUNCHES);
    graph_destroy(graph);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

DEVICE_TEST(waits_are_recorded_twice_as_call_and_as_wait)
{
    struct event *event;
    const struct activity *wait;

    OK(event_create(test->device, true, &event));
    begin(test);
    OK(event_record(event, test->stream));
    OK(event_synchronize(event));
    OK(stream_wait_event(test->stream, event));
    OK(stream_synchronize(test->stream));
    OK(device_synchronize(test->device));
    the(ACTIVITY_RUNTIME, "cudaEventRecord");
    the(ACTIVITY_RUNTIME, "cudaStreamWaitEvent");
    assert_int_equal(count_of(ACTIVITY_SYNCHRONIZATION, NULL), 3);
    wait = the(ACTIVITY_SYNCHRONIZATION, "Stream Synchronize");
    assert_string_equal(cause_of(wait)->name, "cudaStreamSynchronize");
    assert_int_equal(wait->stream, 1);
    assert_int_equal(wait->thread, gettid());
    assert_string_equal(cause_of(the(ACTIVITY_SYNCHRONIZATION, "Event Synchronize"))->name,
                        "cudaEventSynchronize");
    assert_string_equal(cause_of(the(ACTIVITY_SYNCHRONIZATION, "Context Synchronize"))->name,
                        "cudaDeviceSynchronize");
    event_destroy(event);
}

DEVICE_TEST(allocations_and_releases_cancel_out_by_address)
{
    static const char *const names[] = { "cudaMalloc", "cudaMallocAsync", "cudaHostAlloc",
                                         "cudaFree",   "cudaFreeAsync",   "cudaFreeHost" };
    static const enum activity_memory kinds[] = { ACTIVITY_MEMORY_DEVICE, ACTIVITY_MEMORY_DEVICE,
                                                  ACTIVITY_MEMORY_PINNED };
    void *direct, *ordered, *pinned;
    int64_t bytes = 0;
    int found = 0;

    begin(test);
    direct = cpu_device_memory(test->device, 5000);
    OK(device_alloc(test->device, test->stream, ALLOCATE_STREAM_ORDERED, 700, &ordered));
    OK(host_alloc(test->device, true, 100, &pinned));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, direct));
    OK(device_free(test->device, test->stream, ALLOCATE_STREAM_ORDERED, ordered));
    OK(host_free(test->device, true, pinned));
    for (int i = 0; i < recorded.count; i++) {
        const struct activity *memory = &recorded.records[i];
        if (memory->kind != ACTIVITY_MEMORY)
            continue;
        assert_string_equal(cause_of(memory)->name, names[found]);
        assert_int_equal(memory->destination, kinds[found % 3]);
        assert_int_equal(memory->asynchronous, found % 3 == 1);
        assert_true(found < 3 ? memory->bytes > 0 : memory->bytes < 0);
        assert_ptr_equal((void *)(uintptr_t)memory->address,
                         ((void *[]){ direct, ordered, pinned })[found % 3]);
        bytes += memory->bytes;
        found++;
    }
    assert_int_equal(found, 6);
    assert_int_equal(bytes, 0);
}

DEVICE_TEST(phases_nest_and_belong_to_their_thread)
{
    const struct activity *step, *forward;

    begin(test);
    phase_push(test->device, "step");
    phase_push(test->device, "forward");
    phase_pop(test->device);
    phase_pop(test->device);
    phase_pop(test->device); /* one too many does no harm */
    step = the(ACTIVITY_PHASE, "step");
    forward = the(ACTIVITY_PHASE, "forward");
    assert_true(step->start_ns <= forward->start_ns && forward->end_ns <= step->end_ns);
    assert_int_equal(step->thread, gettid());
}

DEVICE_TEST(streams_have_numbers_of_their_own)
{
    struct stream *first, *second;
    const struct activity *set;
    uint32_t numbers[2];

    for (int i = 0; i < 2; i++) { /* The second comes where the first was. */
        OK(stream_create(test->device, &first));
        begin(test);
        OK(device_memset(first, test->gate_target, 0, 8));
        OK(stream_synchronize(first));
        set = the(ACTIVITY_MEMSET, NULL);
        numbers[i] = set->stream;
        stream_destroy(first);
    }
    OK(stream_create(test->device, &second));
    stream_destroy(second);
    assert_true(numbers[0] > 1 && numbers[1] > numbers[0]);
}

TESTS_WITH(open_recorded, cpu_device_close)
