/* A trace breaks down into launches, kernels and copies by name, operators and phases. */
#include "harness/desk/analysis/tables/host_operators.h"
#include "harness/desk/analysis/tables/kernel_table.h"
#include "harness/desk/analysis/tables/spans.h"
#include "harness/desk/analysis/timeline/launches.h"
#include "harness/desk/analysis/timeline/phases.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_trace.h"

#include <math.h>

static struct launches launches_in(const struct analysed *analysed)
{
    struct captures captures = captures_of(analysed->arena, &analysed->timeline, &analysed->steps);

    return launches_of(analysed->arena, &analysed->timeline, &captures);
}

TEST(launches_are_measured_from_call_to_first_work)
{
    struct analysed analysed;
    struct launches launches;

    made_begin();
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 0, 10, 1);
    made_add("kernel", "short", 0, 7, 15, 20, 1); /* delay 5, shorter than its call */
    made_add("cuda_driver", "cuLaunchKernel", 100, 100, 10, 20, 2);
    made_add("kernel", "long", 0, 7, 150, 400, 2);                    /* delay 130: an outlier */
    made_add("cuda_runtime", "cudaMemcpyAsync", 100, 100, 20, 80, 3); /* a call of 60: likewise */
    made_add("gpu_memcpy", "Memcpy HtoD", 0, 8, 40, 50, 3); /* begins within its call: delay 0 */
    made_add("kernel", "orphan", 0, 7, 500, 501, 99);
    made_add("cuda_runtime", "cudaStreamSynchronize", 100, 100, 80, 500, 4);
    analysed = made_analyse();
    launches = launches_in(&analysed);
    assert_int_equal(launches.count, 3);
    assert_int_equal(launches.work_count, 3);
    assert_int_equal(launches.orphan_count, 1);
    check_us(launches.host_ns, 80);
    check_us(launches.delay_ns, 135);
    check_us(launches.delay_max_ns, 130);
    assert_int_equal(launches.short_count, 1);
    assert_int_equal(launches.long_call_count, 1);
}

/* Launches into a graph do nothing yet; those of other threads may go there as well. */
TEST(launches_without_work_are_lost_unless_captured)
{
    struct analysed analysed;
    struct launches launches;

    made_begin();
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 0, 10, 1);
    made_add("kernel", "there", 0, 7, 15, 20, 1);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 20, 30, 2);
    made_add("cuda_driver", "cuLaunchKernelEx", 100, 100, 30, 40, 3);
    made_add("cuda_runtime", "cudaGraphLaunch", 100, 100, 40, 50, 4);
    made_add("cuda_runtime", "cudaLaunchHostFunc", 100, 100, 50, 60, 5);
    made_add("cuda_runtime", "cudaMemsetAsync", 100, 100, 60, 70, 6);
    made_add("cuda_runtime", "cudaStreamBeginCapture", 100, 100, 100, 101, 7);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 110, 112, 8);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 200, 115, 117, 9);
    made_add("cuda_runtime", "cudaStreamEndCapture", 100, 100, 120, 121, 10);
    made_add("cuda_runtime", "hipLaunchKernel", 100, 200, 130, 132, 11);
    made_add("cuda_runtime", "cudaLaunchKernelExC", 100, 100, 140, 150, 12);
    made_add("cuda_driver", "cuLaunchKernelEx", 100, 100, 142, 148, 13);
    made_add("kernel", "of the inner call", 0, 7, 160, 170, 13);
    made_add("cuda_runtime", "cudaLaunchKernelExC", 100, 100, 150, 160, 14);
    made_add("cuda_driver", "cuLaunchKernelEx", 100, 100, 152, 158, 15);
    analysed = made_analyse();
    launches = launches_in(&analysed);
    assert_int_equal(launches.count, 2);
    assert_int_equal(launches.lost_count, 5); /* 2, 3, 4, 11, and 14 with 15 */
}

struct made_launch {
    int issued, begun, stream;
};

/* How many launches of its stream had been issued as one begins, and had not begun before it. */
static int queue_at(const struct made_launch *launches, int count, int of)
{
    const struct made_launch *one = &launches[of];
    int depth = 0;

    for (int i = 0; i < count; i++)
        depth += launches[i].stream == one->stream && launches[i].issued <= one->begun &&
                 (launches[i].begun > one->begun || (launches[i].begun == one->begun && i >= of));
    return depth;
}

TEST(the_queue_is_as_deep_as_counting_says)
{
    enum { ROUNDS = 300, LAUNCHES = 12 };
    unsigned seed = 3;

    for (int round = 0; round < ROUNDS; round++) {
        struct made_launch made[LAUNCHES];
        struct analysed analysed;
        int most = 0;
        made_begin();
        for (int i = 0; i < LAUNCHES; i++) {
            seed = seed * 1664525u + 1013904223u;
            made[i].issued = (int)(seed >> 16 & 63);
            made[i].begun = made[i].issued + (int)(seed >> 22 & 31);
            made[i].stream = 7 + (int)(seed >> 28 & 1);
            made_add("cuda_runtime", "cudaLaunchKernel", 100, 100 + i, made[i].issued,
                     made[i].issued + 1, i + 1);
            made_add("kernel", "one", 0, made[i].stream, made[i].begun, made[i].begun + 1, i + 1);
        }
        for (int i = 0; i < LAUNCHES; i++) {
            int depth = queue_at(made, LAUNCHES, i);
            most = depth > most ? depth : most;
        }
        analysed = made_analyse();
        assert_int_equal(launches_in(&analysed).queue_max, most);
        test_release();
    }
}

TEST(a_graph_is_one_launch)
{
    struct analysed analysed;
    struct launches launches;

    made_begin();
    made_add("cuda_runtime", "cudaGraphLaunch", 100, 100, 0, 4, 1);
    for (int i = 9; i >= 0; i--) made_add("kernel", "node", 0, 7, 10 + 10 * i, 15 + 10 * i, 1);
    analysed = made_analyse();
    launches = launches_in(&analysed);
    assert_int_equal(launches.count, 1);
    assert_int_equal(launches.work_count, 10);
    check_us(launches.delay_ns, 6); /* to the first of the ten */
    assert_int_equal(launches.queue_max, 1);
}

TEST(the_queue_is_counted_by_stream)
{
    struct analysed analysed;

    made_begin();
    for (int i = 0; i < 5; i++) /* issued at 0, 2, 4, 6, 8; begun at 5, 105, ... */
        made_add_work("kernel", "k", 7, 5 + 100 * i, 6 + 100 * i, 2 * i);
    for (int i = 0; i < 3; i++) made_add_work("kernel", "k", 8, 50 + i, 51 + i, 10 + i);
    analysed = made_analyse();
    assert_int_equal(launches_in(&analysed).queue_max, 4);
}

static const struct kernel_row *row_named(const struct kernels *kernels,
                                          const struct trace_file *trace, const char *name)
{
    for (int64_t i = 0; i < kernels->count; i++)
        if (strcmp(trace_file_name(trace, kernels->rows[i].name), name) == 0)
            return &kernels->rows[i];
    fail_msg("there is no %s", name);
    return NULL;
}

TEST(kernels_are_summed_by_name)
{
    struct analysed analysed;
    struct kernels kernels;
    const struct kernel_row *gemm, *copy, *bare;

    made_begin();
    made_add_with("kernel", "gemm", 0, 7, 0, 30, 0,
                  "\"blocks per SM\":2.0,\"est. achieved occupancy %\":50");
    made_add_with("kernel", "gemm", 0, 8, 10, 20, 0,
                  "\"blocks per SM\":1.0,\"est. achieved occupancy %\":10");
    made_add("kernel", "bare", 0, 7, 40, 45, 0);
    made_add_with("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, 50, 60, 0,
                  "\"bytes\":30000");
    made_add_with("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, 60, 70, 0,
                  "\"bytes\":10000");
    made_add("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, 70, 80, 0); /* says no bytes */
    analysed = made_analyse();
    kernels = kernels_of(analysed.arena, &analysed.timeline);
    assert_int_equal(kernels.count, 3);
    gemm = row_named(&kernels, analysed.trace, "gemm");
    assert_ptr_equal(gemm, &kernels.rows[0]); /* the longest */
    assert_int_equal(gemm->count, 2);
    check_us(gemm->total_ns, 40);
    check_us(gemm->min_ns, 10);
    check_us(gemm->max_ns, 30);
    assert_float_equal(gemm->blocks_per_sm, 1.75, 1e-9);
    assert_float_equal(gemm->occupancy_percent, 40, 1e-9);
    bare = row_named(&kernels, analysed.trace, "bare");
    assert_true(isnan(bare->blocks_per_sm));
    assert_true(isnan(bare->occupancy_percent));
    copy = row_named(&kernels, analysed.trace, "Memcpy HtoD (Pageable -> Device)");
    assert_int_equal(copy->kind, WORK_COPY);
    assert_true(copy->pageable);
    assert_int_equal(copy->count, 3);
    assert_int_equal(copy->bytes, 40000);
    check_us(copy->bytes_ns, 20); /* 2 GB/s */
}

#define GRID(blocks) "\"grid\":" blocks ",\"block\":[32,1,1]"

TEST(small_grids_count_where_nothing_runs_beside_them)
{
    static const struct {
        int stream, start, end;
        const char *grid;
    } calls[] = {
        { 7, 0, 30, GRID("[1,1,1]") },     { 7, 30, 39, GRID("[1,1,1]") },
        { 7, 40, 60, GRID("[1,1,1]") },    { 8, 50, 80, GRID("[1,1,1]") },
        { 7, 80, 100, GRID("[7,7,1]") },   { 7, 100, 120, GRID("[50,1,1]") },
        { 7, 120, 140, GRID("[2,5,10]") }, { 7, 140, 160, "" },
    };
    struct analysed analysed;
    struct kernels kernels;
    const struct kernel_row *row;

    made_begin_with("\"deviceProperties\":[{\"id\":0,\"name\":\"GPU\",\"numSms\":100}]");
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        made_add_with("kernel", "k", 0, calls[i].stream, calls[i].start, calls[i].end, 0,
                      calls[i].grid);
    analysed = made_analyse();
    kernels = kernels_of(analysed.arena, &analysed.timeline);
    row = row_named(&kernels, analysed.trace, "k");
    assert_int_equal(row->small_count, 2);
    check_us(row->small_ns, 50);
    assert_float_equal(row->small_filled_ns, 300 + 9800, 1);
}

static const struct span_row *span_named(const struct spans *spans, const struct trace_file *trace,
                                         const char *name)
{
    for (int64_t i = 0; i < spans->count; i++)
        if (strcmp(trace_file_name(trace, spans->rows[i].name), name) == 0)
            return &spans->rows[i];
    fail_msg("there is no %s", name);
    return NULL;
}

TEST(operators_have_self_and_total_time)
{
    static const struct {
        const char *name;
        int64_t count, host_total_us, host_self_us, device_total_us, device_self_us;
        bool is_phase;
    } wanted[] = {
        { "forward", 1, 100, 40, 37, 0, true },       { "aten::linear", 1, 50, 20, 30, 0, false },
        { "aten::mm", 1, 30, 29, 30, 30, false },     { "aten::relu", 1, 10, 9, 7, 7, false },
        { "other thread", 1, 100, 100, 0, 0, false }, { "cudaLaunchKernel", 3, 3, 3, 0, 0, false },
    };
    struct analysed analysed;
    struct spans spans;

    made_begin();
    made_step(1, 0, 500);
    made_add("cpu_op", "aten::mm", 100, 100, 20, 50, 0);
    made_add("user_annotation", "forward", 100, 100, 0, 100, 0);
    made_add("cpu_op", "aten::linear", 100, 100, 10, 60, 0);
    made_add("cpu_op", "aten::relu", 100, 100, 60, 70, 0); /* begins where the last one ends */
    made_add("cpu_op", "other thread", 100, 101, 0, 100, 0);
    made_add_work("kernel", "gemm", 7, 100, 130, 20);
    made_add_work("kernel", "relu", 7, 130, 137, 60);
    made_add_work("kernel", "of no span", 7, 300, 310, 200);
    analysed = made_analyse();
    spans = spans_of(analysed.arena, &analysed.timeline);
    assert_int_equal(spans.count, ARRAY_SIZE(wanted));
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        const struct span_row *row = span_named(&spans, analysed.trace, wanted[i].name);
        assert_int_equal(row->count, wanted[i].count);
        check_us(row->host_total_ns, wanted[i].host_total_us);
        check_us(row->host_self_ns, wanted[i].host_self_us);
        check_us(row->device_total_ns, wanted[i].device_total_us);
        check_us(row->device_self_ns, wanted[i].device_self_us);
        assert_int_equal(row->is_phase, wanted[i].is_phase);
        assert_int_equal(row->is_call, strcmp(wanted[i].name, "cudaLaunchKernel") == 0);
    }
}

/* The first holds its like and nothing else, as a wrapper of Python does; the second does more. */
TEST(a_name_inside_itself_counts_once_in_totals)
{
    struct analysed analysed;
    struct spans spans;
    const struct span_row *row;

    made_begin();
    made_add("cpu_op", "f", 100, 100, 0, 100, 0);
    made_add("cpu_op", "f", 100, 100, 10, 60, 0);
    made_add_work("kernel", "k", 7, 200, 220, 20);
    made_add("cpu_op", "f", 100, 100, 100, 200, 0);
    made_add("cpu_op", "f", 100, 100, 110, 120, 0);
    made_add("cpu_op", "f", 100, 100, 130, 150, 0);
    analysed = made_analyse();
    spans = spans_of(analysed.arena, &analysed.timeline);
    assert_int_equal(spans.count, 2);
    row = span_named(&spans, analysed.trace, "f");
    assert_int_equal(row->count, 4);
    check_us(row->host_total_ns, 200);
    check_us(row->host_self_ns, 199);
    check_us(row->device_total_ns, 20);
    check_us(row->device_self_ns, 20);
}

/* PyTorch's own annotations have the names of operators at times. */
TEST(operators_and_annotations_of_one_name_are_two_rows)
{
    struct analysed analysed;
    struct spans spans;

    made_begin();
    made_add("cpu_op", "f", 100, 100, 0, 10, 0);
    made_add("user_annotation", "f", 100, 100, 20, 50, 0);
    made_add("cpu_op", "profiler::_record_function_enter_new", 100, 100, 0, 2, 0);
    analysed = made_analyse();
    spans = spans_of(analysed.arena, &analysed.timeline);
    assert_int_equal(spans.count, 2);
    assert_true(spans.rows[0].is_phase && !spans.rows[1].is_phase);
    check_us(spans.rows[0].host_self_ns, 30);
    check_us(spans.rows[1].host_self_ns, 10); /* nothing of the profiler's own */
}

/* The median of three counts, and 5 us of each are its own cost. */
TEST(operators_count_with_the_median_of_their_name)
{
    struct analysed analysed;
    struct host_operators found;

    made_begin();
    made_add("cpu_op", "aten::view", 100, 100, 910, 912, 0);
    made_add("cpu_op", "aten::mul", 100, 100, 0, 20, 0);
    made_add("cpu_op", "aten::mul", 100, 100, 100, 130, 0);
    made_add("cpu_op", "aten::mul", 100, 100, 200, 900, 0);   /* interrupted */
    made_add("cpu_op", "aten::mul", 100, 100, 2000, 2020, 0); /* later */
    made_add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100,
             100, 1000, 1100, 0);
    made_add("cpu_op", "aten::div", 100, 100, 1010, 1090, 0); /* the loader's */
    analysed = made_analyse();
    found = host_operators_of(analysed.arena, &analysed.timeline, 0, 2000000);
    assert_int_equal(found.count, 4);
    check_us((int64_t)found.typical_ns, 3 * 30 + 2);
    check_us((int64_t)found.own_ns, 3 * 5 + 2);
    assert_int_equal(found.elementwise_count, 3);
    check_us((int64_t)found.elementwise_ns, 3 * 30);
}

#define MEMORY(type, bytes) "\"Device Type\":" type ",\"Device Id\":0,\"Bytes\":" bytes

TEST(spans_have_the_memory_of_their_time)
{
    static const struct {
        const char *name;
        int64_t host, host_self, device, device_self;
    } wanted[] = {
        { "outer", -600, -100, 4096, 0 },
        { "inner", -500, -500, 4096, 4096 },
        { "after", 0, 0, 0, 0 },
    };
    struct analysed analysed;
    struct spans spans;

    made_begin();
    made_add("cpu_op", "outer", 100, 100, 0, 100, 0);
    made_add("cpu_op", "inner", 100, 100, 10, 60, 0);
    made_add("cpu_op", "after", 100, 100, 200, 300, 0);
    made_add_instant("[memory]", 150, MEMORY("0", "77"));
    made_add_instant("[memory]", 10, MEMORY("0", "-500"));
    made_add_instant("[memory]", 60, MEMORY("1", "4096"));
    made_add_instant("[memory]", 61, MEMORY("0", "-100"));
    analysed = made_analyse();
    spans = spans_of(analysed.arena, &analysed.timeline);
    assert_true(spans.has_memory);
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        const struct span_row *row = span_named(&spans, analysed.trace, wanted[i].name);
        assert_int_equal(row->host_bytes, wanted[i].host);
        assert_int_equal(row->host_self_bytes, wanted[i].host_self);
        assert_int_equal(row->device_bytes, wanted[i].device);
        assert_int_equal(row->device_self_bytes, wanted[i].device_self);
    }
}

TEST(rows_are_sorted_by_the_keys_of_pytorch)
{
    static const struct {
        const char *key, *first;
    } cases[] = {
        { "self_cpu_time_total", "often" },
        { "cpu_time_total", "outer" },
        { "cpu_time", "outer" },
        { "count", "often" },
        { "cuda_time_total", "outer" },
        { "self_cuda_time_total", "inner" },
        { "self_device_time_total", "inner" },
    };
    const struct span_row *sorted[8];
    struct analysed analysed;
    enum span_order order;
    struct spans spans;

    made_begin();
    made_add("cpu_op", "outer", 100, 100, 0, 100, 0);
    made_add("cpu_op", "inner", 100, 100, 10, 70, 0);
    made_add_work("kernel", "k", 7, 200, 220, 20);
    for (int i = 0; i < 3; i++)
        made_add("cpu_op", "often", 100, 100, 300 + 30 * i, 325 + 30 * i, 0);
    analysed = made_analyse();
    spans = spans_of(analysed.arena, &analysed.timeline);
    assert_in_range(spans.count, 1, ARRAY_SIZE(sorted));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_true(span_order_find(cases[i].key, &order));
        spans_sort(sorted, &spans, order);
        assert_string_equal(trace_file_name(analysed.trace, sorted[0]->name), cases[i].first);
    }
    assert_false(span_order_find("time", &order));
    assert_false(span_order_find("", &order));
    for (int i = SPANS_BY_DEFAULT + 1; i < SPANS_ORDER_COUNT; i++) {
        assert_true(span_order_find(span_order_name((enum span_order)i), &order));
        assert_int_equal(order, i);
    }
}

#define OPERATOR(sequence, thread, dims)                                                           \
    "\"Sequence number\":" sequence ",\"Fwd thread id\":" thread ",\"Input Dims\":" dims
#define NODE "autograd::engine::evaluate_function: "

/* Two linear layers of one shape and one of another, their backward passes on a thread of their
 * own, in which the second is computed again. */
static void make_layers(void)
{
    made_add_with("cpu_op", "aten::linear", 100, 100, 0, 10, 0, OPERATOR("5", "0", "[[8, 4]]"));
    made_add_with("cpu_op", "aten::addmm", 100, 100, 2, 8, 0, OPERATOR("6", "0", "[[4, 4]]"));
    made_add_with("cpu_op", "aten::linear", 100, 100, 10, 20, 0, OPERATOR("7", "0", "[[8,4]]"));
    made_add_with("cpu_op", "aten::linear", 100, 100, 20, 30, 0, OPERATOR("9", "0", "[[2,4]]"));
    made_add_with("cpu_op", "aten::item", 100, 100, 30, 31, 0, OPERATOR("11", "0", "[]"));
    made_add_work("kernel", "gemm", 7, 300, 340, 3);
    made_add_work("kernel", "gemm", 7, 340, 370, 15);
    made_add_work("kernel", "gemm", 7, 370, 380, 25);
    made_add_with("cpu_op", NODE "AddmmBackward0", 100, 101, 100, 110, 0,
                  OPERATOR("10", "1", "[]"));
    made_add_with("cpu_op", "AddmmBackward0", 100, 101, 101, 109, 0, OPERATOR("10", "1", "[[8]]"));
    made_add_with("cpu_op", NODE "TBackward0", 100, 101, 110, 120, 0, OPERATOR("9", "1", "[]"));
    made_add_with("cpu_op", NODE "AddmmBackward0", 100, 101, 120, 160, 0, OPERATOR("8", "1", "[]"));
    made_add_with("cpu_op", "aten::linear", 100, 101, 130, 150, 0, OPERATOR("0", "0", "[[8,4]]"));
    made_add_with("cpu_op", NODE "AddmmBackward0", 100, 101, 160, 170, 0, OPERATOR("6", "1", "[]"));
    made_add("cpu_op", NODE "torch::autograd::AccumulateGrad", 100, 101, 170, 175, 0);
}

TEST(layers_are_grouped_by_kind_shape_and_direction)
{
    static const struct {
        const char *name, *dims;
        int64_t count, device_us, host_us;
    } wanted[] = {
        { "linear", "[[8,4]]", 3, 70, 40 },         { "linear", "[[2,4]]", 1, 10, 10 },
        { "linear backward", "[[8,4]]", 2, 0, 30 }, { "linear backward", "[[2,4]]", 1, 0, 20 },
        { "AccumulateGrad", "", 1, 0, 5 },          { "item", "[]", 1, 0, 1 },
    };
    struct operator_kinds kinds;
    struct analysed analysed;

    made_begin();
    make_layers();
    analysed = made_analyse();
    kinds = operator_kinds_of(analysed.arena, &analysed.timeline, NULL);
    assert_int_equal(kinds.count, ARRAY_SIZE(wanted));
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        assert_string_equal(kinds.rows[i].name, wanted[i].name);
        assert_string_equal(trace_file_name(analysed.trace, kinds.rows[i].dims), wanted[i].dims);
        assert_int_equal(kinds.rows[i].count, wanted[i].count);
        check_us(kinds.rows[i].device_ns, wanted[i].device_us);
        check_us(kinds.rows[i].host_ns, wanted[i].host_us);
    }
    check_us(kinds.device_ns, 80);
    check_us(kinds.host_ns, 106);
}

/* Ours: the number of a layer is left out, and the backward pass has a name of its own. */
TEST(numbered_layers_are_one_kind)
{
    struct operator_kinds kinds;
    struct analysed analysed;

    made_begin();
    made_add_with("cpu_op", "block0.qkv", 100, 100, 0, 10, 0,
                  OPERATOR("0", "0", "[[8,4]]") ",\"flops\":10,\"bytes\":3");
    made_add_with("cpu_op", "block11.qkv", 100, 100, 10, 20, 0,
                  OPERATOR("1", "0", "[[8,4]]") ",\"flops\":10,\"bytes\":3");
    made_add_with("cpu_op", "block0.qkv backward", 100, 100, 20, 25, 0,
                  OPERATOR("0", "100", "[[8,4]]"));
    made_add_with("cpu_op", "gemm_16x16.v2", 100, 100, 30, 31, 0, "");
    analysed = made_analyse();
    kinds = operator_kinds_of(analysed.arena, &analysed.timeline, NULL);
    assert_int_equal(kinds.count, 3);
    assert_string_equal(kinds.rows[0].name, "block*.qkv");
    assert_int_equal(kinds.rows[0].count, 2);
    assert_int_equal(kinds.rows[0].flops, 20);
    assert_int_equal(kinds.rows[0].bytes, 6);
    assert_string_equal(kinds.rows[1].name, "block*.qkv backward");
}

/* The last character begins within the room for a name and ends outside of it. */
TEST(a_long_kind_has_no_half_character)
{
    struct operator_kinds kinds;
    struct analysed analysed;
    char name[KIND_NAME_SIZE + 2];

    memset(name, 'a', KIND_NAME_SIZE - 2);
    memcpy(name + KIND_NAME_SIZE - 2, "\xc3\xa9", 3);
    made_begin();
    made_add("cpu_op", name, 100, 100, 0, 10, 0);
    analysed = made_analyse();
    kinds = operator_kinds_of(analysed.arena, &analysed.timeline, NULL);
    assert_int_equal(kinds.count, 1);
    name[KIND_NAME_SIZE - 2] = '\0';
    assert_string_equal(kinds.rows[0].name, name);
}

/* One launch of a graph on the host; on the stream forward { a { k1 }, k2 } and a kernel of nothing
 * known. */
TEST(a_launched_graph_shows_its_operators)
{
    static const struct {
        const char *name;
        int64_t count, replayed, device_total_us, device_self_us;
        bool is_phase;
    } wanted[] = {
        { "graph", 1, 0, 37, 7, true },
        { "forward", 1, 1, 30, 20, true },
        { "a", 1, 1, 10, 10, false },
    };
    struct operator_kinds kinds;
    struct analysed analysed;
    struct spans spans;

    made_begin();
    made_add("user_annotation", "graph", 100, 100, 0, 10, 0);
    made_add("cuda_runtime", "cudaGraphLaunch", 100, 100, 1, 3, 5);
    made_add("gpu_user_annotation", "forward", 0, 7, 20, 60, 5);
    made_add("gpu_user_annotation", "a", 0, 7, 20, 30, 5);
    made_add("gpu_user_annotation", "graph", 0, 7, 20, 70, 0); /* the host's, on the stream */
    made_add("kernel", "k1", 0, 7, 20, 30, 5);
    made_add("kernel", "k2", 0, 7, 40, 60, 5);
    made_add("kernel", "k3", 0, 7, 63, 70, 5);
    analysed = made_analyse();
    spans = spans_of(analysed.arena, &analysed.timeline);
    assert_int_equal(spans.count, ARRAY_SIZE(wanted) + 1); /* and the call */
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        const struct span_row *row = span_named(&spans, analysed.trace, wanted[i].name);
        assert_int_equal(row->count, wanted[i].count);
        assert_int_equal(row->replayed_count, wanted[i].replayed);
        assert_int_equal(row->is_phase, wanted[i].is_phase);
        check_us(row->device_total_ns, wanted[i].device_total_us);
        check_us(row->device_self_ns, wanted[i].device_self_us);
        check_us(row->host_total_ns, wanted[i].replayed > 0 ? 0 : 10);
    }
    assert_null(spans_find(&spans, analysed.trace, "forward", false));
    assert_non_null(spans_find(&spans, analysed.trace, "graph", false));
    kinds = operator_kinds_of(analysed.arena, &analysed.timeline, NULL);
    assert_int_equal(kinds.count, 1);
    assert_string_equal(kinds.rows[0].name, "a");
    check_us(kinds.rows[0].device_ns, 10);
}

TEST(phases_are_named_as_here_and_in_pytorch)
{
    static const struct {
        const char *name;
        bool is_phase;
        enum phase phase;
    } cases[] = {
        { "data", true, PHASE_DATA },
        { "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", true, PHASE_DATA },
        { "backward", true, PHASE_BACKWARD },
        { "Optimizer.step#AdamW.step", true, PHASE_OPTIMIZER },
        { "save_checkpoint", true, PHASE_SAVE },
        { "logging", true, PHASE_LOG },
        { "graph", true, PHASE_GRAPH },
        { "Optimizer.zero_grad#AdamW.zero_grad", false, PHASE_COUNT },
        { "forward_hook", false, PHASE_COUNT },
        { "", false, PHASE_COUNT },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        enum phase phase;
        assert_int_equal(phase_of_name(cases[i].name, &phase), cases[i].is_phase);
        if (cases[i].is_phase)
            assert_int_equal(phase, cases[i].phase);
    }
    for (int i = 0; i < PHASE_COUNT; i++) {
        enum phase phase;
        assert_true(phase_of_name(phase_name((enum phase)i), &phase));
        assert_int_equal(phase, i);
    }
}

static void check_phase(const struct phases *phases, int64_t step, enum phase phase,
                        int64_t host_us, int64_t device_us, int64_t work_count)
{
    const struct phase_usage *usage = &phases->steps[step][phase];

    check_us(usage->host_ns, host_us);
    check_us(usage->device_ns, device_us);
    assert_int_equal(usage->work_count, work_count);
}

TEST(phases_have_their_time_on_host_and_device)
{
    struct analysed analysed;
    struct phases phases;

    made_begin();
    made_step(1, 0, 100);
    made_add("user_annotation", "data", 100, 100, 0, 10, 0);
    made_add("user_annotation", "enumerate(DataLoader)#x", 100, 100, 2, 8, 0); /* inside */
    made_add("user_annotation", "data", 100, 100, 12, 14, 0);
    made_add("user_annotation", "forward", 100, 100, 20, 40, 0);
    made_add_work("kernel", "f", 7, 200, 230, 20); /* long after its step */
    made_add_work("kernel", "f", 7, 230, 240, 39);
    made_add_work("kernel", "of no phase", 7, 240, 241, 40);
    made_add("user_annotation", "backward", 100, 100, 50, 70, 0);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 101, 60, 61, 1); /* autograd's own thread */
    made_add("kernel", "b", 0, 7, 250, 257, 1);
    made_add("user_annotation", "optimizer", 100, 100, 90, 110, 0); /* ends in the next step */
    made_step(2, 100, 200);
    made_add("user_annotation", "forward", 100, 100, 120, 130, 0);
    made_add("user_annotation", "backward", 100, 101, 140, 150, 0);     /* another thread's */
    made_add("cuda_runtime", "cudaMemcpyAsync", 100, 102, 125, 126, 2); /* a helper copies */
    made_add("gpu_memcpy", "Memcpy HtoD", 0, 8, 260, 300, 2);
    analysed = made_analyse();
    phases = phases_of(analysed.arena, &analysed.timeline, &analysed.steps);
    assert_int_equal(phases.step_count, 2);
    check_phase(&phases, 0, PHASE_DATA, 12, 0, 0);
    assert_int_equal(phases.steps[0][PHASE_DATA].times, 2);
    assert_int_equal(phases.steps[0][PHASE_OPTIMIZER].times, 1);
    assert_int_equal(phases.steps[1][PHASE_OPTIMIZER].times, 0);
    check_phase(&phases, 0, PHASE_FORWARD, 20, 40, 2);
    check_phase(&phases, 0, PHASE_BACKWARD, 20, 7, 1);
    check_phase(&phases, 0, PHASE_OPTIMIZER, 10, 0, 0);
    check_phase(&phases, 1, PHASE_OPTIMIZER, 10, 0, 0);
    check_phase(&phases, 1, PHASE_FORWARD, 10, 0, 0);
    check_phase(&phases, 1, PHASE_BACKWARD, 0, 0, 0);
    assert_float_equal(phases.means[PHASE_FORWARD].host_ns, 15000, 1e-6);
    assert_float_equal(phases.means[PHASE_FORWARD].device_ns, 20000, 1e-6);
    assert_float_equal(phases.means[PHASE_FORWARD].work_count, 1, 1e-9);
    assert_true(phases.seen[PHASE_OPTIMIZER]);
    assert_false(phases.seen[PHASE_LOG]);
    check_us(analysed.steps.items[0].work_end_ns, 257);
    check_us(analysed.steps.items[1].work_end_ns, 300);
}

/* `inside` of a step of 100 us is a closure's, and so is one of the two launches, each of 1 us. */
static void check_closure(int inside_us)
{
    struct analysed analysed = made_analyse();
    struct phases phases = phases_of(analysed.arena, &analysed.timeline, &analysed.steps);

    check_us(phases.closures.host_ns, inside_us);
    check_us(phases.closures.device_ns, 1);
    check_phase(&phases, 0, PHASE_OPTIMIZER, 100 - inside_us, 1, 1);
}

static void begin_optimizer_step(void)
{
    made_begin();
    made_step(1, 0, 200);
    made_add("user_annotation", "Optimizer.step#SGD.step", 100, 100, 50, 150, 0);
}

static void an_operator(const char *name, int tid, int start_us, int end_us, bool autograd)
{
    made_add_with("cpu_op", name, 100, tid, start_us, end_us, 0,
                  autograd ? "\"Sequence number\":3" : "");
}

TEST(a_closure_is_not_the_optimizers)
{
    begin_optimizer_step(); /* marked */
    made_add("user_annotation", "Optimizer.closure", 100, 100, 52, 120, 0);
    made_add_work("kernel", "forward", 7, 300, 301, 60);
    made_add_work("kernel", "update", 7, 310, 311, 130);
    check_closure(68);

    begin_optimizer_step(); /* backward on a thread of its own, and a no_grad operator in forward */
    an_operator("aten::zeros", 100, 55, 58, false);
    an_operator("aten::mm", 100, 60, 70, true);
    made_add_work("kernel", "forward", 7, 300, 301, 61);
    an_operator("autograd::engine::evaluate_function: MmBackward0", 101, 80, 110, true);
    an_operator("aten::_foreach_add_", 100, 120, 140, false);
    made_add_work("kernel", "update", 7, 310, 311, 130);
    check_closure(60);

    begin_optimizer_step(); /* the closure is evaluated twice */
    an_operator("aten::mm", 100, 52, 60, true);
    made_add_work("kernel", "forward", 7, 300, 301, 55);
    an_operator("autograd::engine::evaluate_function: MmBackward0", 100, 60, 80, true);
    an_operator("aten::dot", 100, 90, 100, false);
    made_add_work("kernel", "update", 7, 310, 311, 95);
    an_operator("aten::mm", 100, 110, 115, true);
    an_operator("autograd::engine::evaluate_function: MmBackward0", 100, 116, 120, true);
    an_operator("aten::add_", 100, 130, 140, false);
    check_closure(30 + 20);
}

TEST(without_steps_there_are_no_phases)
{
    struct analysed analysed;
    struct phases phases;

    made_begin();
    made_add("user_annotation", "forward", 100, 100, 20, 40, 0);
    made_add_work("kernel", "f", 7, 200, 230, 20);
    analysed = made_analyse();
    phases = phases_of(analysed.arena, &analysed.timeline, &analysed.steps);
    assert_int_equal(phases.step_count, 0);
    assert_false(phases.seen[PHASE_FORWARD]);
}
