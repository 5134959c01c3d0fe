/* The step's allocator, rule by rule: its segments, its budget, its figures, what it refuses. */
#include "tests/engine/allocator_bench.h"

static const char *const allocator_names[] = { "caching", "stream ordered", "direct" };

/* --- How the caching allocator deals with segments --- */

TEST(small_blocks_share_segments_and_large_ones_get_their_own)
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
    struct bench bench = bench_open(ALLOCATION_CACHING, 0);
    char *first, *second;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *block = take(&bench, MEMORY_INPUT, cases[i].bytes);
        assert_int_equal(allocator_statistics(bench.allocator).reserved, cases[i].reserved);
        give(&bench, block);
        assert_int_equal(allocator_statistics(bench.allocator).reserved, cases[i].reserved);
        assert_ok(allocator_trim(bench.allocator));
        assert_int_equal(allocator_statistics(bench.allocator).reserved, 0);
    }
    first = take(&bench, MEMORY_INPUT, MIB);
    second = take(&bench, MEMORY_INPUT, MIB);
    assert_int_equal(allocator_statistics(bench.allocator).reserved, SEGMENT);
    assert_ptr_equal(second, first + MIB);
    take(&bench, MEMORY_INPUT, 1);
    assert_int_equal(allocator_statistics(bench.allocator).reserved, 2 * SEGMENT);
    bench_close(&bench);
}

/* PyTorch's limits: kSmallSize 1 MiB, kSmallBuffer 2, kMinLargeAlloc 10, kLargeBuffer 20,
 * kRoundLarge 2. */
TEST(other_segments_are_as_large_as_they_say)
{
    static const struct {
        enum segments segments;
        size_t bytes;
        int64_t reserved;
    } cases[] = {
        { SEGMENTS_POOLED, 1, 2 * MIB },
        { SEGMENTS_POOLED, MIB, 2 * MIB },
        { SEGMENTS_POOLED, MIB + 1, 20 * MIB },
        { SEGMENTS_POOLED, 10 * MIB - 512, 20 * MIB },
        { SEGMENTS_POOLED, 10 * MIB, 10 * MIB },
        { SEGMENTS_POOLED, 20 * MIB + 1, 22 * MIB },
        { SEGMENTS_EXACT, 1, 512 },
        { SEGMENTS_EXACT, MIB, MIB },
        { SEGMENTS_EXACT, 5 * MIB + 1, 5 * MIB + 512 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bench bench = bench_open_caching(cases[i].segments);

        give(&bench, take(&bench, MEMORY_INPUT, cases[i].bytes));
        assert_int_equal(allocator_statistics(bench.allocator).reserved, cases[i].reserved);
        assert_int_equal(device_used(&bench), cases[i].reserved);
        assert_ok(allocator_trim(bench.allocator));
        assert_int_equal(device_used(&bench), 0);
        bench_close(&bench);
    }
}

TEST(exact_segments_are_cut_to_any_rest_and_pooled_ones_are_not)
{
    struct bench bench = bench_open_caching(SEGMENTS_EXACT);
    char *block = take(&bench, MEMORY_ACTIVATIONS, 3 * MIB);
    int64_t calls = device_calls(&bench);

    give(&bench, block);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 3 * MIB - 512), block);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 512), block + 3 * MIB - 512);
    assert_int_equal(device_calls(&bench), calls);
    bench_close(&bench);

    bench = bench_open_caching(SEGMENTS_POOLED);
    block = take(&bench, MEMORY_ACTIVATIONS, 9 * MIB);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 9 * MIB), block + 9 * MIB);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 3 * MIB / 2), block + 18 * MIB);
    calls = device_calls(&bench);
    take(&bench, MEMORY_ACTIVATIONS, 512); /* small: half a MiB that is left is not for it */
    assert_int_equal(device_calls(&bench), calls + 1);
    bench_close(&bench);
}

/* Whatever the order in which neighbours are freed, they become one again. */
TEST(neighbours_merge_in_every_order)
{
    struct bench bench = bench_open(ALLOCATION_CACHING, 0);
    int orders = 0;

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
        assert_int_equal(allocator_statistics(bench.allocator).reserved, SEGMENT);
        orders++;
    }
    assert_int_equal(orders, 24);
    assert_ok(allocator_trim(bench.allocator));
    assert_int_equal(allocator_statistics(bench.allocator).reserved, 0);
    bench_close(&bench);
}

TEST(a_request_takes_the_smallest_hole_that_fits)
{
    static const size_t sizes[] = { 64 * KIB, 8 * KIB, 200 * KIB, 16 * KIB };
    struct bench bench = bench_open(ALLOCATION_CACHING, 0);
    char *holes[ARRAY_SIZE(sizes)];

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

TEST(large_blocks_are_cut_only_when_the_rest_is_worth_it)
{
    struct bench bench = bench_open(ALLOCATION_CACHING, 0);
    char *whole = take(&bench, MEMORY_ACTIVATIONS, 8 * MIB), *part, *rest;
    int64_t calls = device_calls(&bench);

    give(&bench, whole);
    part = take(&bench, MEMORY_ACTIVATIONS, 7 * MIB); /* the rest, 1 MiB, stays with it */
    assert_ptr_equal(part, whole);
    assert_int_equal(allocator_statistics(bench.allocator).allocated_all, 7 * MIB);
    give(&bench, part);
    part = take(&bench, MEMORY_ACTIVATIONS, 3 * MIB);
    rest = take(&bench, MEMORY_ACTIVATIONS, 5 * MIB);
    assert_ptr_equal(part, whole);
    assert_ptr_equal(rest, whole + 3 * MIB);
    give(&bench, part);
    give(&bench, rest);
    assert_ptr_equal(take(&bench, MEMORY_ACTIVATIONS, 8 * MIB), whole);
    assert_int_equal(device_calls(&bench), calls);
    assert_int_equal(allocator_statistics(bench.allocator).device_allocations, 1);
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

TEST(from_the_second_step_on_the_device_is_not_asked)
{
    struct bench bench = bench_open(ALLOCATION_CACHING, 0);
    int64_t calls;

    take(&bench, MEMORY_PARAMETERS, 700 * KIB);
    step_of_allocations(&bench);
    calls = device_calls(&bench);
    assert_true(calls > 1);
    for (int i = 0; i < 5; i++) step_of_allocations(&bench);
    assert_int_equal(device_calls(&bench), calls);
    bench_close(&bench);
}

TEST(without_a_cache_each_call_is_the_devices)
{
    for (int mode = ALLOCATION_STREAM_ORDERED; mode <= ALLOCATION_DIRECT; mode++) {
        struct bench bench = bench_open((enum allocation_mode)mode, 0);
        for (int step = 1; step <= 3; step++) {
            step_of_allocations(&bench);
            if (device_counters(bench.device).allocations != 60 * step ||
                device_counters(bench.device).frees != 60 * step)
                fail_msg("%s: %lld allocations", allocator_names[mode],
                         (long long)device_counters(bench.device).allocations);
            assert_int_equal(allocator_statistics(bench.allocator).reserved, 0);
        }
        bench_close(&bench);
    }
}

/* --- Budgets --- */

TEST(a_refusal_says_what_was_asked_used_and_free)
{
    struct bench bench = bench_open(ALLOCATION_CACHING, 13 * MIB);
    struct allocator_statistics before, after;
    void *block;

    take(&bench, MEMORY_PARAMETERS, 512 * KIB);
    take(&bench, MEMORY_ACTIVATIONS, 6 * MIB);
    take(&bench, MEMORY_ACTIVATIONS, 2 * MIB);
    before = allocator_statistics(bench.allocator);
    assert_int_equal(allocator_alloc(bench.allocator, MEMORY_ACTIVATION_GRADIENTS, 4 * MIB, &block),
                     STATUS_DEVICE_OUT_OF_MEMORY);
    assert_null(block);
    assert_string_equal(
        status_last()->text,
        "out of device memory: 4.00 MiB asked for activation gradients, 8.50 MiB used (parameters "
        "512 KiB, activations 8.00 MiB), 3.00 MiB of the memory budget of 13.0 MiB free, and "
        "1.50 MiB held free in smaller pieces; set batch lower, memory_budget higher or "
        "checkpointing=block");
    after = allocator_statistics(bench.allocator);
    assert_memory_equal(&before, &after, sizeof before);

    take(&bench, MEMORY_ACTIVATION_GRADIENTS, 2 * MIB);
    take(&bench, MEMORY_ACTIVATION_GRADIENTS, MIB);
    assert_int_equal(allocator_alloc(bench.allocator, MEMORY_INPUT, 600 * KIB, &block),
                     STATUS_DEVICE_OUT_OF_MEMORY);
    assert_non_null(strstr(status_last()->text,
                           "600 KiB asked for input (from a segment of 2 MiB), 11.5 MiB used"));
    assert_non_null(strstr(status_last()->text, "1.00 MiB of the memory budget of 13.0 MiB free"));
    bench_close(&bench);
}

TEST(without_a_budget_the_device_is_the_limit)
{
    for (int mode = ALLOCATION_CACHING; mode <= ALLOCATION_DIRECT; mode++) {
        struct bench bench = bench_open((enum allocation_mode)mode, 0);
        void *block;

        take(&bench, MEMORY_OPTIMIZER, 200 * MIB);
        assert_int_equal(allocator_alloc(bench.allocator, MEMORY_WORKSPACE, 100 * MIB, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        assert_string_equal(status_last()->text,
                            "out of device memory: 100 MiB asked for workspace, 200 MiB used "
                            "(optimizer 200 "
                            "MiB), 56.0 MiB of the device's 256 MiB free; set batch lower or "
                            "checkpointing=block");
        assert_int_equal(allocator_alloc(bench.allocator, MEMORY_WORKSPACE, SIZE_MAX, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        assert_int_equal(allocator_alloc(bench.allocator, MEMORY_WORKSPACE, SIZE_MAX / 4, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        take(&bench, MEMORY_WORKSPACE, 50 * MIB);
        bench_close(&bench);
    }
}

TEST(the_budget_holds_to_the_byte_without_a_cache)
{
    for (int mode = ALLOCATION_STREAM_ORDERED; mode <= ALLOCATION_DIRECT; mode++) {
        struct bench bench = bench_open((enum allocation_mode)mode, 10 * ROUNDING);
        char *first = take(&bench, MEMORY_INPUT, 4 * ROUNDING);
        void *block;

        take(&bench, MEMORY_INPUT, 6 * ROUNDING);
        assert_int_equal(allocator_alloc(bench.allocator, MEMORY_INPUT, 1, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        give(&bench, first);
        assert_int_equal(allocator_alloc(bench.allocator, MEMORY_INPUT, 4 * ROUNDING + 1, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        take(&bench, MEMORY_INPUT, 4 * ROUNDING);
        bench_close(&bench);
    }
}

TEST(free_segments_go_back_before_anything_is_refused)
{
    struct bench bench = bench_open(ALLOCATION_CACHING, 6 * MIB);
    char *block = take(&bench, MEMORY_ACTIVATIONS, 6 * MIB);
    void *refused;

    give(&bench, block);
    assert_int_equal(allocator_statistics(bench.allocator).reserved, 6 * MIB);
    block = take(&bench, MEMORY_INPUT, 1);
    assert_int_equal(allocator_statistics(bench.allocator).reserved, SEGMENT);
    assert_int_equal(allocator_statistics(bench.allocator).peak_reserved, 6 * MIB);
    take(&bench, MEMORY_INPUT, 4 * MIB);
    assert_int_equal(allocator_alloc(bench.allocator, MEMORY_INPUT, 2 * MIB, &refused),
                     STATUS_DEVICE_OUT_OF_MEMORY);
    give(&bench, block);
    take(&bench, MEMORY_INPUT, 2 * MIB);
    bench_close(&bench);
}

/* The device may be out of memory although the budget is not: others use it too. */
TEST(a_full_device_is_asked_again_after_a_trim)
{
    struct bench bench;
    char *block;

    setenv("CHOKEPOINT_FAIL", "alloc:2", 1);
    bench = bench_open(ALLOCATION_CACHING, 0);
    unsetenv("CHOKEPOINT_FAIL");
    block = take(&bench, MEMORY_ACTIVATIONS, 4 * MIB);
    give(&bench, block);
    take(&bench, MEMORY_ACTIVATIONS, 6 * MIB); /* the second call fails, the third is answered */
    assert_int_equal(allocator_statistics(bench.allocator).reserved, 6 * MIB);
    assert_int_equal(device_counters(bench.device).frees, 1);
    bench_close(&bench);
}

TEST(a_failing_device_leaves_the_figures_as_they_were)
{
    for (int mode = ALLOCATION_CACHING; mode <= ALLOCATION_DIRECT; mode++) {
        struct bench bench;
        struct allocator_statistics before, after;
        void *block;

        setenv("CHOKEPOINT_FAIL", "alloc:2,alloc:3", 1);
        bench = bench_open((enum allocation_mode)mode, 0);
        unsetenv("CHOKEPOINT_FAIL");
        take(&bench, MEMORY_PARAMETERS, 3 * MIB);
        before = allocator_statistics(bench.allocator);
        assert_int_equal(allocator_alloc(bench.allocator, MEMORY_INPUT, 5 * MIB, &block),
                         STATUS_DEVICE_OUT_OF_MEMORY);
        assert_null(block);
        after = allocator_statistics(bench.allocator);
        assert_memory_equal(&before, &after, sizeof before);
        bench_close(&bench);
    }
}

TEST(kept_segments_stay_even_when_memory_runs_out)
{
    struct bench bench = bench_open(ALLOCATION_CACHING, 6 * MIB);
    char *block = take(&bench, MEMORY_ACTIVATIONS, 4 * MIB);
    void *refused;

    give(&bench, block);
    allocator_keep(bench.allocator, true);
    assert_ok(allocator_trim(bench.allocator));
    assert_int_equal(allocator_alloc(bench.allocator, MEMORY_INPUT, 6 * MIB, &refused),
                     STATUS_DEVICE_OUT_OF_MEMORY);
    assert_int_equal(device_counters(bench.device).frees, 0);
    assert_int_equal(allocator_statistics(bench.allocator).reserved, 4 * MIB);
    allocator_keep(bench.allocator, false);
    take(&bench, MEMORY_INPUT, 6 * MIB);
    assert_int_equal(device_counters(bench.device).frees, 1);
    bench_close(&bench);
}

/* --- Peaks, mistakes, the end --- */

TEST(peaks_start_again_from_what_is_allocated)
{
    struct bench bench = bench_open(ALLOCATION_CACHING, 0);
    struct allocator_statistics now;
    char *block;

    take(&bench, MEMORY_PARAMETERS, 1000);
    block = take(&bench, MEMORY_ACTIVATIONS, 4 * MIB);
    give(&bench, block);
    take(&bench, MEMORY_INPUT, 2 * MIB - 1);
    now = allocator_statistics(bench.allocator);
    assert_int_equal(now.peak[MEMORY_ACTIVATIONS], 4 * MIB);
    assert_int_equal(now.peak[MEMORY_INPUT], 2 * MIB);
    assert_int_equal(now.peak_all, 4 * MIB + 1024);
    assert_int_equal(now.peak_reserved, 4 * MIB + SEGMENT);
    give(&bench,
         take(&bench, MEMORY_ACTIVATIONS, 9 * MIB)); /* a segment that the trim gives back */
    assert_int_equal(allocator_statistics(bench.allocator).peak_reserved, 14 * MIB + SEGMENT);
    assert_ok(allocator_trim(bench.allocator));
    allocator_reset_peaks(bench.allocator);
    now = allocator_statistics(bench.allocator);
    assert_int_equal(now.peak[MEMORY_ACTIVATIONS], 0);
    assert_int_equal(now.peak[MEMORY_PARAMETERS], 1024);
    assert_int_equal(now.peak_all, 2 * MIB + 1024);
    assert_int_equal(now.peak_reserved, 4 * MIB + SEGMENT);
    take(&bench, MEMORY_INPUT, 512);
    assert_int_equal(allocator_statistics(bench.allocator).peak_all, 2 * MIB + 1536);
    bench_close(&bench);
}

TEST(freeing_what_was_not_given_out_is_an_error)
{
    for (int mode = ALLOCATION_CACHING; mode <= ALLOCATION_DIRECT; mode++) {
        struct bench bench = bench_open((enum allocation_mode)mode, 0);
        char *block = take(&bench, MEMORY_INPUT, 4096), address[40];

        give(&bench, NULL);
        assert_int_equal(allocator_free(bench.allocator, block + 512), STATUS_INTERNAL);
        assert_int_equal(allocator_free(bench.allocator, &bench), STATUS_INTERNAL);
        assert_int_equal(allocator_statistics(bench.allocator).allocated_all, 4096);
        give(&bench, block);
        assert_int_equal(allocator_free(bench.allocator, block), STATUS_INTERNAL);
        snprintf(address, sizeof address, "%p", (void *)block);
        assert_non_null(strstr(status_last()->text, address));
        assert_int_equal(allocator_statistics(bench.allocator).allocated_all, 0);
        bench_close(&bench);
    }
}

/* bench_close() finds out: nothing may stay behind. */
TEST(closing_frees_what_was_forgotten)
{
    for (int mode = ALLOCATION_CACHING; mode <= ALLOCATION_DIRECT; mode++) {
        struct bench bench = bench_open((enum allocation_mode)mode, 0);

        for (size_t i = 0; i < 1000; i++)
            take(&bench, MEMORY_WORKSPACE, i * 37 + (i % 100 == 0 ? 3 * MIB : 0));
        assert_true(device_used(&bench) >= allocator_statistics(bench.allocator).allocated_all);
        bench_close(&bench);
    }
    allocator_close(NULL);
}

TEST(categories_have_the_names_of_memory_timelines)
{
    assert_string_equal(allocator_category_name(MEMORY_PARAMETERS), "parameters");
    assert_string_equal(allocator_category_name(MEMORY_ACTIVATION_GRADIENTS),
                        "activation gradients");
    assert_string_equal(allocator_category_name(MEMORY_WORKSPACE), "workspace");
    assert_string_equal(allocator_category_name(MEMORY_CATEGORY_COUNT), "unknown");
}
