/* The step's allocator on the CPU device, against a table that lists every block there should be. */
#include "harness/status/random.h"
#include "scenarios/training/memory.h"
#include "tests/cmocka_prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

enum { CAPACITY_MIB = 256, ORACLE_BLOCKS = 1500, ROUNDING = 512, SEGMENT = 2 << 20 };

static const char *const allocator_names[] = { "caching", "stream ordered", "direct" };

/* A device, a stream on it and the allocator under test. */
struct bench {
    struct device *device;
    struct stream *stream;
    struct memory *memory;
};

static struct bench bench_open(enum allocator allocator, size_t budget)
{
    const struct device_options options = { .memory_bytes = (int64_t)(CAPACITY_MIB * MIB),
                                            .spin_ns = -1 };
    const struct memory_config config = { .allocator = allocator, .budget = (int64_t)budget };
    struct bench bench;

    if (device_open(&bench.device, "cpu", &options) != STATUS_OK)
        fail_msg("%s", status_last()->text);
    assert_int_equal(stream_create(bench.device, &bench.stream), STATUS_OK);
    assert_int_equal(memory_open(&bench.memory, bench.stream, &config), STATUS_OK);
    return bench;
}

static int64_t device_used(const struct bench *bench)
{
    struct memory_info info;

    assert_int_equal(device_memory_info(bench->device, &info), STATUS_OK);
    return info.used;
}

/* Whatever the test did, nothing stays behind on the device. */
static void bench_close(struct bench *bench)
{
    memory_close(bench->memory);
    assert_int_equal(device_synchronize(bench->device), STATUS_OK);
    assert_int_equal(device_used(bench), 0);
    stream_destroy(bench->stream);
    device_close(bench->device);
}

static char *take(const struct bench *bench, enum memory_category category, size_t bytes)
{
    void *block;

    if (memory_alloc(bench->memory, category, bytes, &block) != STATUS_OK)
        fail_msg("%zu bytes: %s", bytes, status_last()->text);
    assert_non_null(block);
    return block;
}

static void give(const struct bench *bench, void *block)
{
    assert_int_equal(memory_free(bench->memory, block), STATUS_OK);
}

static int64_t device_calls(const struct bench *bench)
{
    struct device_counters counters = device_counters(bench->device);

    return counters.allocations + counters.frees;
}

/* --- the oracle ------------------------------------------------------------------------------- */

struct row {
    char *address;
    size_t bytes;
    enum memory_category category;
    int byte; /* what the block was filled with */
};

struct oracle {
    struct row rows[ORACLE_BLOCKS];
    int count;
    int64_t allocated[MEMORY_CATEGORY_COUNT], peak[MEMORY_CATEGORY_COUNT];
    int64_t peak_all, peak_reserved;
};

static int64_t rounded(size_t bytes)
{
    return bytes == 0 ? ROUNDING : (int64_t)((bytes + ROUNDING - 1) / ROUNDING * ROUNDING);
}

static int64_t oracle_allocated(const struct oracle *oracle)
{
    int64_t sum = 0;

    for (int i = 0; i < oracle->count; i++) sum += rounded(oracle->rows[i].bytes);
    return sum;
}

static void oracle_add(struct oracle *oracle, const struct row *row)
{
    enum memory_category category = row->category;

    assert_int_equal((uintptr_t)row->address % 256, 0);
    for (int i = 0; i < oracle->count; i++) {
        const struct row *other = &oracle->rows[i];
        assert_true(row->address + row->bytes <= other->address ||
                    other->address + other->bytes <= row->address);
        assert_ptr_not_equal(row->address, other->address);
    }
    assert_in_range(oracle->count, 0, ORACLE_BLOCKS - 1);
    oracle->rows[oracle->count++] = *row;
    oracle->allocated[category] += rounded(row->bytes);
    if (oracle->peak[category] < oracle->allocated[category])
        oracle->peak[category] = oracle->allocated[category];
    if (oracle->peak_all < oracle_allocated(oracle))
        oracle->peak_all = oracle_allocated(oracle);
}

static struct row oracle_remove(struct oracle *oracle, int index)
{
    struct row row = oracle->rows[index];

    oracle->rows[index] = oracle->rows[--oracle->count];
    oracle->allocated[row.category] -= rounded(row.bytes);
    return row;
}

static void assert_figures_agree(struct oracle *oracle, const struct bench *bench)
{
    struct memory_statistics now = memory_statistics(bench->memory);
    int64_t sum = 0;

    for (int i = 0; i < MEMORY_CATEGORY_COUNT; i++) {
        assert_int_equal(now.allocated[i], oracle->allocated[i]);
        assert_int_equal(now.peak[i], oracle->peak[i]);
        sum += now.allocated[i];
    }
    assert_int_equal(now.allocated_all, sum);
    assert_int_equal(now.allocated_all, oracle_allocated(oracle));
    assert_int_equal(now.peak_all, oracle->peak_all);
    if (oracle->peak_reserved < now.reserved)
        oracle->peak_reserved = now.reserved;
    assert_int_equal(now.peak_reserved, oracle->peak_reserved);
    assert_true(now.reserved >= now.allocated_all);
    assert_int_equal(now.device_allocations, device_counters(bench->device).allocations);
}

/* Mostly small, a tenth of several MiB, and the sizes around every limit. */
static size_t random_size(struct random *random)
{
    static const size_t edges[] = {
        0, 1, 511, 512, 513, MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 1
    };

    switch (random_below(random, 10)) {
    case 0:
        return edges[random_below(random, ARRAY_SIZE(edges))];
    case 1:
        return random_below(random, 5 * MIB);
    case 2:
        return random_below(random, MIB);
    default:
        return random_below(random, 40 * KIB);
    }
}

/* Fills both ends of a block on the device; assert_filled() finds them as they were left. */
static size_t mark_bytes(const struct row *row)
{
    return row->bytes < 64 ? row->bytes : 64;
}

static void fill(const struct bench *bench, const struct row *row)
{
    size_t bytes = mark_bytes(row);

    if (bytes == 0)
        return;
    assert_int_equal(device_memset(bench->stream, row->address, row->byte, bytes), STATUS_OK);
    assert_int_equal(
        device_memset(bench->stream, row->address + row->bytes - bytes, row->byte, bytes),
        STATUS_OK);
}

static void assert_filled(const struct bench *bench, const struct row *row)
{
    size_t bytes = mark_bytes(row);
    unsigned char ends[2][64];

    if (bytes == 0)
        return;
    assert_int_equal(device_copy(bench->stream, COPY_DEVICE_TO_HOST, ends[0], row->address, bytes),
                     STATUS_OK);
    assert_int_equal(device_copy(bench->stream, COPY_DEVICE_TO_HOST, ends[1],
                                 row->address + row->bytes - bytes, bytes),
                     STATUS_OK);
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(ends[0][i], row->byte);
        assert_int_equal(ends[1][i], row->byte);
    }
}

/* One random allocation or release, done by both and checked. More is allocated than freed until the
 * blocks take `most` bytes; there and back again. */
static void random_step(struct oracle *oracle, const struct bench *bench, struct random *random,
                        bool *growing, int64_t most)
{
    struct row row;

    if (oracle->count == 0)
        *growing = true;
    else if (oracle_allocated(oracle) > most || oracle->count == ORACLE_BLOCKS)
        *growing = false;
    if (oracle->count > 0 && random_below(random, 10) >= (*growing ? 7u : 3u)) {
        row = oracle_remove(oracle, (int)random_below(random, (uint32_t)oracle->count));
        assert_filled(bench, &row);
        give(bench, row.address);
        return;
    }
    if (oracle->count == ORACLE_BLOCKS)
        return;
    row.bytes = random_size(random);
    row.category = (enum memory_category)random_below(random, MEMORY_CATEGORY_COUNT);
    row.byte = (int)random_below(random, 256);
    row.address = take(bench, row.category, row.bytes);
    oracle_add(oracle, &row);
    fill(bench, &row);
}

static struct memory_statistics random_run(enum allocator allocator, uint64_t seed, int steps)
{
    static struct oracle oracle;
    struct bench bench = bench_open(allocator, 0);
    struct random random = random_seed(seed, 0);
    struct memory_statistics statistics;
    bool growing = true;

    memset(&oracle, 0, sizeof oracle);
    for (int i = 0; i < steps; i++) {
        random_step(&oracle, &bench, &random, &growing, (int64_t)(60 * MIB));
        assert_figures_agree(&oracle, &bench);
        if (i % 64 == 0 && allocator != ALLOCATOR_STREAM_ORDERED)
            assert_true(device_used(&bench) >= memory_statistics(bench.memory).reserved);
        if (i % 64 == 0 && allocator == ALLOCATOR_CACHING)
            assert_int_equal(device_used(&bench), memory_statistics(bench.memory).reserved);
    }
    statistics = memory_statistics(bench.memory);
    while (oracle.count > 0) {
        struct row row = oracle_remove(&oracle, oracle.count - 1);
        assert_filled(&bench, &row);
        give(&bench, row.address);
    }
    assert_figures_agree(&oracle, &bench);
    assert_int_equal(memory_statistics(bench.memory).allocated_all, 0);
    assert_int_equal(memory_trim(bench.memory), STATUS_OK);
    assert_int_equal(memory_statistics(bench.memory).reserved, 0);
    assert_int_equal(device_synchronize(bench.device), STATUS_OK);
    assert_int_equal(device_used(&bench), 0);
    bench_close(&bench);
    return statistics;
}

static void random_calls_agree_with_the_oracle(void **state)
{
    (void)state;

    for (uint64_t seed = 1; seed <= 3; seed++) random_run(ALLOCATOR_CACHING, seed, 6000);
    random_run(ALLOCATOR_STREAM_ORDERED, 4, 2000);
    random_run(ALLOCATOR_DIRECT, 5, 2000);
}

static void the_same_calls_give_the_same_figures_to_the_byte(void **state)
{
    (void)state;

    for (int allocator = ALLOCATOR_CACHING; allocator <= ALLOCATOR_DIRECT; allocator++) {
        struct memory_statistics first = random_run((enum allocator)allocator, 9, 1500),
                                 second = random_run((enum allocator)allocator, 9, 1500);
        assert_memory_equal(&first, &second, sizeof first);
        assert_true(first.peak_all > (int64_t)(30 * MIB));
    }
}

/* Peaks of what is allocated do not depend on who allocates it. */
static void all_allocators_count_alike(void **state)
{
    struct memory_statistics caching = random_run(ALLOCATOR_CACHING, 11, 1500);
    (void)state;

    for (int allocator = ALLOCATOR_STREAM_ORDERED; allocator <= ALLOCATOR_DIRECT; allocator++) {
        struct memory_statistics other = random_run((enum allocator)allocator, 11, 1500);
        assert_memory_equal(caching.allocated, other.allocated, sizeof other.allocated);
        assert_memory_equal(caching.peak, other.peak, sizeof other.peak);
        assert_int_equal(caching.peak_all, other.peak_all);
        assert_int_equal(other.peak_reserved, other.peak_all);
        assert_true(caching.device_allocations < other.device_allocations / 10);
    }
}

/* --- how the caching allocator deals with segments -------------------------------------------- */

static void small_blocks_share_segments_and_large_ones_get_their_own(void **state)
{
    static const struct {
        size_t bytes;
        int64_t reserved; /* by this block alone */
    } cases[] = {
        { 1, SEGMENT },
        { MIB, SEGMENT },
        { MIB + 1, SEGMENT },
        { 2 * MIB, SEGMENT },
        { 2 * MIB + 1, 2 * SEGMENT },
        { 5 * MIB, 3 * SEGMENT },
    };
    struct bench bench = bench_open(ALLOCATOR_CACHING, 0);
    char *first, *second;
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *block = take(&bench, MEMORY_INPUT, cases[i].bytes);
        assert_int_equal(memory_statistics(bench.memory).reserved, cases[i].reserved);
        give(&bench, block);
        assert_int_equal(memory_statistics(bench.memory).reserved, cases[i].reserved);
        assert_int_equal(memory_trim(bench.memory), STATUS_OK);
        assert_int_equal(memory_statistics(bench.memory).reserved, 0);
    }
    first = take(&bench, MEMORY_INPUT, MIB);
    second = take(&bench, MEMORY_INPUT, MIB);
    assert_int_equal(memory_statistics(bench.memory).reserved, SEGMENT);
    assert_ptr_equal(second, first + MIB);
    take(&bench, MEMORY_INPUT, 1);
    assert_int_equal(memory_statistics(bench.memory).reserved, 2 * SEGMENT);
    bench_close(&bench);
}

/* Whatever the order in which neighbours are freed, they become one again. */
static void neighbours_merge_in_every_order(void **state)
{
    struct bench bench = bench_open(ALLOCATOR_CACHING, 0);
    int orders = 0;
    (void)state;

    for (int order = 0; order < 256; order++) { /* four digits to base 4 */
        int at[4] = { order & 3, order >> 2 & 3, order >> 4 & 3, order >> 6 };
        char *blocks[4], *whole[2];
        int64_t calls;

        if ((1 << at[0] | 1 << at[1] | 1 << at[2] | 1 << at[3]) != 15)
            continue; /* not a permutation */
        for (int i = 0; i < 4; i++) blocks[i] = take(&bench, MEMORY_GRADIENTS, MIB / 2);
        calls = device_calls(&bench);
        for (int i = 0; i < 4; i++) give(&bench, blocks[at[i]]);
        for (int i = 0; i < 2; i++) whole[i] = take(&bench, MEMORY_GRADIENTS, MIB);
        assert_ptr_equal(whole[0], blocks[0]);
        assert_ptr_equal(whole[1], blocks[2]);
        for (int i = 0; i < 2; i++) give(&bench, whole[i]);
        assert_int_equal(device_calls(&bench), calls);
        assert_int_equal(memory_statistics(bench.memory).reserved, SEGMENT);
        orders++;
    }
    assert_int_equal(orders, 24);
    assert_int_equal(memory_trim(bench.memory), STATUS_OK);
    assert_int_equal(memory_statistics(bench.memory).reserved, 0);
    bench_close(&bench);
}

static void a_request_takes_the_smallest_hole_that_fits(void **state)
{
    static const size_t sizes[] = { 64 * KIB, 8 * KIB, 200 * KIB, 16 * KIB };
    struct bench bench = bench_open(ALLOCATOR_CACHING, 0);
    char *holes[ARRAY_SIZE(sizes)];
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        holes[i] = take(&bench, MEMORY_ACTIVATIONS, sizes[i]);
        take(&bench, MEMORY_PARAMETERS, 512); /* keeps the holes apart */
    }
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) give(&bench, holes[i]);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 9 * KIB), holes[3]);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 7 * KIB), holes[3] + 9 * KIB);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 8 * KIB), holes[1]);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 100 * KIB), holes[2]);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 100 * KIB), holes[2] + 100 * KIB);
    bench_close(&bench);
}

static void large_blocks_are_cut_only_when_the_rest_is_worth_it(void **state)
{
    struct bench bench = bench_open(ALLOCATOR_CACHING, 0);
    char *whole = take(&bench, MEMORY_ACTIVATIONS, 8 * MIB), *part, *rest;
    int64_t calls = device_calls(&bench);
    (void)state;

    give(&bench, whole);
    part = take(&bench, MEMORY_ACTIVATIONS, 7 * MIB); /* the rest, 1 MiB, stays with it */
    assert_ptr_equal(part, whole);
    assert_int_equal(memory_statistics(bench.memory).allocated_all, 7 * MIB);
    give(&bench, part);
    part = take(&bench, MEMORY_ACTIVATIONS, 3 * MIB);
    rest = take(&bench, MEMORY_ACTIVATIONS, 5 * MIB);
    assert_ptr_equal(part, whole);
    assert_ptr_equal(rest, whole + 3 * MIB);
    give(&bench, part);
    give(&bench, rest);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 8 * MIB), whole);
    assert_int_equal(device_calls(&bench), calls);
    assert_int_equal(memory_statistics(bench.memory).device_allocations, 1);
    bench_close(&bench);
}

/* The sizes of a training step: all blocks freed at its end, some earlier. */
static void step_of_allocations(const struct bench *bench)
{
    char *blocks[60];

    for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
        blocks[i] = take(bench, MEMORY_ACTIVATIONS, (i * i * 7919) % (3 * MIB) + 1);
        if (i % 3 == 2)
            give(bench, blocks[i - 1]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
        if (i % 3 != 1)
            give(bench, blocks[i]);
    }
}

static void from_the_second_step_on_the_device_is_not_asked(void **state)
{
    struct bench bench = bench_open(ALLOCATOR_CACHING, 0);
    int64_t calls;
    (void)state;

    take(&bench, MEMORY_PARAMETERS, 700 * KIB);
    step_of_allocations(&bench);
    calls = device_calls(&bench);
    assert_true(calls > 1);
    for (int i = 0; i < 5; i++) step_of_allocations(&bench);
    assert_int_equal(device_calls(&bench), calls);
    bench_close(&bench);
}

static void without_a_cache_each_call_is_the_devices(void **state)
{
    (void)state;

    for (int allocator = ALLOCATOR_STREAM_ORDERED; allocator <= ALLOCATOR_DIRECT; allocator++) {
        struct bench bench = bench_open((enum allocator)allocator, 0);
        for (int step = 1; step <= 3; step++) {
            step_of_allocations(&bench);
            if (device_counters(bench.device).allocations != 60 * step ||
                device_counters(bench.device).frees != 60 * step)
                fail_msg("%s: %lld allocations", allocator_names[allocator],
                         (long long)device_counters(bench.device).allocations);
            assert_int_equal(memory_statistics(bench.memory).reserved, 0);
        }
        bench_close(&bench);
    }
}

/* --- budgets ---------------------------------------------------------------------------------- */

static void a_refusal_says_what_was_asked_used_and_free(void **state)
{
    struct bench bench = bench_open(ALLOCATOR_CACHING, 13 * MIB);
    struct memory_statistics before, after;
    void *block;
    (void)state;

    take(&bench, MEMORY_PARAMETERS, 512 * KIB);
    take(&bench, MEMORY_ACTIVATIONS, 6 * MIB);
    take(&bench, MEMORY_ACTIVATIONS, 2 * MIB);
    before = memory_statistics(bench.memory);
    assert_int_equal(memory_alloc(bench.memory, MEMORY_ACTIVATION_GRADIENTS, 4 * MIB, &block),
                     STATUS_DEVICE_OUT_OF_MEMORY);
    assert_null(block);
    assert_string_equal(
        status_last()->text,
        "out of device memory: 4.00 MiB asked for activation gradients, 8.50 MiB used (parameters "
        "512.0 KiB, activations 8.00 MiB), 3.00 MiB of the memory budget of 13.00 MiB free, and "
        "1.50 MiB held free in smaller pieces; set batch lower, memory_budget higher or "
        "checkpointing=block");
    after = memory_statistics(bench.memory);
    assert_memory_equal(&before, &after, sizeof before);

    take(&bench, MEMORY_ACTIVATION_GRADIENTS, 2 * MIB);
    take(&bench, MEMORY_ACTIVATION_GRADIENTS, MIB);
    assert_int_equal(memory_alloc(bench.memory, MEMORY_INPUT, 600 * KIB, &block),
                     STATUS_DEVICE_OUT_OF_MEMORY);
    assert_non_null(strstr(status_last()->text,
                           "600.0 KiB asked for input (from a segment of 2 MiB), 11.50 MiB used"));
    assert_non_null(strstr(status_last()->text, "1.00 MiB of the memory budget of 13.00 MiB free"));
    bench_close(&bench);
}

static void without_a_budget_the_device_is_the_limit(void **state)
{
    (void)state;

    for (int allocator = ALLOCATOR_CACHING; allocator <= ALLOCATOR_DIRECT; allocator++) {
        struct bench bench = bench_open((enum allocator)allocator, 0);
        void *block;

        take(&bench, MEMORY_OPTIMIZER, 200 * MIB);
        assert_int_equal(memory_alloc(bench.memory, MEMORY_WORKSPACE, 100 * MIB, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        assert_string_equal(status_last()->text,
                            "out of device memory: 100.00 MiB asked for workspace, 200.00 MiB used "
                            "(optimizer 200.00 "
                            "MiB), 56.00 MiB of the device's 256.00 MiB free; set batch lower or "
                            "checkpointing=block");
        assert_int_equal(memory_alloc(bench.memory, MEMORY_WORKSPACE, SIZE_MAX, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        assert_int_equal(memory_alloc(bench.memory, MEMORY_WORKSPACE, SIZE_MAX / 4, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        take(&bench, MEMORY_WORKSPACE, 50 * MIB);
        bench_close(&bench);
    }
}

static void the_budget_holds_to_the_byte_without_a_cache(void **state)
{
    (void)state;

    for (int allocator = ALLOCATOR_STREAM_ORDERED; allocator <= ALLOCATOR_DIRECT; allocator++) {
        struct bench bench = bench_open((enum allocator)allocator, 10 * ROUNDING);
        char *first = take(&bench, MEMORY_INPUT, 4 * ROUNDING);
        void *block;

        take(&bench, MEMORY_INPUT, 6 * ROUNDING);
        assert_int_equal(memory_alloc(bench.memory, MEMORY_INPUT, 1, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        give(&bench, first);
        assert_int_equal(memory_alloc(bench.memory, MEMORY_INPUT, 4 * ROUNDING + 1, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        take(&bench, MEMORY_INPUT, 4 * ROUNDING);
        bench_close(&bench);
    }
}

static void free_segments_go_back_before_anything_is_refused(void **state)
{
    struct bench bench = bench_open(ALLOCATOR_CACHING, 6 * MIB);
    char *block = take(&bench, MEMORY_ACTIVATIONS, 6 * MIB);
    void *refused;
    (void)state;

    give(&bench, block);
    assert_int_equal(memory_statistics(bench.memory).reserved, 6 * MIB);
    block = take(&bench, MEMORY_INPUT, 1);
    assert_int_equal(memory_statistics(bench.memory).reserved, SEGMENT);
    assert_int_equal(memory_statistics(bench.memory).peak_reserved, 6 * MIB);
    take(&bench, MEMORY_INPUT, 4 * MIB);
    assert_int_equal(memory_alloc(bench.memory, MEMORY_INPUT, 2 * MIB, &refused),
                     STATUS_DEVICE_OUT_OF_MEMORY);
    give(&bench, block);
    take(&bench, MEMORY_INPUT, 2 * MIB);
    bench_close(&bench);
}

/* The device may be out of memory although the budget is not: others use it too. */
static void a_full_device_is_asked_again_after_a_trim(void **state)
{
    struct bench bench;
    char *block;
    (void)state;

    setenv("CHOKEPOINT_FAIL", "alloc:2", 1);
    bench = bench_open(ALLOCATOR_CACHING, 0);
    unsetenv("CHOKEPOINT_FAIL");
    block = take(&bench, MEMORY_ACTIVATIONS, 4 * MIB);
    give(&bench, block);
    take(&bench, MEMORY_ACTIVATIONS, 6 * MIB); /* the second call fails, the third is answered */
    assert_int_equal(memory_statistics(bench.memory).reserved, 6 * MIB);
    assert_int_equal(device_counters(bench.device).frees, 1);
    bench_close(&bench);
}

static void a_failing_device_leaves_the_figures_as_they_were(void **state)
{
    (void)state;

    for (int allocator = ALLOCATOR_CACHING; allocator <= ALLOCATOR_DIRECT; allocator++) {
        struct bench bench;
        struct memory_statistics before, after;
        void *block;

        setenv("CHOKEPOINT_FAIL", "alloc:2,alloc:3", 1);
        bench = bench_open((enum allocator)allocator, 0);
        unsetenv("CHOKEPOINT_FAIL");
        take(&bench, MEMORY_PARAMETERS, 3 * MIB);
        before = memory_statistics(bench.memory);
        assert_int_equal(memory_alloc(bench.memory, MEMORY_INPUT, 5 * MIB, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        assert_null(block);
        after = memory_statistics(bench.memory);
        assert_memory_equal(&before, &after, sizeof before);
        bench_close(&bench);
    }
}

static void kept_segments_stay_even_when_memory_runs_out(void **state)
{
    struct bench bench = bench_open(ALLOCATOR_CACHING, 6 * MIB);
    char *block = take(&bench, MEMORY_ACTIVATIONS, 4 * MIB);
    void *refused;
    (void)state;

    give(&bench, block);
    memory_keep(bench.memory, true);
    assert_int_equal(memory_trim(bench.memory), STATUS_OK);
    assert_int_equal(memory_alloc(bench.memory, MEMORY_INPUT, 6 * MIB, &refused),
                     STATUS_DEVICE_OUT_OF_MEMORY);
    assert_int_equal(device_counters(bench.device).frees, 0);
    assert_int_equal(memory_statistics(bench.memory).reserved, 4 * MIB);
    memory_keep(bench.memory, false);
    take(&bench, MEMORY_INPUT, 6 * MIB);
    assert_int_equal(device_counters(bench.device).frees, 1);
    bench_close(&bench);
}

/* --- peaks, mistakes, the end ----------------------------------------------------------------- */

static void peaks_start_again_from_what_is_allocated(void **state)
{
    struct bench bench = bench_open(ALLOCATOR_CACHING, 0);
    struct memory_statistics now;
    char *block;
    (void)state;

    take(&bench, MEMORY_PARAMETERS, 1000);
    block = take(&bench, MEMORY_ACTIVATIONS, 4 * MIB);
    give(&bench, block);
    take(&bench, MEMORY_INPUT, 2 * MIB - 1);
    now = memory_statistics(bench.memory);
    assert_int_equal(now.peak[MEMORY_ACTIVATIONS], 4 * MIB);
    assert_int_equal(now.peak[MEMORY_INPUT], 2 * MIB);
    assert_int_equal(now.peak_all, 4 * MIB + 1024);
    assert_int_equal(now.peak_reserved, 4 * MIB + SEGMENT);
    give(&bench,
         take(&bench, MEMORY_ACTIVATIONS, 9 * MIB)); /* a segment that the trim gives back */
    assert_int_equal(memory_statistics(bench.memory).peak_reserved, 14 * MIB + SEGMENT);
    assert_int_equal(memory_trim(bench.memory), STATUS_OK);
    memory_reset_peaks(bench.memory);
    now = memory_statistics(bench.memory);
    assert_int_equal(now.peak[MEMORY_ACTIVATIONS], 0);
    assert_int_equal(now.peak[MEMORY_PARAMETERS], 1024);
    assert_int_equal(now.peak_all, 2 * MIB + 1024);
    assert_int_equal(now.peak_reserved, 4 * MIB + SEGMENT);
    take(&bench, MEMORY_INPUT, 512);
    assert_int_equal(memory_statistics(bench.memory).peak_all, 2 * MIB + 1536);
    bench_close(&bench);
}

static void freeing_what_was_not_given_out_is_an_error(void **state)
{
    (void)state;

    for (int allocator = ALLOCATOR_CACHING; allocator <= ALLOCATOR_DIRECT; allocator++) {
        struct bench bench = bench_open((enum allocator)allocator, 0);
        char *block = take(&bench, MEMORY_INPUT, 4096), address[40];

        give(&bench, NULL);
        assert_int_equal(memory_free(bench.memory, block + 512), STATUS_INTERNAL);
        assert_int_equal(memory_free(bench.memory, &bench), STATUS_INTERNAL);
        assert_int_equal(memory_statistics(bench.memory).allocated_all, 4096);
        give(&bench, block);
        assert_int_equal(memory_free(bench.memory, block), STATUS_INTERNAL);
        snprintf(address, sizeof address, "%p", (void *)block);
        assert_non_null(strstr(status_last()->text, address));
        assert_int_equal(memory_statistics(bench.memory).allocated_all, 0);
        bench_close(&bench);
    }
}

/* bench_close() finds out: nothing may stay behind. */
static void closing_frees_what_was_forgotten(void **state)
{
    (void)state;

    for (int allocator = ALLOCATOR_CACHING; allocator <= ALLOCATOR_DIRECT; allocator++) {
        struct bench bench = bench_open((enum allocator)allocator, 0);

        for (size_t i = 0; i < 1000; i++)
            take(&bench, MEMORY_WORKSPACE, i * 37 + (i % 100 == 0 ? 3 * MIB : 0));
        assert_true(device_used(&bench) >= memory_statistics(bench.memory).allocated_all);
        bench_close(&bench);
    }
    memory_close(NULL);
}

static void categories_have_the_names_of_memory_timelines(void **state)
{
    (void)state;

    assert_string_equal(memory_category_name(MEMORY_PARAMETERS), "parameters");
    assert_string_equal(memory_category_name(MEMORY_ACTIVATION_GRADIENTS), "activation gradients");
    assert_string_equal(memory_category_name(MEMORY_WORKSPACE), "workspace");
    assert_string_equal(memory_category_name(MEMORY_CATEGORY_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_agree_with_the_oracle),
        cmocka_unit_test(the_same_calls_give_the_same_figures_to_the_byte),
        cmocka_unit_test(all_allocators_count_alike),
        cmocka_unit_test(small_blocks_share_segments_and_large_ones_get_their_own),
        cmocka_unit_test(neighbours_merge_in_every_order),
        cmocka_unit_test(a_request_takes_the_smallest_hole_that_fits),
        cmocka_unit_test(large_blocks_are_cut_only_when_the_rest_is_worth_it),
        cmocka_unit_test(from_the_second_step_on_the_device_is_not_asked),
        cmocka_unit_test(without_a_cache_each_call_is_the_devices),
        cmocka_unit_test(a_refusal_says_what_was_asked_used_and_free),
        cmocka_unit_test(without_a_budget_the_device_is_the_limit),
        cmocka_unit_test(the_budget_holds_to_the_byte_without_a_cache),
        cmocka_unit_test(free_segments_go_back_before_anything_is_refused),
        cmocka_unit_test(a_full_device_is_asked_again_after_a_trim),
        cmocka_unit_test(a_failing_device_leaves_the_figures_as_they_were),
        cmocka_unit_test(kept_segments_stay_even_when_memory_runs_out),
        cmocka_unit_test(peaks_start_again_from_what_is_allocated),
        cmocka_unit_test(freeing_what_was_not_given_out_is_an_error),
        cmocka_unit_test(closing_frees_what_was_forgotten),
        cmocka_unit_test(categories_have_the_names_of_memory_timelines),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
