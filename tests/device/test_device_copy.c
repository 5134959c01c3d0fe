/* Copies and memsets of a device: who waits for what, and what arrives.
 *
 * Overwriting a copy's bytes afterwards shows that it took them before it returned; a stream that
 * is held up shows that it did not wait. */
#include "tests/fixtures/lab/cpu_device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { LARGE = 5 * 1024 * 1024 + 123 }; /* many times the staging buffers, and odd */

static unsigned char pattern(size_t i, int salt)
{
    return (unsigned char)(i * 31 + i / 4096 + (size_t)salt);
}

static void fill_pattern(unsigned char *bytes, size_t count, int salt)
{
    for (size_t i = 0; i < count; i++) bytes[i] = pattern(i, salt);
}

static void assert_pattern(const unsigned char *bytes, size_t count, int salt)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != pattern(i, salt))
            fail_msg("byte %zu is %d, not %d", i, bytes[i], pattern(i, salt));
}

static int64_t waits(const struct cpu_device_test *test)
{
    return device_counters(test->device).synchronizations;
}

DEVICE_TEST(every_way_of_copying_delivers_every_byte)
{
    unsigned char *device = cpu_device_memory(test->device, 2 * LARGE), *host[2];

    for (int ways = 0; ways < 16; ways++) {
        bool pinned_out = ways & 1, pinned_back = ways & 2;
        bool async_out = ways & 4, async_back = ways & 8;
        OK(host_alloc(test->device, pinned_out, LARGE, (void **)&host[0]));
        OK(host_alloc(test->device, pinned_back, LARGE, (void **)&host[1]));
        fill_pattern(host[0], LARGE, ways);
        OK((async_out ? device_copy_async : device_copy)(test->stream, COPY_HOST_TO_DEVICE, device,
                                                         host[0], LARGE));
        OK(device_copy(test->stream, COPY_DEVICE_TO_DEVICE, device + LARGE, device, LARGE));
        OK((async_back ? device_copy_async : device_copy)(test->stream, COPY_DEVICE_TO_HOST,
                                                          host[1], device + LARGE, LARGE));
        if (pinned_back && async_back)
            OK(stream_synchronize(test->stream));
        assert_pattern(host[1], LARGE, ways);
        OK(host_free(test->device, pinned_out, host[0]));
        OK(host_free(test->device, pinned_back, host[1]));
    }
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

DEVICE_TEST(bytes_are_counted_by_direction)
{
    unsigned char *device = cpu_device_memory(test->device, 4096), host[1000];
    struct device_counters before = device_counters(test->device), after;

    memset(host, 1, sizeof host);
    OK(device_copy(test->stream, COPY_HOST_TO_DEVICE, device, host, 1000));
    OK(device_copy(test->stream, COPY_DEVICE_TO_DEVICE, device + 1000, device, 200));
    OK(device_copy_async(test->stream, COPY_DEVICE_TO_HOST, host, device, 30));
    OK(device_memset(test->stream, device, 5, 4096));
    after = device_counters(test->device);
    assert_int_equal(after.copies - before.copies, 3);
    assert_int_equal(after.copy_bytes_h2d - before.copy_bytes_h2d, 1000);
    assert_int_equal(after.copy_bytes_d2d - before.copy_bytes_d2d, 200);
    assert_int_equal(after.copy_bytes_d2h - before.copy_bytes_d2h, 30);
    assert_int_equal(after.memsets - before.memsets, 1);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

/* Says which of the eight host copies block until the device is done. */
DEVICE_TEST(copies_wait_as_cudas_do)
{
    static const struct {
        enum copy_kind kind;
        bool pinned, asynchronous, waits;
    } rules[] = {
        { COPY_HOST_TO_DEVICE, true, true, false },   { COPY_HOST_TO_DEVICE, true, false, true },
        { COPY_HOST_TO_DEVICE, false, true, false },  { COPY_HOST_TO_DEVICE, false, false, true },
        { COPY_DEVICE_TO_HOST, true, true, false },   { COPY_DEVICE_TO_HOST, true, false, true },
        { COPY_DEVICE_TO_HOST, false, true, true },   { COPY_DEVICE_TO_HOST, false, false, true },
        { COPY_DEVICE_TO_DEVICE, true, true, false }, { COPY_DEVICE_TO_DEVICE, true, false, false },
    };
    unsigned char *device = cpu_device_memory(test->device, 256), pageable[64] = { 0 }, *pinned;

    OK(host_alloc(test->device, true, 64, (void **)&pinned));
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        void *host = rules[i].pinned ? pinned : pageable, *to = device, *from = host;
        int64_t before = waits(test);
        struct event *event;
        enum status ready;

        if (rules[i].kind == COPY_DEVICE_TO_HOST)
            to = host, from = device;
        if (rules[i].kind == COPY_DEVICE_TO_DEVICE)
            from = device + 128;
        OK(event_create(test->device, false, &event));
        if (!rules[i].waits) /* It must return though the device cannot move. */
            gate_close(test, test->stream);
        OK(event_record(event, test->stream));
        OK((rules[i].asynchronous ? device_copy_async : device_copy)(test->stream, rules[i].kind,
                                                                     to, from, 64));
        ready = event_query(event);
        assert_int_equal(ready, rules[i].waits ? STATUS_OK : STATUS_NOT_READY);
        assert_int_equal(waits(test) - before, rules[i].waits);
        if (!rules[i].waits)
            gate_open(test);
        OK(stream_synchronize(test->stream));
        event_destroy(event);
    }
    OK(host_free(test->device, true, pinned));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

struct later {
    struct cpu_device_test *test;
    atomic_bool opened;
};

/* The time is for a copy that does not wait to return too early; one that waits is in no hurry. */
static void *open_later(void *context)
{
    struct later *later = context;

    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    atomic_store(&later->opened, true);
    gate_open(later->test);
    return NULL;
}

DEVICE_TEST(synchronous_copies_wait_for_what_their_stream_has_queued)
{
    static const struct {
        enum copy_kind kind;
        bool pinned;
    } copies[] = { { COPY_HOST_TO_DEVICE, true },
                   { COPY_HOST_TO_DEVICE, false },
                   { COPY_DEVICE_TO_HOST, true },
                   { COPY_DEVICE_TO_HOST, false } };
    unsigned char *device = cpu_device_memory(test->device, 64), pageable[64] = { 0 }, *pinned;

    OK(host_alloc(test->device, true, 64, (void **)&pinned));
    for (size_t i = 0; i < ARRAY_SIZE(copies); i++) {
        unsigned char *host = copies[i].pinned ? pinned : pageable;
        bool out = copies[i].kind == COPY_HOST_TO_DEVICE;
        struct later later = { test, false };
        pthread_t thread;
        gate_close(test, test->stream);
        assert_int_equal(pthread_create(&thread, NULL, open_later, &later), 0);
        OK(device_copy(test->stream, copies[i].kind, out ? device : host, out ? host : device, 64));
        assert_true(atomic_load(&later.opened));
        pthread_join(thread, NULL);
        OK(stream_synchronize(test->stream));
    }
    OK(host_free(test->device, true, pinned));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

DEVICE_TEST(a_pageable_source_is_free_again_at_the_return)
{
    unsigned char *device = cpu_device_memory(test->device, 8192), source[8192], back[8192];

    fill_pattern(source, sizeof source, 3);
    gate_close(test, test->stream);
    OK(device_copy_async(test->stream, COPY_HOST_TO_DEVICE, device, source, sizeof source));
    memset(source, 0, sizeof source);
    gate_open(test);
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, back, device, sizeof back));
    assert_pattern(back, sizeof back, 3);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

DEVICE_TEST(a_pinned_source_is_read_when_its_turn_comes)
{
    unsigned char *device = cpu_device_memory(test->device, 64), *source, back[64];

    OK(host_alloc(test->device, true, 64, (void **)&source));
    memset(source, 1, 64);
    gate_close(test, test->stream);
    OK(device_copy_async(test->stream, COPY_HOST_TO_DEVICE, device, source, 64));
    memset(source, 2, 64);
    gate_open(test);
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, back, device, 64));
    assert_int_equal(back[63], 2);
    OK(host_free(test->device, true, source));
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

/* Eight pageable copies in a row use each staging buffer twice. */
DEVICE_TEST(staging_buffers_are_not_overwritten_early)
{
    enum { COPIES = 8, BYTES = 1000 };
    unsigned char *device = cpu_device_memory(test->device, COPIES * BYTES);
    unsigned char source[BYTES], back[COPIES * BYTES];

    for (int i = 0; i < COPIES; i++) {
        fill_pattern(source, BYTES, i);
        OK(device_copy_async(test->stream, COPY_HOST_TO_DEVICE, device + i * BYTES, source, BYTES));
    }
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, back, device, sizeof back));
    for (int i = 0; i < COPIES; i++) assert_pattern(back + i * BYTES, BYTES, i);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

DEVICE_TEST(memsets_set_every_byte_and_no_other)
{
    unsigned char *device = cpu_device_memory(test->device, 300), back[300];

    OK(device_memset(test->stream, device, 9, 300));
    OK(device_memset(test->stream, device + 100, 250, 99));
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, back, device, 300));
    for (int i = 0; i < 300; i++) assert_int_equal(back[i], i >= 100 && i < 199 ? 250 : 9);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

DEVICE_TEST(copies_that_cannot_be_meant_are_refused)
{
    unsigned char *device = cpu_device_memory(test->device, 4096), host[64] = { 0 };
    struct device_counters before = device_counters(test->device), after;
    static const enum copy_kind kinds[] = { COPY_HOST_TO_DEVICE, COPY_DEVICE_TO_HOST,
                                            COPY_DEVICE_TO_DEVICE };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) /* host to host is none of them */
        assert_int_equal(device_copy(test->stream, kinds[i], host, host + 8, 8), STATUS_BAD_USAGE);
    assert_int_equal(device_copy(test->stream, COPY_HOST_TO_DEVICE, host, device, 8),
                     STATUS_BAD_USAGE);
    assert_int_equal(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, device + 4090, 8),
                     STATUS_BAD_USAGE);
    assert_error_says("not (all) in device memory");
    assert_int_equal(device_copy(test->stream, COPY_DEVICE_TO_HOST, host, device, 0),
                     STATUS_BAD_USAGE);
    assert_int_equal(device_copy(test->stream, COPY_DEVICE_TO_HOST, NULL, device, 8),
                     STATUS_BAD_USAGE);
    assert_int_equal(device_copy(test->stream, (enum copy_kind)3, host, device, 8),
                     STATUS_BAD_USAGE);
    assert_int_equal(device_memset(test->stream, host, 0, 8), STATUS_BAD_USAGE);
    assert_int_equal(device_memset(test->stream, device, 0, 0), STATUS_BAD_USAGE);
    after = device_counters(test->device);
    assert_memory_equal(&before, &after, sizeof before); /* Nothing of this counts. */
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, device));
}

TESTS_WITH(cpu_device_open, cpu_device_close)
