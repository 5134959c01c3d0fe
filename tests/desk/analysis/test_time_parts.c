/* Where the time of a step went: every moment is in one part, and parts sum to the window. */
#include "harness/desk/analysis/time_parts.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_trace.h"

struct split {
    struct analysed analysed;
    struct summary summary;
    struct time_parts parts;
};

static void split_made(struct split *split)
{
    split->analysed = made_analyse();
    split->summary = summary_of(split->analysed.arena, split->analysed.trace);
    split->parts = time_parts_of(split->analysed.arena, &split->summary);
}

static const struct time_part *part_named(const struct split *split, const char *name)
{
    for (int64_t i = 0; i < split->parts.count; i++)
        if (strcmp(split->parts.items[i].name, name) == 0)
            return &split->parts.items[i];
    fail_msg("no part is called %s", name);
    return NULL;
}

static void check_part(const struct split *split, const char *name, enum part_kind kind,
                       int first_us, int second_us)
{
    const struct time_part *part = part_named(split, name);

    assert_int_equal(part->kind, kind);
    check_us(part->step_ns[0], first_us);
    check_us(part->step_ns[1], second_us);
    check_us(part->total_ns, first_us + second_us);
}

/* The sums that always hold. */
static void check_sums(const struct split *split)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < split->parts.count; i++) {
        const struct time_part *part = &split->parts.items[i];
        int64_t own = 0;
        for (int64_t step = 0; step < split->parts.step_count; step++) own += part->step_ns[step];
        assert_int_equal(own, part->total_ns);
        sum += part->total_ns;
    }
    assert_int_equal(sum, split->parts.window_ns);
    assert_int_equal(sum, split->summary.idle.end_ns - split->summary.idle.start_ns);
}

static void make_steps(int count, int length_us)
{
    for (int i = 0; i < count; i++) made_step(i + 1, i * length_us, (i + 1) * length_us);
}

/* Computation comes before communication, that before copies, and those before memsets; of two
 * kernels at once the one that began first; work across a border is in both steps. */
TEST(a_moment_belongs_to_one_part)
{
    struct split split;

    made_begin();
    make_steps(2, 100);
    made_add_work("kernel", "first", 7, 10, 40, 1);
    made_add_work("kernel", "second", 8, 30, 60, 2);
    made_add_work("kernel", "ncclDevKernel_AllReduce_Sum_f32", 9, 50, 70, 3);
    made_add_work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 10, 5, 75, 4);
    made_add_work("gpu_memset", "Memset (Device)", 11, 70, 80, 5);
    made_add_work("kernel", "first", 7, 90, 130, 6);
    split_made(&split);
    check_sums(&split);
    check_part(&split, "first", PART_COMPUTATION, 30 + 10, 30);
    check_part(&split, "second", PART_COMPUTATION, 20, 0);
    check_part(&split, "ncclDevKernel_AllReduce_Sum_f32", PART_COMMUNICATION, 10, 0);
    check_part(&split, "Memcpy HtoD (Pinned -> Device)", PART_COPY, 5 + 5, 0);
    check_part(&split, "Memset (Device)", PART_MEMSET, 5, 0);
    assert_int_equal(part_named(&split, "first")->count, 2);
    assert_true(split.parts.has_steps);
    check_us(split.parts.window_ns, 200);
}

/* The host launches both steps before the device has begun the first: each step has its own work
 * all the same. */
TEST(a_step_is_where_the_device_is_in_it)
{
    struct split split;

    made_begin();
    made_step(1, 0, 10);
    made_step(2, 10, 20);
    made_step(3, 20, 200);
    made_add_work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 8, 21, 26, 11);
    made_add_work("kernel", "k", 7, 20, 60, 5);
    made_add_work("kernel", "k", 7, 70, 110, 12);
    made_add_work("kernel", "k", 7, 110, 150, 25);
    split_made(&split);
    check_sums(&split);
    check_us(part_named(&split, "k")->step_ns[0], 40);
    check_us(part_named(&split, "k")->step_ns[1], 40);
    check_us(part_named(&split, "k")->step_ns[2], 40);
}

TEST(idle_time_is_split_by_cause)
{
    struct split split;

    made_begin();
    make_steps(2, 100);
    made_add("user_annotation", "data", 100, 100, 20, 50, 0);
    made_add_work("kernel", "k", 7, 0, 20, 0);
    made_add_work("kernel", "k", 7, 60, 100, 55); /* idle: data 30, launching 10 */
    made_add("cuda_runtime", "cudaDeviceSynchronize", 100, 100, 101, 151, 99);
    made_add_work("kernel", "k", 7, 100, 150, 100);
    made_add("user_annotation", "data", 100, 100, 160, 170, 0);
    made_add_work("kernel", "k", 7, 180, 200, 175); /* after the wait: data 10 */
    split_made(&split);
    check_sums(&split);
    check_part(&split, "k", PART_COMPUTATION, 60, 70);
    check_part(&split, "loading", PART_IDLE, 30, 0);
    check_part(&split, "loading after a wait", PART_IDLE, 0, 10);
    check_part(&split, "waiting", PART_IDLE, 0, 1);
    check_part(&split, "launching", PART_IDLE, 10, 0);
    check_part(&split, "launching after a wait", PART_IDLE, 0, 19);
}

/* A kernel's part is its operator's kind, in a graph as well; what the optimizer launches itself is
 * its own. */
TEST(kernels_belong_to_operators)
{
    struct split split;

    made_begin();
    make_steps(2, 100);
    made_add("cpu_op", "block0.qkv", 100, 100, 0, 10, 0);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 2, 3, 41);
    made_add("kernel", "gemm_a", 0, 7, 10, 20, 41);
    made_add("cpu_op", "block1.qkv", 100, 100, 10, 20, 0);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 12, 13, 42);
    made_add("kernel", "gemm_b", 0, 7, 20, 50, 42);
    made_add("user_annotation", "optimizer", 100, 100, 30, 60, 0);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 32, 33, 43);
    made_add("kernel", "adamw", 0, 7, 50, 100, 43);
    made_add("cuda_runtime", "cudaGraphLaunch", 100, 100, 70, 80, 5);
    made_add("gpu_user_annotation", "block0.qkv", 0, 7, 100, 140, 5);
    made_add("gpu_user_annotation", "optimizer", 0, 7, 140, 160, 5);
    made_add("kernel", "gemm_a", 0, 7, 100, 140, 5);
    made_add("kernel", "adamw", 0, 7, 140, 160, 5);
    made_add("kernel", "of nobody", 0, 7, 160, 200, 5);
    split_made(&split);
    check_sums(&split);
    check_part(&split, "block*.qkv", PART_COMPUTATION, 40, 40);
    check_part(&split, "optimizer", PART_COMPUTATION, 50, 20);
    check_part(&split, "of nobody", PART_COMPUTATION, 0, 40);
    assert_string_equal(
        trace_file_name(split.analysed.trace, part_named(&split, "block*.qkv")->kernel), "gemm_a");
}

TEST(a_host_that_computes_has_operators)
{
    struct split split;

    made_begin();
    make_steps(2, 100);
    made_add("cpu_op", "aten::linear", 100, 100, 0, 60, 0);
    made_add("cpu_op", "aten::addmm", 100, 100, 10, 50, 0);
    made_add("cpu_op", "aten::relu", 100, 100, 70, 90, 0);
    made_add("cpu_op", "aten::linear", 100, 100, 100, 180, 0);
    split_made(&split);
    assert_true(split.summary.timeline.host_alone);
    check_sums(&split);
    check_part(&split, "linear", PART_COMPUTATION, 60, 80);
    check_part(&split, "relu", PART_COMPUTATION, 20, 0);
    check_part(&split, "outside", PART_HOST, 20, 20);
}

TEST(without_steps_the_window_is_one)
{
    struct split split;

    made_begin();
    made_add_work("kernel", "k", 7, 10, 40, 1);
    made_add_work("kernel", "k", 7, 50, 70, 2);
    split_made(&split);
    check_sums(&split);
    assert_false(split.parts.has_steps);
    assert_int_equal(split.parts.step_count, 1);
    check_us(split.parts.window_ns, 60);

    made_begin(); /* nothing at all */
    made_add("cuda_runtime", "cudaGetDevice", 100, 100, 0, 1, 0);
    split_made(&split);
    assert_int_equal(split.parts.window_ns, 0);
}

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

TEST(sums_hold_for_any_trace)
{
    static const char *const categories[] = { "kernel", "kernel", "gpu_memcpy", "gpu_memset" };
    static const char *const names[] = { "a", "ncclDevKernel_x", "Memcpy HtoD", "Memset" };
    static const char *const calls[] = { "cudaStreamSynchronize", "cudaMalloc", "cudaGetDevice" };
    static const char *const spans[] = { "data", "log", "optimizer" };
    enum { ROUNDS = 400 };
    unsigned seed = 11;

    for (int round = 0; round < ROUNDS; round++) {
        int steps = (int)draw(&seed, 6), works = 1 + (int)draw(&seed, 30);
        struct split split;
        made_begin();
        make_steps(steps, 100);
        for (int i = 0; i < works; i++) {
            unsigned kind = draw(&seed, 4);
            int start = (int)draw(&seed, 500), called = (int)draw(&seed, (unsigned)start + 1);
            made_add_work(categories[kind], names[kind], 7 + (int)draw(&seed, 3), start,
                          start + (int)draw(&seed, 60), called);
        }
        for (int i = 0; i < 5; i++) {
            int start = (int)draw(&seed, 480);
            made_add("cuda_runtime", calls[draw(&seed, 3)], 100, 100, start,
                     start + 1 + (int)draw(&seed, 20), 1000 + i);
            start = 100 * (int)draw(&seed, 5) + 10;
            made_add("user_annotation", spans[draw(&seed, 3)], 100, 100, start,
                     start + 1 + (int)draw(&seed, 80), 0);
        }
        split_made(&split);
        check_sums(&split);
        test_release();
    }
}
