/* The CUDA device records itself: every piece of device work once, with the call that caused it,
 * on the host's clock, and nothing lost. Also says what only a real GPU can answer about CUPTI.
 *
 * The first test comes before anything is recorded: a process that is timed has no CUPTI in it. */
#include "tests/fixtures/lab/cpu_device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

enum { RECORDS = 20000, ELEMENTS = 64 };

/* GPU times are mapped to the host's clock by a fit, which may be several us wrong, more in a
 * virtual machine: so a kernel may seem to start before its launch does. */
enum { EARLY_NS = 50000 };

/* Before CUDA 13.1 Update 1 nodes of a graph had wrong correlations in the sessions of a process
 * after the first (release notes of CUDA 13.1 Update 1, "CUPTI"). A recording process of ours has
 * one session. */
enum { LATER_SESSIONS_CORRELATE = 130101 };

static int sessions; /* devices that recorded in this process, the open one included */

static struct {
    pthread_mutex_t lock;
    struct activity records[RECORDS];
    int count;
    int64_t dropped;
} recorded = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void record(void *context, const struct activity *activity)
{
    (void)context;
    pthread_mutex_lock(&recorded.lock);
    if (recorded.count < RECORDS)
        recorded.records[recorded.count] = *activity;
    recorded.count++;
    pthread_mutex_unlock(&recorded.lock);
}

static void count_dropped(void *context, int64_t records)
{
    (void)context;
    recorded.dropped += records;
}

static bool is_stand_in(const struct cpu_device_test *test)
{
    return strstr(device_properties(test->device)->name, "stand-in") != NULL;
}

/* Forgets what was recorded so far. */
static void begin(struct cpu_device_test *test)
{
    OK(device_synchronize(test->device));
    OK(device_activity_flush(test->device));
    recorded.count = 0;
    recorded.dropped = 0;
}

static void end(struct cpu_device_test *test)
{
    OK(device_synchronize(test->device));
    OK(device_activity_flush(test->device));
    assert_true(recorded.count <= RECORDS);
    assert_int_equal(recorded.dropped, 0);
}

static int count_of(enum activity_kind kind, const char *name)
{
    int count = 0;

    for (int i = 0; i < recorded.count; i++)
        count += recorded.records[i].kind == kind &&
                 (name == NULL || strcmp(recorded.records[i].name, name) == 0);
    return count;
}

/* The only record of `kind` whose bytes are these. */
static const struct activity *the(enum activity_kind kind, int64_t bytes)
{
    const struct activity *found = NULL;

    for (int i = 0; i < recorded.count; i++)
        if (recorded.records[i].kind == kind && recorded.records[i].bytes == bytes) {
            assert_null(found);
            found = &recorded.records[i];
        }
    if (found == NULL)
        fail_msg("no record of kind %d and %lld bytes", (int)kind, (long long)bytes);
    return found;
}

/* The host call that caused `work`: exactly one has its correlation. */
static const struct activity *cause_of(const struct activity *work)
{
    const struct activity *cause = NULL;

    assert_int_not_equal(work->correlation, 0);
    for (int i = 0; i < recorded.count; i++) {
        const struct activity *call = &recorded.records[i];
        if ((call->kind != ACTIVITY_RUNTIME && call->kind != ACTIVITY_DRIVER) ||
            call->correlation != work->correlation)
            continue;
        if (cause != NULL)
            fail_msg("%s has two causes: %s and %s", work->name, cause->name, call->name);
        cause = call;
    }
    if (cause == NULL)
        fail_msg("%s, correlation %u, has no cause", work->name, work->correlation);
    return cause;
}

static int64_t early_ns(const struct activity *work)
{
    return cause_of(work)->start_ns - work->start_ns;
}

static bool is_mapped(const char *library)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    bool mapped = false;

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) mapped = mapped || strstr(line, library) != NULL;
    fclose(maps);
    return mapped;
}

static uint32_t cupti_version(void)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    int (*get_version)(uint32_t * version);
    uint32_t version = 0;

    assert_non_null(library);
    *(void **)&get_version = dlsym(library, "cuptiGetVersion");
    assert_non_null(get_version);
    assert_int_equal(get_version(&version), 0);
    dlclose(library);
    return version;
}

static void multiply(struct cpu_device_test *test, float *x)
{
    struct gemm gemm = { .c = x,
                         .a = x + 1024,
                         .b = x + 2048,
                         .m = 16,
                         .n = 16,
                         .k = 16,
                         .batch = 1,
                         .lda = 16,
                         .ldb = 16,
                         .ldc = 16 };

    OK(device_gemm(test->stream, &gemm));
}

/* --- Tests --- */

/* Before the others: nothing that is loaded goes away again. */
static void a_device_that_records_nothing_has_no_cupti_in_its_process(void **state)
{
    struct cpu_device_test *test;

    assert_int_equal(cpu_device_open(state), 0);
    test = *state;
    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = test->gate_target, .value = 1));
    OK(device_synchronize(test->device));
    OK(device_activity_flush(test->device)); /* Nobody records: nothing to do. */
    assert_false(is_mapped("libcupti"));
    assert_int_equal(recorded.count, 0);
    cpu_device_close(state);
}

/* The opening itself launches kernels to measure a launch. */
static void a_device_just_opened_has_recorded_nothing(void **state)
{
    static const enum activity_kind kinds[] = {
        ACTIVITY_KERNEL,  ACTIVITY_MEMCPY, ACTIVITY_MEMSET,
        ACTIVITY_RUNTIME, ACTIVITY_DRIVER, ACTIVITY_MEMORY
    };
    struct device *device;

    cpu_device_options.sink = (struct activity_sink){ .record = record, .dropped = count_dropped };
    recorded.count = 0;
    OK(test_device_open(&device, &cpu_device_options));
    assert_true(device_properties(device)->launch_ns > 0);
    OK(device_activity_flush(device));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        assert_int_equal(count_of(kinds[i], NULL), 0);
    device_close(device);
    cpu_device_options.sink = (struct activity_sink){ 0 };
}

static void every_kernel_has_exactly_one_launch(void **state)
{
    enum { LAUNCHES = 300, PRODUCTS = 20 };
    struct cpu_device_test *test = *state;
    float *x = cpu_device_memory(test->device, 16384);
    int64_t most_early_ns = INT64_MIN;
    int kernels = 0, nested = 0;

    multiply(test, x); /* The library may prepare something the first time. */
    begin(test);
    for (int i = 0; i < LAUNCHES; i++)
        OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 1));
    for (int i = 0; i < PRODUCTS; i++) multiply(test, x);
    end(test);
    for (int i = 0; i < recorded.count; i++) {
        const struct activity *kernel = &recorded.records[i], *launch;
        if (kernel->kind != ACTIVITY_KERNEL)
            continue;
        launch = cause_of(kernel);
        kernels++;
        assert_non_null(strstr(launch->name, "aunchKernel"));
        assert_int_equal(launch->thread, gettid());
        assert_true(launch->start_ns <= launch->end_ns && kernel->start_ns <= kernel->end_ns);
        if (most_early_ns < early_ns(kernel))
            most_early_ns = early_ns(kernel);
        assert_int_not_equal(kernel->stream, 0);
        assert_int_not_equal(kernel->grid[0], 0);
        assert_int_not_equal(kernel->block[0], 0);
        assert_int_equal(kernel->graph, 0);
    }
    assert_true(kernels >= LAUNCHES + PRODUCTS);
    assert_int_equal(count_of(ACTIVITY_RUNTIME, "cudaLaunchKernel") +
                         count_of(ACTIVITY_RUNTIME, "cudaLaunchKernelExC") +
                         count_of(ACTIVITY_DRIVER, "cuLaunchKernel") +
                         count_of(ACTIVITY_DRIVER, "cuLaunchKernelEx"),
                     kernels);
    assert_true(most_early_ns <= EARLY_NS);
    for (int i = 0; i < recorded.count; i++) nested += recorded.records[i].kind == ACTIVITY_DRIVER;
    print_message("%d kernels; %d launched by the driver's call; earliest start %lld ns %s\n",
                  kernels, nested, (long long)llabs(most_early_ns),
                  most_early_ns > 0 ? "before its launch" : "after its launch");
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

static void nodes_of_a_graph_share_their_launch(void **state)
{
    enum { NODES = 5, LAUNCHES = 3 };
    struct cpu_device_test *test = *state;
    float *x = cpu_device_memory(test->device, 16384);
    struct graph *graph;
    int kernels = 0;
    bool seen[NODES * LAUNCHES] = { false };
    uint32_t launches[LAUNCHES];
    int launch_count = 0;

    if (sessions > 1 && !is_stand_in(test) && cupti_version() < LATER_SESSIONS_CORRELATE) {
        print_message("CUPTI %u correlates nodes in the first session of a process only\n",
                      cupti_version());
        skip();
    }
    OK(graph_begin(test->stream));
    for (int i = 0; i < NODES; i++)
        OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 1));
    OK(graph_end(test->stream, &graph));
    begin(test);
    for (int i = 0; i < LAUNCHES; i++) OK(graph_launch(test->stream, graph));
    end(test);
    assert_int_equal(count_of(ACTIVITY_RUNTIME, "cudaGraphLaunch"), LAUNCHES);
    assert_int_equal(count_of(ACTIVITY_RUNTIME, "cudaLaunchKernel"), 0);
    for (int i = 0; i < recorded.count; i++)
        if (recorded.records[i].kind == ACTIVITY_RUNTIME &&
            strcmp(recorded.records[i].name, "cudaGraphLaunch") == 0)
            launches[launch_count++] = recorded.records[i].correlation;
    for (int i = 0; i < recorded.count; i++) {
        const struct activity *kernel = &recorded.records[i];
        int launch = 0;
        if (kernel->kind != ACTIVITY_KERNEL)
            continue;
        kernels++;
        assert_int_not_equal(kernel->graph, 0);
        assert_string_equal(cause_of(kernel)->name, "cudaGraphLaunch");
        assert_true(early_ns(kernel) <= EARLY_NS);
        while (launch < LAUNCHES && launches[launch] != kernel->correlation) launch++;
        assert_true(launch < LAUNCHES);
        for (int node = 0; node < NODES; node++) /* as many as each launch has */
            if (!seen[launch * NODES + node]) {
                seen[launch * NODES + node] = true;
                break;
            }
    }
    assert_int_equal(kernels, NODES * LAUNCHES);
    for (int i = 0; i < NODES * LAUNCHES; i++) assert_true(seen[i]);
    graph_destroy(graph);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

static void copies_and_memsets_say_direction_memory_and_bytes(void **state)
{
    enum { LARGE = 3 * 1024 * 1024 + 256 };
    struct cpu_device_test *test = *state;
    unsigned char *device = cpu_device_memory(test->device, 2 * LARGE), *pageable, *pinned;
    const struct activity *copy;

    OK(host_alloc(test->device, false, LARGE, (void **)&pageable));
    OK(host_alloc(test->device, true, LARGE, (void **)&pinned));
    memset(pinned, 1, LARGE);
    begin(test);
    OK(device_copy_async(test->stream, COPY_HOST_TO_DEVICE, device, pinned, LARGE));
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, pinned, device, 1000));
    OK(device_copy_async(test->stream, COPY_DEVICE_TO_HOST, pageable, device, 2000));
    OK(device_copy_async(test->stream, COPY_DEVICE_TO_DEVICE, device + LARGE, device, 3000));
    OK(device_memset(test->stream, device, 0, 77));
    end(test);

    copy = the(ACTIVITY_MEMCPY, LARGE);
    assert_string_equal(copy->name, "Memcpy HtoD (Pinned -> Device)");
    assert_string_equal(cause_of(copy)->name, "cudaMemcpyAsync");
    assert_int_equal(copy->copy, ACTIVITY_COPY_HTOD);
    assert_int_equal(copy->source, ACTIVITY_MEMORY_PINNED);
    assert_int_equal(copy->destination, ACTIVITY_MEMORY_DEVICE);
    copy = the(ACTIVITY_MEMCPY, 1000);
    assert_int_equal(copy->copy, ACTIVITY_COPY_DTOH);
    assert_int_equal(copy->destination, ACTIVITY_MEMORY_PINNED);
    copy = the(ACTIVITY_MEMCPY, 2000);
    assert_int_equal(copy->copy, ACTIVITY_COPY_DTOH);
    assert_int_equal(copy->destination, ACTIVITY_MEMORY_PAGEABLE);
    copy = the(ACTIVITY_MEMCPY, 3000);
    assert_int_equal(copy->copy, ACTIVITY_COPY_DTOD);
    assert_string_equal(cause_of(the(ACTIVITY_MEMSET, 77))->name, "cudaMemsetAsync");
    print_message("%d waits recorded for one blocking copy and one wait for the device\n",
                  count_of(ACTIVITY_SYNCHRONIZATION, NULL));
    OK(host_free(test->device, false, pageable));
    OK(host_free(test->device, true, pinned));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

static void waits_and_memory_are_recorded_with_their_calls(void **state)
{
    struct cpu_device_test *test = *state;
    struct event *event;
    void *directly, *in_order;
    int waits = 0;

    OK(event_create(test->device, false, &event));
    begin(test);
    OK(device_alloc(test->device, NULL, ALLOCATE_DIRECT, 5 << 20, &directly));
    OK(device_alloc(test->device, test->stream, ALLOCATE_STREAM_ORDERED, 6 << 20, &in_order));
    OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = directly, .value = 1));
    OK(event_record(event, test->stream));
    OK(event_synchronize(event));
    OK(stream_synchronize(test->stream));
    OK(device_free(test->device, test->stream, ALLOCATE_STREAM_ORDERED, in_order));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, directly));
    end(test);

    assert_int_equal(the(ACTIVITY_MEMORY, 5 << 20)->destination, ACTIVITY_MEMORY_DEVICE);
    assert_false(the(ACTIVITY_MEMORY, 5 << 20)->asynchronous);
    assert_true(the(ACTIVITY_MEMORY, 6 << 20)->asynchronous);
    assert_int_equal(the(ACTIVITY_MEMORY, -(5 << 20))->address,
                     the(ACTIVITY_MEMORY, 5 << 20)->address);
    assert_int_equal(the(ACTIVITY_MEMORY, -(6 << 20))->address,
                     the(ACTIVITY_MEMORY, 6 << 20)->address);
    for (int i = 0; i < recorded.count; i++) {
        const struct activity *wait = &recorded.records[i];
        if (wait->kind != ACTIVITY_SYNCHRONIZATION)
            continue;
        waits++;
        assert_int_equal(wait->thread, gettid());
        if (strstr(cause_of(wait)->name, "Synchronize") == NULL)
            print_message("%s waits, too: %s\n", cause_of(wait)->name, wait->name);
    }
    assert_true(waits >= 3);
    assert_int_equal(count_of(ACTIVITY_SYNCHRONIZATION, "Event Synchronize"), 1);
    assert_true(count_of(ACTIVITY_SYNCHRONIZATION, "Stream Synchronize") >= 1);
    assert_true(count_of(ACTIVITY_SYNCHRONIZATION, "Context Synchronize") >= 1);
    event_destroy(event);
}

struct launcher {
    struct device *device;
    struct stream *stream;
    float *x;
    uint32_t thread;
    int launches;
};

static void *launch_many(void *context)
{
    struct launcher *launcher = context;

    launcher->thread = (uint32_t)gettid();
    for (int i = 0; i < launcher->launches; i++) {
        OK(LAUNCH(launcher->stream, DTYPE_F32, fill, ELEMENTS, .y = launcher->x, .value = 1));
        phase_push(launcher->device, "phase");
        phase_pop(launcher->device);
        if (i % 64 == 0)
            OK(stream_synchronize(launcher->stream));
    }
    return NULL;
}

static void threads_record_at_once_each_under_its_own_id(void **state)
{
    enum { THREADS = 4, LAUNCHES = 500 };
    struct cpu_device_test *test = *state;
    struct launcher launchers[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        launchers[i] = (struct launcher){ .device = test->device, .launches = LAUNCHES };
        OK(stream_create(test->device, &launchers[i].stream));
        launchers[i].x = cpu_device_memory(test->device, ELEMENTS * sizeof(float));
    }
    begin(test);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_many, &launchers[i]), 0);
    for (int i = 0; i < 10; i++) /* Whatever it finds is in somebody's way, or not there yet. */
        OK(device_activity_flush(test->device));
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    OK(device_synchronize(test->device));
    OK(device_activity_flush(test->device));
    assert_int_equal(count_of(ACTIVITY_PHASE, "phase"), THREADS * LAUNCHES);
    for (int t = 0; t < THREADS; t++) {
        int calls = 0;
        for (int i = 0; i < recorded.count; i++)
            calls += recorded.records[i].kind == ACTIVITY_RUNTIME &&
                     recorded.records[i].thread == launchers[t].thread &&
                     strcmp(recorded.records[i].name, "cudaLaunchKernel") == 0;
        if (is_stand_in(test)) /* A real flush cuts off work that is under way. */
            assert_int_equal(calls, LAUNCHES);
        assert_true(calls <= LAUNCHES);
        stream_destroy(launchers[t].stream);
        OK(device_free(test->device, NULL, ALLOCATE_DIRECT, launchers[t].x));
    }
    if (is_stand_in(test))
        assert_int_equal(count_of(ACTIVITY_KERNEL, NULL), THREADS * LAUNCHES);
}

/* A chain of kernels of 100 us or more, by CUPTI's sum and by the events around it: gaps between
 * them are the difference. */
static void kernel_times_agree_with_events(void **state)
{
    enum { KERNELS = 50 };
    const size_t bytes = (size_t)4 << 30;
    struct cpu_device_test *test = *state;
    struct event *from, *to;
    double elapsed_ns, sum_ns = 0, least_ns = 1e18;
    float *x;

    if (is_stand_in(test)) {
        print_message("only on a GPU: the stand-in's events and kernels have one clock\n");
        skip();
    }
    x = cpu_device_memory(test->device, bytes);
    OK(event_create(test->device, true, &from));
    OK(event_create(test->device, true, &to));
    begin(test);
    OK(event_record(from, test->stream));
    for (int i = 0; i < KERNELS; i++)
        OK(LAUNCH(test->stream, DTYPE_F32, fill, bytes / 4, .y = x, .value = 1));
    OK(event_record(to, test->stream));
    end(test);
    OK(event_elapsed(from, to, &elapsed_ns));
    for (int i = 0; i < recorded.count; i++) {
        double ns = (double)(recorded.records[i].end_ns - recorded.records[i].start_ns);
        if (recorded.records[i].kind != ACTIVITY_KERNEL)
            continue;
        sum_ns += ns;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    print_message("%d kernels of %.0f us or more: %.1f us by CUPTI, %.1f us by events (%.4f)\n",
                  KERNELS, least_ns / 1e3, sum_ns / 1e3, elapsed_ns / 1e3, sum_ns / elapsed_ns);
    assert_int_equal(count_of(ACTIVITY_KERNEL, NULL), KERNELS);
    assert_true(least_ns >= 5e4);
    /* Between two kernels CUPTI leaves 7 us on an H200, which fills 512 MB in 115 us. */
    assert_true(sum_ns >= 0.95 * elapsed_ns && sum_ns <= 1.02 * elapsed_ns);
    event_destroy(from);
    event_destroy(to);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

/* Kernels of 2 to 20 us, as small steps have them. A graph launches them, so that they do not wait
 * for the host; what events see beyond CUPTI's times are the gaps between its nodes. */
static void times_of_short_kernels_agree_with_events(void **state)
{
    enum { NODES = 50 };
    static const size_t sizes[] = { 1 << 20, 8 << 20, 32 << 20, 80 << 20 };
    struct cpu_device_test *test = *state;
    size_t divisor = is_stand_in(test) ? 1024 : 1; /* which executes each of their instructions */
    float *x = cpu_device_memory(test->device, sizes[ARRAY_SIZE(sizes) - 1]);
    struct event *from, *to;

    OK(event_create(test->device, true, &from));
    OK(event_create(test->device, true, &to));
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        int64_t elements = (int64_t)(sizes[i] / sizeof *x / divisor);
        struct graph *graph = NULL;
        double elapsed_ns, sum_ns = 0;
        OK(graph_begin(test->stream));
        for (int node = 0; node < NODES; node++)
            OK(LAUNCH(test->stream, DTYPE_F32, fill, elements, .y = x, .value = 1));
        OK(graph_end(test->stream, &graph));
        OK(graph_launch(test->stream, graph)); /* The first one loads it. */
        begin(test);
        OK(event_record(from, test->stream));
        OK(graph_launch(test->stream, graph));
        OK(event_record(to, test->stream));
        end(test);
        OK(event_elapsed(from, to, &elapsed_ns));
        for (int r = 0; r < recorded.count; r++)
            if (recorded.records[r].kind == ACTIVITY_KERNEL)
                sum_ns += (double)(recorded.records[r].end_ns - recorded.records[r].start_ns);
        print_message("%lld bytes: %.2f us by CUPTI, %.2f us by events with the gaps\n",
                      (long long)elements * 4, sum_ns / NODES / 1e3, elapsed_ns / NODES / 1e3);
        assert_int_equal(count_of(ACTIVITY_KERNEL, NULL), NODES);
        assert_true(sum_ns <= 1.02 * elapsed_ns);
        graph_destroy(graph);
    }
    event_destroy(from);
    event_destroy(to);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

static void kernels_without_a_time_are_told_as_dropped(void **state)
{
    enum { LAUNCHES = 300, EACH = 10 };
    struct cpu_device_test *test = *state;
    float *x;

    if (!is_stand_in(test)) {
        print_message("only over the stand-in, which loses times when told to\n");
        skip();
    }
    x = cpu_device_memory(test->device, ELEMENTS * sizeof *x);
    begin(test);
    setenv("CHOKEPOINT_FAKE_CUPTI", "zeroed=10", 1);
    for (int i = 0; i < LAUNCHES; i++)
        OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 1));
    OK(device_synchronize(test->device));
    unsetenv("CHOKEPOINT_FAKE_CUPTI");
    OK(device_activity_flush(test->device));
    assert_int_equal(recorded.dropped, LAUNCHES / EACH);
    assert_int_equal(count_of(ACTIVITY_KERNEL, NULL), LAUNCHES - LAUNCHES / EACH);
    assert_int_equal(count_of(ACTIVITY_RUNTIME, "cudaLaunchKernel"), LAUNCHES);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

/* The rows of a launch that are kernels, and whether their times are fitted. */
static int kernels_of(uint32_t correlation, bool fitted)
{
    int count = 0;

    for (int i = 0; i < recorded.count; i++)
        count += recorded.records[i].kind == ACTIVITY_KERNEL &&
                 recorded.records[i].correlation == correlation &&
                 recorded.records[i].fitted == fitted;
    return count;
}

/* The kernels of each launch of a graph in `recorded`. */
static void assert_nodes(int launches, int nodes, bool fitted)
{
    int found = 0;

    for (int i = 0; i < recorded.count; i++)
        if (recorded.records[i].kind == ACTIVITY_RUNTIME &&
            strcmp(recorded.records[i].name, "cudaGraphLaunch") == 0) {
            assert_int_equal(kernels_of(recorded.records[i].correlation, fitted), nodes);
            found++;
        }
    assert_int_equal(found, launches);
    assert_int_equal(count_of(ACTIVITY_KERNEL, NULL), launches * nodes);
    assert_int_equal(count_of(ACTIVITY_DRIVER, NULL), 0);
}

/* With CHOKEPOINT_CUPTI=nodes=0: from the second flush on. A graph that nobody knows brings the
 * nodes' own records back. */
static void a_launch_that_is_one_record_has_the_nodes_of_an_earlier_one(void **state)
{
    enum { NODES = 5, LAUNCHES = 3 };
    struct cpu_device_test *test = *state;
    float *x = cpu_device_memory(test->device, 16384);
    struct graph *graphs[2];

    for (int g = 0; g < 2; g++) {
        OK(graph_begin(test->stream));
        for (int i = 0; i < NODES; i++)
            OK(LAUNCH(test->stream, DTYPE_F32, fill, ELEMENTS, .y = x, .value = 1));
        OK(graph_end(test->stream, &graphs[g]));
    }
    begin(test);
    OK(graph_launch(test->stream, graphs[0]));
    end(test);
    assert_nodes(1, NODES, false);
    begin(test);
    for (int i = 0; i < LAUNCHES; i++) OK(graph_launch(test->stream, graphs[0]));
    end(test);
    assert_nodes(LAUNCHES, NODES, true);
    for (int i = 0; i < recorded.count; i++)
        if (recorded.records[i].kind == ACTIVITY_KERNEL) {
            assert_true(recorded.records[i].start_ns <= recorded.records[i].end_ns);
            assert_true(early_ns(&recorded.records[i]) <= EARLY_NS);
            assert_int_not_equal(recorded.records[i].grid[0], 0);
        }
    begin(test);
    OK(graph_launch(test->stream, graphs[1]));
    end(test);
    assert_nodes(1, 1, false);
    assert_int_equal(count_of(ACTIVITY_KERNEL, "CUDA graph"), 1);
    begin(test);
    for (int g = 0; g < 2; g++) OK(graph_launch(test->stream, graphs[g]));
    end(test);
    assert_nodes(2, NODES, false);
    for (int g = 0; g < 2; g++) graph_destroy(graphs[g]);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

/* Products are launched by calls of the driver's. */
static void kernels_are_recorded_without_the_drivers_calls(void **state)
{
    enum { PRODUCTS = 20 };
    struct cpu_device_test *test = *state;
    float *x = cpu_device_memory(test->device, 16384);

    begin(test);
    for (int i = 0; i < PRODUCTS; i++) multiply(test, x);
    end(test);
    assert_true(count_of(ACTIVITY_KERNEL, NULL) >= PRODUCTS);
    assert_int_equal(count_of(ACTIVITY_DRIVER, NULL), 0);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

static void one_device_at_a_time_records(void **state)
{
    struct device_options options = cpu_device_options;
    struct device *second = NULL;

    assert_int_equal(device_open(&second, test_device_name(), &options), STATUS_BAD_USAGE);
    assert_error_says("another device");
    assert_null(second);
    every_kernel_has_exactly_one_launch(state);
}

/* The GPU memory that recording takes shows in what is free at the opening. */
static int open_recorded(void **state)
{
    struct memory_info info;
    int64_t without;

    cpu_device_options.sink = (struct activity_sink){ 0 };
    assert_int_equal(cpu_device_open(state), 0);
    OK(device_memory_info(((struct cpu_device_test *)*state)->device, &info));
    without = info.capacity;
    cpu_device_close(state);
    cpu_device_options.sink = (struct activity_sink){ .record = record, .dropped = count_dropped };
    assert_int_equal(cpu_device_open(state), 0);
    assert_true(is_mapped("libcupti"));
    sessions++;
    OK(device_memory_info(((struct cpu_device_test *)*state)->device, &info));
    print_message("recording takes %lld bytes of device memory at the opening\n",
                  (long long)(without - info.capacity));
    return 0;
}

static int open_switched(void **state)
{
    setenv("CHOKEPOINT_CUPTI", "nodes=0,driver=0,buffers=2,device_buffers=8", 1);
    sessions++;
    return cpu_device_open(state);
}

static int close_switched(void **state)
{
    unsetenv("CHOKEPOINT_CUPTI");
    return cpu_device_close(state);
}

static int open_nothing(void **state)
{
    *state = NULL;
    setenv("CHOKEPOINT_TEST_DEVICE", "cuda", 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest before[] = {
        cmocka_unit_test(a_device_that_records_nothing_has_no_cupti_in_its_process),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_has_exactly_one_launch),
        cmocka_unit_test(nodes_of_a_graph_share_their_launch),
        cmocka_unit_test(copies_and_memsets_say_direction_memory_and_bytes),
        cmocka_unit_test(waits_and_memory_are_recorded_with_their_calls),
        cmocka_unit_test(threads_record_at_once_each_under_its_own_id),
        cmocka_unit_test(kernel_times_agree_with_events),
        cmocka_unit_test(times_of_short_kernels_agree_with_events),
        cmocka_unit_test(kernels_without_a_time_are_told_as_dropped),
        cmocka_unit_test(one_device_at_a_time_records),
    };
    const struct CMUnitTest again[] = {
        cmocka_unit_test(every_kernel_has_exactly_one_launch),
        cmocka_unit_test(nodes_of_a_graph_share_their_launch),
    };
    const struct CMUnitTest switched[] = {
        cmocka_unit_test(a_launch_that_is_one_record_has_the_nodes_of_an_earlier_one),
        cmocka_unit_test(kernels_are_recorded_without_the_drivers_calls),
        cmocka_unit_test(threads_record_at_once_each_under_its_own_id),
    };
    const struct CMUnitTest opening[] = {
        cmocka_unit_test(a_device_just_opened_has_recorded_nothing),
    };
    int failed = cmocka_run_group_tests_name("nothing recorded", before, open_nothing, NULL);

    failed +=
        cmocka_run_group_tests_name("records of a GPU", tests, open_recorded, cpu_device_close);
    failed += cmocka_run_group_tests_name("records of a second device in the same process", again,
                                          open_recorded, cpu_device_close);
    failed += cmocka_run_group_tests_name("records by CHOKEPOINT_CUPTI", switched, open_switched,
                                          close_switched);
    return failed + cmocka_run_group_tests_name("records of an opening", opening, NULL, NULL);
}
