#include "tests/engine/allocator_bench.h"

static struct bench open_bench(const struct allocator_config *config)
{
    const struct device_options options = { .memory_bytes = (int64_t)(CAPACITY_MIB * MIB),
                                            .spin_ns = -1 };
    struct bench bench;

    assert_ok(device_open(&bench.device, "cpu", &options));
    assert_ok(stream_create(bench.device, &bench.stream));
    assert_ok(allocator_open(&bench.allocator, bench.stream, config));
    return bench;
}

struct bench bench_open(enum allocation_mode mode, size_t budget)
{
    return open_bench(&(struct allocator_config){ .mode = mode, .budget = (int64_t)budget });
}

struct bench bench_open_caching(enum segments segments)
{
    return open_bench(
        &(struct allocator_config){ .mode = ALLOCATION_CACHING, .segments = segments });
}

int64_t device_used(const struct bench *bench)
{
    struct memory_info info;

    assert_ok(device_memory_info(bench->device, &info));
    return info.used;
}

void bench_close(struct bench *bench)
{
    allocator_close(bench->allocator);
    assert_ok(device_synchronize(bench->device));
    assert_int_equal(device_used(bench), 0);
    stream_destroy(bench->stream);
    device_close(bench->device);
}

char *take(const struct bench *bench, enum allocator_category category, size_t bytes)
{
    void *block;

    if (allocator_alloc(bench->allocator, category, bytes, &block) != STATUS_OK)
        fail_msg("%zu bytes: %s", bytes, status_last()->text);
    assert_non_null(block);
    return block;
}

void give(const struct bench *bench, void *block)
{
    assert_ok(allocator_free(bench->allocator, block));
}

int64_t device_calls(const struct bench *bench)
{
    struct device_counters counters = device_counters(bench->device);

    return counters.allocations + counters.frees;
}
