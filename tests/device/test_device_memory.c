/* Memory of a device: capacity, the books, direct and stream-ordered allocation. */
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/fixtures/memory_limit.h"

#include <pthread.h>
#include <sys/resource.h>

enum { MIB = 1 << 20 };

static const int64_t capacity = 16 * MIB;

static int open_small_device(void **state)
{
    cpu_device_options.memory_bytes = capacity;
    return cpu_device_open(state);
}

static struct memory_info info_of(struct cpu_device_test *test)
{
    struct memory_info info;

    OK(device_memory_info(test->device, &info));
    assert_int_equal(info.free, info.capacity - info.reserved);
    assert_true(info.used <= info.reserved && info.reserved <= info.capacity);
    assert_true(info.peak_used >= info.used);
    return info;
}

static void *ordered(struct cpu_device_test *test, struct stream *stream, size_t bytes)
{
    void *memory;

    OK(device_alloc(test->device, stream, ALLOCATE_STREAM_ORDERED, bytes, &memory));
    return memory;
}

static void ordered_free(struct cpu_device_test *test, struct stream *stream, void *memory)
{
    OK(device_free(test->device, stream, ALLOCATE_STREAM_ORDERED, memory));
}

DEVICE_TEST(the_books_are_exact)
{
    struct memory_info before = info_of(test), after;
    struct device_counters counted = device_counters(test->device);
    int64_t page = strcmp(test_device_name(), "cpu") == 0 ? 4096 : 1024; /* what 1000 bytes take */
    void *a, *b;

    assert_int_equal(before.capacity, capacity);
    assert_int_equal(device_properties(test->device)->memory_bytes, capacity);
    a = cpu_device_memory(test->device, 1000); /* in units of 256 */
    b = cpu_device_memory(test->device, MIB);
    after = info_of(test);
    assert_int_equal(after.used - before.used, 1024 + MIB);
    assert_int_equal(after.reserved - before.reserved, page + MIB);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, a));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, b));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, NULL));
    after = info_of(test);
    assert_int_equal(after.used, before.used);
    assert_int_equal(after.reserved, before.reserved);
    assert_int_equal(after.peak_used - before.used, 1024 + MIB);
    OK(device_memory_trim(test->device));
    assert_int_equal(info_of(test).peak_used, before.used);
    assert_int_equal(device_counters(test->device).allocations - counted.allocations, 2);
    assert_int_equal(device_counters(test->device).frees - counted.frees, 2);
}

DEVICE_TEST(memory_is_aligned)
{
    void *memory[20];

    for (int i = 0; i < 20; i++) {
        memory[i] = i % 2 ? cpu_device_memory(test->device, (size_t)i * 7 + 1)
                          : ordered(test, test->stream, (size_t)i * 7 + 1);
        assert_int_equal((uintptr_t)memory[i] % 256, 0);
    }
    for (int i = 0; i < 20; i++)
        OK(device_free(test->device, test->stream,
                       i % 2 ? ALLOCATE_DIRECT : ALLOCATE_STREAM_ORDERED, memory[i]));
    OK(device_memory_trim(test->device));
}

DEVICE_TEST(running_out_says_what_was_asked_used_and_free)
{
    static const enum allocation ways[] = { ALLOCATE_DIRECT, ALLOCATE_STREAM_ORDERED };
    void *most = cpu_device_memory(test->device, 12 * MIB), *more;
    struct memory_info before = info_of(test);
    char used[64], left[64];

    snprintf(used, sizeof used, "%lld are used", (long long)before.used);
    snprintf(left, sizeof left, "%lld free", (long long)before.free);
    for (int i = 0; i < 2; i++) {
        more = test;
        assert_int_equal(device_alloc(test->device, test->stream, ways[i], 5 * MIB, &more),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        assert_null(more);
        assert_error_says("asked for 5242880 bytes");
        assert_error_says(used);
        assert_error_says(left);
        assert_int_equal(device_alloc(test->device, test->stream, ways[i], SIZE_MAX, &more),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        assert_int_equal(device_alloc(test->device, test->stream, ways[i], 0, &more),
                         STATUS_BAD_USAGE);
    }
    assert_int_equal(info_of(test).used, before.used);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, most));
    more = cpu_device_memory(test->device, 15 * MIB); /* All of it can be used again. */
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, more));
}

struct freeing {
    struct cpu_device_test *test;
    void *memory;
    struct event *after;
    enum status found;
};

static void *free_and_look(void *argument)
{
    struct freeing *freeing = argument;

    if (device_free(freeing->test->device, NULL, ALLOCATE_DIRECT, freeing->memory) != STATUS_OK)
        freeing->found = STATUS_INTERNAL;
    else
        freeing->found = event_query(freeing->after);
    return NULL;
}

/* The message names what would help: the host's limit, and not a smaller device. */
DEVICE_TEST(a_host_without_memory_names_its_limit)
{
    struct rlimit before, low;
    enum status status;
    void *memory;

    only_on_the_cpu_device(test, "its memory is not the host's");
    if (!memory_limits_hold()) {
        print_message("an emulator, which sets no limit of memory\n");
        skip();
    }
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    low = (struct rlimit){ .rlim_cur = MIB, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
    status = device_alloc(test->device, NULL, ALLOCATE_DIRECT, 8 * MIB, &memory);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(status, STATUS_OUT_OF_MEMORY);
    assert_error_says("the host has no 8388608 bytes left");
    assert_error_says("ulimit -v");
    assert_null(strstr(status_last()->text, "--device-memory"));
}

/* Whenever the free comes back, all that was queued before it is done. */
DEVICE_TEST(a_direct_free_waits_for_the_device)
{
    struct freeing freeing = { .test = test, .memory = cpu_device_memory(test->device, 4096) };
    pthread_t thread;

    OK(event_create(test->device, false, &freeing.after));
    gate_close(test, test->stream);
    OK(device_memset(test->stream, freeing.memory, 1, 4096));
    OK(event_record(freeing.after, test->stream));
    /* Not after the thread's start: a driver may hold a lock in cudaFree that the query needs. */
    assert_int_equal(event_query(freeing.after), STATUS_NOT_READY);
    assert_int_equal(pthread_create(&thread, NULL, free_and_look, &freeing), 0);
    gate_open(test);
    pthread_join(thread, NULL);
    assert_int_equal(freeing.found, STATUS_OK);
    event_destroy(freeing.after);
}

DEVICE_TEST(the_pool_gives_a_stream_its_own_memory_back_at_once)
{
    void *first, *second;
    int64_t reserved;

    gate_close(test, test->stream); /* Nothing of the stream's work gets done meanwhile. */
    first = ordered(test, test->stream, 100000);
    OK(device_memset(test->stream, first, 1, 100000));
    ordered_free(test, test->stream, first);
    reserved = info_of(test).reserved;
    second = ordered(test, test->stream, 90000);
    assert_ptr_equal(first, second);
    assert_int_equal(info_of(test).reserved, reserved);
    ordered_free(test, test->stream, second);
    gate_open(test);
    OK(device_memory_trim(test->device));
}

DEVICE_TEST(another_stream_gets_it_when_the_work_is_done)
{
    struct stream *other;
    void *first, *early, *late;

    only_on_the_cpu_device(test, "CUDA's pool may reuse, but promises to nobody that it does");
    OK(stream_create(test->device, &other));
    gate_close(test, test->stream);
    first = ordered(test, test->stream, 2 * MIB);
    OK(device_memset(test->stream, first, 1, 2 * MIB));
    ordered_free(test, test->stream, first);
    early = ordered(test, other, 2 * MIB);
    assert_ptr_not_equal(early, first);
    gate_open(test);
    OK(stream_synchronize(test->stream));
    late = ordered(test, other, 2 * MIB);
    assert_ptr_equal(late, first);
    ordered_free(test, other, early);
    ordered_free(test, other, late);
    stream_destroy(other);
    OK(device_memory_trim(test->device));
    assert_int_equal(info_of(test).reserved, 4096); /* the gate's */
}

/* On a full device the pool makes the stream wait rather than fail. */
DEVICE_TEST(a_full_pool_makes_the_stream_wait_for_memory)
{
    struct stream *other;
    struct event *event;
    unsigned char *first, *second, back[16];

    only_on_the_cpu_device(test, "a GPU is not full when a limit of ours is reached");
    OK(stream_create(test->device, &other));
    OK(event_create(test->device, false, &event));
    gate_close(test, test->stream);
    first = ordered(test, test->stream, 10 * MIB);
    OK(device_memset(test->stream, first, 1, 10 * MIB));
    ordered_free(test, test->stream, first);
    second = ordered(test, other, 9 * MIB);
    assert_ptr_equal(first, second);
    OK(device_memset(other, second, 2, 9 * MIB));
    OK(event_record(event, other));
    assert_int_equal(event_query(event), STATUS_NOT_READY);
    gate_open(test);
    OK(device_synchronize(test->device));
    OK(device_copy(other, COPY_DEVICE_TO_HOST, back, second, 16));
    for (int i = 0; i < 16; i++)
        assert_int_equal(back[i], 2); /* after, not before, the other's 1 */
    ordered_free(test, other, second);
    event_destroy(event);
    stream_destroy(other);
    OK(device_memory_trim(test->device));
}

DEVICE_TEST(the_pool_keeps_memory_until_it_is_trimmed_or_needed)
{
    struct memory_info before = info_of(test);
    void *memory[8], *direct;

    for (int i = 0; i < 8; i++) memory[i] = ordered(test, test->stream, MIB);
    for (int i = 0; i < 8; i++) ordered_free(test, test->stream, memory[7 * i % 8]);
    assert_int_equal(info_of(test).used, before.used);
    assert_true(info_of(test).reserved >= before.reserved + 8 * MIB);
    OK(stream_synchronize(test->stream));
    direct = cpu_device_memory(test->device, 15 * MIB); /* only if the pool gives way */
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, direct));

    ordered_free(test, test->stream, ordered(test, test->stream, MIB));
    assert_true(info_of(test).reserved > before.reserved);
    OK(device_memory_trim(test->device));
    assert_int_equal(info_of(test).reserved, before.reserved);
}

/* Freed neighbours join: a size that only fits into both can be allocated again. */
DEVICE_TEST(freed_neighbours_join)
{
    char *pieces[8], *whole;
    int64_t reserved;

    only_on_the_cpu_device(test, "how CUDA's pool joins pieces is its own affair");
    for (int i = 0; i < 8; i++) pieces[i] = ordered(test, test->stream, MIB / 4);
    reserved = info_of(test).reserved;
    for (int i = 0; i < 8; i++) ordered_free(test, test->stream, pieces[5 * i % 8]);
    whole = ordered(test, test->stream, 2 * MIB);
    assert_int_equal(info_of(test).reserved, reserved);
    ordered_free(test, test->stream, whole);
    OK(device_memory_trim(test->device));
}

/* Live blocks never overlap, whatever is allocated and freed: each holds a number of its own, which
 * the device writes and the host reads back at the end of its life. */
DEVICE_TEST(live_memory_is_never_shared)
{
    enum { SLOTS = 32, TURNS = 1500 };
    struct stream *streams[2] = { test->stream };
    struct {
        unsigned char *memory;
        size_t bytes;
        int stream;
    } live[SLOTS] = { { NULL } };
    unsigned char *back = malloc(65536);
    struct random_state {
        uint64_t x;
    } random = { 88172645463325252u };

    assert_non_null(back);
    OK(stream_create(test->device, &streams[1]));
    for (int turn = 0; turn < TURNS; turn++) {
        random.x ^= random.x << 13, random.x ^= random.x >> 7, random.x ^= random.x << 17;
        int i = (int)(random.x % SLOTS);
        if (live[i].memory != NULL) {
            OK(device_copy(streams[live[i].stream], COPY_DEVICE_TO_HOST, back, live[i].memory,
                           live[i].bytes));
            for (size_t j = 0; j < live[i].bytes; j++) assert_int_equal(back[j], i);
            ordered_free(test, streams[live[i].stream], live[i].memory);
            live[i].memory = NULL;
            continue;
        }
        live[i].stream = (int)(random.x >> 20 & 1);
        live[i].bytes = random.x >> 30 & 0xffff;
        live[i].bytes += live[i].bytes == 0;
        live[i].memory = ordered(test, streams[live[i].stream], live[i].bytes);
        OK(device_memset(streams[live[i].stream], live[i].memory, i, live[i].bytes));
    }
    for (int i = 0; i < SLOTS; i++)
        if (live[i].memory != NULL)
            ordered_free(test, streams[live[i].stream], live[i].memory);
    stream_destroy(streams[1]);
    OK(device_memory_trim(test->device));
    assert_int_equal(info_of(test).reserved, 4096); /* the gate's */
    free(back);
}

DEVICE_TEST(wrong_releases_are_refused)
{
    char *direct = cpu_device_memory(test->device, 4096), *pooled, *pinned, *pageable;

    pooled = ordered(test, test->stream, 4096);
    OK(host_alloc(test->device, true, 64, (void **)&pinned));
    OK(host_alloc(test->device, false, 64, (void **)&pageable));
    assert_int_equal(device_free(test->device, NULL, ALLOCATE_DIRECT, direct + 256),
                     STATUS_BAD_USAGE);
    assert_int_equal(device_free(test->device, NULL, ALLOCATE_DIRECT, pooled), STATUS_BAD_USAGE);
    assert_error_says("the other way");
    assert_int_equal(device_free(test->device, test->stream, ALLOCATE_STREAM_ORDERED, direct),
                     STATUS_BAD_USAGE);
    assert_int_equal(device_free(test->device, NULL, ALLOCATE_STREAM_ORDERED, pooled),
                     STATUS_BAD_USAGE);
    assert_int_equal(device_free(test->device, test->stream, ALLOCATE_STREAM_ORDERED, pooled + 256),
                     STATUS_BAD_USAGE);
    assert_error_says("not allocated");
    assert_int_equal(host_free(test->device, true, pageable), STATUS_BAD_USAGE);
    assert_int_equal(host_free(test->device, false, pinned), STATUS_BAD_USAGE);
    OK(host_free(test->device, true, pinned));
    OK(host_free(test->device, false, pageable));
    OK(host_free(test->device, false, NULL));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, direct));
    ordered_free(test, test->stream, pooled);
    assert_int_equal(device_free(test->device, test->stream, ALLOCATE_STREAM_ORDERED, pooled),
                     STATUS_BAD_USAGE); /* twice */
    OK(device_memory_trim(test->device));
}

/* If a GPU uses the host's memory, cached files leave little of it for CUDA to see. */
DEVICE_TEST(memory_that_the_host_would_give_up_is_capacity)
{
    enum { LEFT = 1 << 20 };
    const struct device_options options = { .spin_ns = -1 };
    struct device *shared;
    struct memory_info info;

    if (strstr(device_properties(test->device)->name, "stand-in") == NULL) {
        print_message("only over the stand-in for CUDA\n");
        skip();
    }
    setenv("STAND_IN_INTEGRATED", "1048576", 1);
    OK(device_open(&shared, test_device_name(), &options));
    unsetenv("STAND_IN_INTEGRATED");
    OK(device_memory_info(shared, &info));
    assert_true(info.capacity > LEFT);
    device_close(shared);
}

TESTS_WITH(open_small_device, cpu_device_close)
