/* The step's allocator under random calls, against a table that lists every block there should
 * be. */
#include "harness/base/random.h"
#include "tests/engine/allocator_bench.h"
#include "tests/fixtures/test_seed.h"

enum { ORACLE_BLOCKS = 1500 };

struct row {
    char *address;
    size_t bytes;
    enum allocator_category category;
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
    enum allocator_category category = row->category;

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
    struct allocator_statistics now = allocator_statistics(bench->allocator);
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
    assert_ok(device_memset(bench->stream, row->address, row->byte, bytes));
    assert_ok(device_memset(bench->stream, row->address + row->bytes - bytes, row->byte, bytes));
}

static void assert_filled(const struct bench *bench, const struct row *row)
{
    size_t bytes = mark_bytes(row);
    unsigned char ends[2][64];

    if (bytes == 0)
        return;
    assert_ok(device_copy(bench->stream, COPY_DEVICE_TO_HOST, ends[0], row->address, bytes));
    assert_ok(device_copy(bench->stream, COPY_DEVICE_TO_HOST, ends[1],
                          row->address + row->bytes - bytes, bytes));
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(ends[0][i], row->byte);
        assert_int_equal(ends[1][i], row->byte);
    }
}

/* One random allocation or release, done by both and checked. More is allocated than freed until
 * the blocks take `most` bytes; there and back again. */
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
    row.category = (enum allocator_category)random_below(random, MEMORY_CATEGORY_COUNT);
    row.byte = (int)random_below(random, 256);
    row.address = take(bench, row.category, row.bytes);
    oracle_add(oracle, &row);
    fill(bench, &row);
}

/* Closes the bench. */
static struct allocator_statistics random_calls(struct bench bench, enum allocation_mode mode,
                                                uint64_t seed, int steps)
{
    static struct oracle oracle;
    struct random random = random_seed(seed, 0);
    struct allocator_statistics statistics;
    bool growing = true;

    memset(&oracle, 0, sizeof oracle);
    for (int i = 0; i < steps; i++) {
        random_step(&oracle, &bench, &random, &growing, (int64_t)(60 * MIB));
        assert_figures_agree(&oracle, &bench);
        if (i % 64 == 0 && mode != ALLOCATION_STREAM_ORDERED)
            assert_true(device_used(&bench) >= allocator_statistics(bench.allocator).reserved);
        if (i % 64 == 0 && mode == ALLOCATION_CACHING)
            assert_int_equal(device_used(&bench), allocator_statistics(bench.allocator).reserved);
    }
    statistics = allocator_statistics(bench.allocator);
    while (oracle.count > 0) {
        struct row row = oracle_remove(&oracle, oracle.count - 1);
        assert_filled(&bench, &row);
        give(&bench, row.address);
    }
    assert_figures_agree(&oracle, &bench);
    assert_int_equal(allocator_statistics(bench.allocator).allocated_all, 0);
    assert_ok(allocator_trim(bench.allocator));
    assert_int_equal(allocator_statistics(bench.allocator).reserved, 0);
    assert_ok(device_synchronize(bench.device));
    assert_int_equal(device_used(&bench), 0);
    bench_close(&bench);
    return statistics;
}

static struct allocator_statistics random_run(enum allocation_mode mode, uint64_t seed, int steps)
{
    return random_calls(bench_open(mode, 0), mode, seed, steps);
}

TEST(random_calls_agree_with_the_oracle)
{
    for (uint64_t i = 0; i < 3; i++) random_run(ALLOCATION_CACHING, test_seed() + i, 6000);
    random_calls(bench_open_caching(SEGMENTS_POOLED), ALLOCATION_CACHING, test_seed() + 3, 3000);
    random_calls(bench_open_caching(SEGMENTS_EXACT), ALLOCATION_CACHING, test_seed() + 4, 3000);
    random_run(ALLOCATION_STREAM_ORDERED, test_seed() + 5, 2000);
    random_run(ALLOCATION_DIRECT, test_seed() + 6, 2000);
}

TEST(the_same_calls_give_the_same_figures_to_the_byte)
{
    for (int mode = ALLOCATION_CACHING; mode <= ALLOCATION_DIRECT; mode++) {
        struct allocator_statistics first =
                                        random_run((enum allocation_mode)mode, test_seed(), 1500),
                                    second =
                                        random_run((enum allocation_mode)mode, test_seed(), 1500);
        assert_memory_equal(&first, &second, sizeof first);
        assert_true(first.peak_all > (int64_t)(30 * MIB));
    }
}

/* Peaks of what is allocated do not depend on who allocates it. */
TEST(all_allocators_count_alike)
{
    struct allocator_statistics caching = random_run(ALLOCATION_CACHING, test_seed(), 1500);

    for (int mode = ALLOCATION_STREAM_ORDERED; mode <= ALLOCATION_DIRECT; mode++) {
        struct allocator_statistics other =
            random_run((enum allocation_mode)mode, test_seed(), 1500);
        assert_memory_equal(caching.allocated, other.allocated, sizeof other.allocated);
        assert_memory_equal(caching.peak, other.peak, sizeof other.peak);
        assert_int_equal(caching.peak_all, other.peak_all);
        assert_int_equal(other.peak_reserved, other.peak_all);
        assert_true(caching.device_allocations < other.device_allocations / 10);
    }
}
