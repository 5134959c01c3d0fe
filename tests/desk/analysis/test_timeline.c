/* Timelines made by hand, whose every number is known, and sets of intervals against a naive
 * oracle. */
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/steps.h"
#include "harness/desk/analysis/timeline/timeline.h"
#include "harness/desk/analysis/timeline/unmarked_steps.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_trace.h"

TEST(busy_is_the_union_and_idle_the_rest)
{
    struct analysed analysed;
    const struct usage *all = &analysed.timeline.all;

    made_begin();
    made_add_work("kernel", "inner", 7, 20, 30, 1);
    made_add_work("kernel", "outer", 8, 10, 40, 1); /* the file's order does not matter */
    made_add_work("gpu_memcpy", "Memcpy HtoD", 9, 35, 50, 1);
    made_add_work("gpu_memset", "Memset", 9, 60, 62, 1);
    made_add("cuda_sync", "Context Sync", 0, -1, 0, 1000, 0);
    made_add("gpu_user_annotation", "ProfilerStep#1", 0, 7, 0, 1000, 0);
    analysed = made_analyse();
    assert_int_equal(all->work_count, 4);
    check_us(all->span_ns, 52);
    check_us(all->busy_ns, 42);
    check_us(all->idle_ns, 10);
    check_us(all->kernel_ns, 30);
    check_us(all->kind_ns[WORK_COPY], 15);
    check_us(all->kind_ns[WORK_MEMSET], 2);
    check_us(all->memory_ns, 17);
    check_us(all->copy_exposed_ns, 10);
    check_us(all->memory_exposed_ns, 12);
    assert_int_equal(analysed.timeline.device_count, 1);
    assert_int_equal(analysed.timeline.stream_count, 3);
    check_us(analysed.timeline.streams[2].usage.span_ns, 27);
    check_us(analysed.timeline.streams[2].usage.idle_ns, 10);
    assert_int_equal(analysed.steps.count, 0); /* a step is the host's */
}

TEST(idle_is_what_the_work_after_it_waited_for)
{
    static const struct {
        int called_us, start_us; /* of the second kernel; the first ends at 100 */
        bool has_call;
        enum idle_cause cause;
    } cases[] = {
        { 101, 110, true, IDLE_HOST_WAIT },  { 100, 110, true, IDLE_DEVICE_WAIT },
        { 50, 129, true, IDLE_DEVICE_WAIT }, { 50, 130, true, IDLE_OTHER },
        { 101, 1000, true, IDLE_HOST_WAIT }, { 50, 1000, true, IDLE_OTHER },
        { 0, 110, false, IDLE_OTHER },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct analysed analysed;
        made_begin();
        made_add_work("kernel", "first", 7, 10, 100, 1);
        if (cases[i].has_call)
            made_add_work("kernel", "second", 7, cases[i].start_us, 2000, cases[i].called_us);
        else
            made_add("kernel", "second", 0, 7, cases[i].start_us, 2000, 0);
        analysed = made_analyse();
        for (int cause = 0; cause < IDLE_CAUSE_COUNT; cause++)
            check_us(analysed.timeline.all.idle_cause_ns[cause],
                     cause == (int)cases[i].cause ? cases[i].start_us - 100 : 0);
        check_us(analysed.timeline.all.idle_ns, cases[i].start_us - 100);
    }
}

/* A graph's kernels share the correlation of the one call that launched them. */
TEST(the_kernels_of_a_graph_have_one_call)
{
    struct analysed analysed;

    made_begin();
    made_add("cuda_runtime", "cudaGraphLaunch", 100, 100, 5, 8, 900);
    for (int i = 0; i < 4; i++) made_add("kernel", "node", 0, 7, 10 + 20 * i, 20 + 20 * i, 900);
    analysed = made_analyse();
    for (int i = 0; i < 4; i++)
        assert_string_equal(trace_file_name(analysed.trace, analysed.timeline.work[i].call->name),
                            "cudaGraphLaunch");
    check_us(analysed.timeline.all.idle_cause_ns[IDLE_DEVICE_WAIT], 30);
}

TEST(communication_is_exposed_where_nothing_is_computed)
{
    struct analysed analysed;
    const struct usage *all = &analysed.timeline.all;

    made_begin();
    made_add_work("kernel", "gemm", 7, 0, 50, 0);
    made_add_work("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, 30, 90, 0);
    made_add_work("gpu_memcpy", "Memcpy HtoD", 21, 80, 100,
                  0); /* copies do not hide communication */
    analysed = made_analyse();
    check_us(all->kind_ns[WORK_COMPUTATION], 50);
    check_us(all->kind_ns[WORK_COMMUNICATION], 60);
    check_us(all->communication_overlap_ns, 20);
    check_us(all->communication_exposed_ns, 40);
    check_us(all->copy_exposed_ns, 10);
    check_us(all->busy_ns, 100);
}

TEST(devices_are_measured_apart)
{
    struct analysed analysed;

    made_begin();
    made_add("kernel", "a", 1, 7, 0, 10, 0);
    made_add("kernel", "b", 0, 7, 5, 30, 0);
    made_add("kernel", "c", 1, 7, 40, 50, 0);
    analysed = made_analyse();
    assert_int_equal(analysed.timeline.device_count, 2);
    assert_int_equal(analysed.timeline.devices[0].device, 0);
    check_us(analysed.timeline.devices[0].usage.busy_ns, 25);
    check_us(analysed.timeline.devices[0].usage.idle_ns, 0);
    check_us(analysed.timeline.devices[1].usage.busy_ns, 20);
    check_us(analysed.timeline.devices[1].usage.idle_ns, 30);
    check_us(analysed.timeline.all.idle_ns, 10);
}

TEST(a_step_is_split_by_priority_without_rest)
{
    static const int64_t parts_us[STEP_PART_COUNT] = {
        [STEP_KERNEL] = 30,  [STEP_COPY] = 10,         [STEP_MEMSET] = 5, [STEP_COMMUNICATION] = 5,
        [STEP_RUNTIME] = 20, [STEP_DATA_LOADING] = 10, [STEP_HOST] = 10,  [STEP_OTHER] = 10,
    };
    struct analysed analysed;
    const struct step *step;

    made_begin();
    made_step(41, 100, 200);
    made_add("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 100, 100, 100, 120, 0);
    made_add("cpu_op", "aten::mm", 100, 100, 115, 150, 0);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 110, 130, 0);
    made_add("kernel", "before and after", 0, 7, 90, 95, 0);
    made_add("kernel", "gemm", 0, 7, 140, 170, 0);
    made_add("gpu_memcpy", "Memcpy HtoD", 0, 8, 165, 180, 0); /* 5 of it behind the kernel */
    made_add("gpu_memset", "Memset", 0, 8, 180, 185, 0);
    made_add("kernel", "ncclKernel", 0, 9, 175, 190, 0); /* 10 of it behind copy and memset */
    analysed = made_analyse();
    assert_int_equal(analysed.steps.count, 1);
    step = &analysed.steps.items[0];
    assert_int_equal(step->number, 41);
    check_us(step->duration_ns, 100);
    /* Runtime 110-130 is 20, loading 100-110 is 10, operator 130-140 is 10; other 190-200. */
    for (int part = 0; part < STEP_PART_COUNT; part++)
        check_us(step->part_ns[part], parts_us[part]);
    check_us(step->busy_ns, 50);
}

/* One of some events, by number; all of a small run on two streams. */
static void add_event(int number)
{
    int at = 100 * (number / 4), correlation = 1 + number / 4;

    switch (number % 4) {
    case 0:
        made_add("user_annotation", number % 8 == 0 ? "ProfilerStep#1" : "forward", 100, 100, at,
                 at + 100, 0);
        break;
    case 1:
        made_add("cuda_runtime", "hipLaunchKernel", 100, 100, at + 5, at + 9, correlation);
        break;
    case 2:
        made_add("kernel", number % 3 == 0 ? "ncclDevKernel" : "gemm", 0, 7, at + 20, at + 85,
                 correlation);
        break;
    default:
        made_add("kernel", "hipMemcpyAsync", 0, 8, at + 60, at + 90, correlation);
    }
}

TEST(the_order_in_the_file_does_not_matter)
{
    enum { EVENTS = 40 };
    struct analysed analysed[3];

    for (int order = 0; order < 3; order++) {
        made_begin();
        for (int i = 0; i < EVENTS; i++)
            add_event(order == 0   ? i
                      : order == 1 ? EVENTS - 1 - i
                                   : i * 27 % EVENTS); /* 27 and 40 have no common factor */
        analysed[order] = made_analyse();
    }
    assert_int_equal(analysed[0].timeline.all.work_count, EVENTS / 2);
    assert_true(analysed[0].timeline.all.idle_cause_ns[IDLE_HOST_WAIT] > 0);
    check_us(analysed[0].timeline.all.kind_ns[WORK_COPY], 30 * EVENTS / 4);
    for (int order = 1; order < 3; order++) {
        assert_memory_equal(&analysed[order].timeline.all, &analysed[0].timeline.all,
                            sizeof(struct usage));
        assert_int_equal(analysed[order].steps.count, analysed[0].steps.count);
        for (int64_t i = 0; i < analysed[0].steps.count; i++)
            assert_memory_equal(analysed[order].steps.items[i].part_ns,
                                analysed[0].steps.items[i].part_ns,
                                sizeof analysed[0].steps.items[i].part_ns);
    }
}

TEST(steps_have_their_statistics)
{
    static const int ends_us[] = { 10, 40, 60, 100 }; /* 10, 30, 20 and 40 long */
    struct analysed analysed;

    made_begin();
    for (int i = 3; i >= 0; i--) { /* in any order */
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        made_add(i % 2 == 0 ? "user_annotation" : "Operator", name, 100, 100,
                 i > 0 ? ends_us[i - 1] : 0, ends_us[i], 0);
    }
    made_add("user_annotation", "ProfilerStep#", 100, 100, 0, 1, 0);
    made_add("user_annotation", "ProfilerStep#1x", 100, 100, 0, 1, 0);
    analysed = made_analyse();
    assert_int_equal(analysed.steps.count, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(analysed.steps.items[i].number, i);
    check_us(analysed.steps.min_ns, 10);
    check_us(analysed.steps.max_ns, 40);
    assert_float_equal(analysed.steps.mean_ns, 25000, 1e-6);
    assert_float_equal(analysed.steps.median_ns, 25000, 0);
}

TEST(a_trace_of_the_host_alone_has_no_device_time)
{
    struct analysed analysed;

    made_begin();
    made_add("cpu_op", "aten::mm", 100, 100, 0, 10, 0);
    analysed = made_analyse();
    assert_int_equal(analysed.timeline.all.work_count, 0);
    assert_int_equal(analysed.timeline.all.span_ns, 0);
    assert_int_equal(analysed.timeline.device_count, 0);
}

TEST(communication_is_known_by_name)
{
    static const struct {
        const char *name;
        bool communicates;
    } cases[] = {
        { "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", true },
        { "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", true },
        { "void rcclKernel<1>", true },
        { "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", true },
        { "void multimem_all_reduce_kernel<c10::BFloat16, 16>", true },
        { "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", true },
        { "void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<8>(Params)", true },
        { "c10d::symmetric_memory::put_signal_kernel(unsigned int**, unsigned long)", true },
        { "void one_shot_all_reduce_kernel<c10::BFloat16, 16, 8, false>", true },
        { "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot<4>", true },
        { "mscclKernel_Sum_half_LL_Simple", true },
        { "userbuffers_fp16_sum_inplace_gpu_rr_ag", true },
        { "void at::native::reduce_kernel<512, 1>", false },
        { "triton_red_fused_all_reduce_native_layer_norm_0", false },
        { "sm90_xmma_gemm_bf16bf16_bf16f32", false },
        { "void at::native::vectorized_elementwise_kernel<4>", false },
        { "", false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(name_is_communication(cases[i].name), cases[i].communicates);
}

/* --- Sets, against a table of moments --- */

enum { MOMENTS = 64, ROUNDS = 2000 };

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

/* Random intervals, and for each moment whether one of them covers it. */
static void draw(struct intervals *intervals, bool covered[MOMENTS], unsigned *seed)
{
    unsigned count = next_random(seed) % 12;

    memset(covered, 0, MOMENTS * sizeof *covered);
    intervals->count = 0;
    for (unsigned i = 0; i < count; i++) {
        int64_t start = next_random(seed) % MOMENTS;
        int64_t end = start + next_random(seed) % 10;
        end = end < MOMENTS ? end : MOMENTS;
        intervals_add(intervals, start, end);
        for (int64_t at = start; at < end; at++) covered[at] = true;
    }
    intervals_merge(intervals);
}

static void check_set(const struct intervals *intervals, const bool covered[MOMENTS])
{
    bool found[MOMENTS] = { false };
    int64_t total = 0;

    for (int64_t i = 0; i < intervals->count; i++) {
        assert_true(intervals->items[i].start_ns < intervals->items[i].end_ns);
        assert_true(i == 0 || intervals->items[i - 1].end_ns < intervals->items[i].start_ns);
        for (int64_t at = intervals->items[i].start_ns; at < intervals->items[i].end_ns; at++)
            found[at] = true;
    }
    for (int at = 0; at < MOMENTS; at++) {
        assert_int_equal(found[at], covered[at]);
        total += covered[at];
    }
    assert_int_equal(intervals_within_ns(intervals, 0, MOMENTS), total);
}

/* Between any two moments, also those that are in no order. */
static void check_parts(const struct intervals *set, const bool in[MOMENTS])
{
    for (int from = 0; from < MOMENTS; from += 3)
        for (int to = 0; to < MOMENTS; to += 5) {
            int64_t length = 0;
            for (int at = from; at < to; at++) length += in[at];
            assert_int_equal(intervals_within_ns(set, from, to), length);
        }
    for (int at = 0; at < MOMENTS; at++) assert_int_equal(intervals_contain(set, at), in[at]);
}

TEST(sets_agree_with_a_table_of_moments)
{
    struct intervals set = { .arena = arena_open() };
    bool in[MOMENTS];
    unsigned seed = 1;

    for (int round = 0; round < ROUNDS; round++) {
        draw(&set, in, &seed);
        check_set(&set, in);
        check_parts(&set, in);
    }
    arena_close(set.arena);
}

/* --- Figures, against a table of moments --- */

enum { KINDS = 7, TRACES = 400 };

static const struct {
    const char *category, *name;
    bool on_device;
} drawn[KINDS] = {
    { "kernel", "computes", true },
    { "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", true },
    { "gpu_memset", "Memset (Device)", true },
    { "kernel", "ncclDevKernel_AllReduce", true },
    { "cuda_runtime", "cudaLaunchKernel", false },
    { "user_annotation", "data", false },
    { "cpu_op", "aten::op", false },
};

/* By kind, for streams 1 to 3 and for all at once (0); the host's are in all. */
typedef bool table_of_moments[KINDS][4][MOMENTS];

static void draw_trace(table_of_moments table, unsigned *seed)
{
    unsigned count = next_random(seed) % 16;

    memset(table, 0, sizeof(table_of_moments));
    made_begin();
    made_step(1, 3, 40);
    made_step(2, 40, 59);
    for (unsigned i = 0; i < count; i++) {
        unsigned kind = next_random(seed) % KINDS, stream = 1 + next_random(seed) % 3;
        int start = (int)(next_random(seed) % MOMENTS);
        int end = start + (int)(next_random(seed) % 16);
        bool on_device = drawn[kind].on_device;
        end = end < MOMENTS ? end : MOMENTS;
        made_add(drawn[kind].category, drawn[kind].name, on_device ? 0 : 100,
                 on_device ? (int)stream : 100 + (int)i, start, end, 0);
        for (int at = start; at < end; at++)
            table[kind][0][at] = table[kind][on_device ? stream : 0][at] = true;
    }
}

/* How many moments have one of the first kinds and none of the second. */
static int moments(table_of_moments table, int stream, unsigned of, unsigned without)
{
    int count = 0;

    for (int at = 0; at < MOMENTS; at++) {
        unsigned has = 0;
        for (unsigned kind = 0; kind < KINDS; kind++)
            has |= (unsigned)table[kind][stream][at] << kind;
        count += (has & of) != 0 && (has & without) == 0;
    }
    return count;
}

static void check_usage(const struct usage *usage, table_of_moments table, int stream)
{
    enum { COMPUTE = 1, COPY = 2, MEMSET = 4, TALK = 8, KERNELS = COMPUTE | TALK };

    check_us(usage->busy_ns, moments(table, stream, KERNELS | COPY | MEMSET, 0));
    check_us(usage->kernel_ns, moments(table, stream, KERNELS, 0));
    check_us(usage->memory_ns, moments(table, stream, COPY | MEMSET, 0));
    check_us(usage->kind_ns[WORK_COMPUTATION], moments(table, stream, COMPUTE, 0));
    check_us(usage->kind_ns[WORK_COMMUNICATION], moments(table, stream, TALK, 0));
    check_us(usage->communication_exposed_ns, moments(table, stream, TALK, COMPUTE));
    check_us(usage->copy_exposed_ns, moments(table, stream, COPY, KERNELS));
    check_us(usage->memory_exposed_ns, moments(table, stream, COPY | MEMSET, KERNELS));
    assert_int_equal(usage->span_ns, usage->busy_ns + usage->idle_ns);
}

static void check_step(const struct step *step, table_of_moments table, int start, int end)
{
    int parts[STEP_PART_COUNT] = { 0 };

    for (int at = start; at < end; at++) {
        int kind = 0;
        while (kind < KINDS && !table[kind][0][at]) kind++;
        parts[kind]++; /* drawn[] is in the order of enum step_part */
    }
    for (int part = 0; part < STEP_PART_COUNT; part++) check_us(step->part_ns[part], parts[part]);
    check_us(step->busy_ns, parts[0] + parts[1] + parts[2] + parts[3]);
}

TEST(figures_agree_with_a_table_of_moments)
{
    static table_of_moments table;
    unsigned seed = 7;

    for (int round = 0; round < TRACES; round++) {
        struct analysed analysed;
        draw_trace(table, &seed);
        analysed = made_analyse();
        check_usage(&analysed.timeline.all, table, 0);
        for (int64_t i = 0; i < analysed.timeline.stream_count; i++)
            check_usage(&analysed.timeline.streams[i].usage, table,
                        (int)analysed.timeline.streams[i].stream);
        if (analysed.timeline.device_count > 0)
            check_usage(&analysed.timeline.devices[0].usage, table, 0);
        check_step(&analysed.steps.items[0], table, 3, 40);
        check_step(&analysed.steps.items[1], table, 40, 59);
        test_release();
    }
}

/* Annotations of `length` us every 100 us, each with a kernel and, if they nest, another of its
 * name in it. */
TEST(regions_that_repeat_are_steps_where_nothing_marks_them)
{
    static const struct {
        const char *name;
        int count, length;
        bool numbered, nest;
        int64_t steps;
    } cases[] = {
        { "timed region", 5, 90, false, false, 5 },
        { "train step", 5, 90, true, false, 5 }, /* one name but for its digits */
        { "timed region", 3, 65, false, false, 3 },
        { "timed region", 2, 90, false, false, 0 }, /* may be chance */
        { "timed region", 5, 50, false, false, 0 }, /* a part of each step */
        { "timed region", 5, 90, false, true, 0 },
        { "forward", 5, 90, false, false, 0 }, /* which says what it is */
        { "{'mod': 'torch', 'op': 'relu', 'args': []}", 5, 90, false, false, 0 },
        { "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 5, 90, false, false, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct analysed analysed;
        struct steps steps;
        made_begin();
        for (int j = 0; j < cases[i].count; j++) {
            char name[80];
            int length = snprintf(name, sizeof name, "%s", cases[i].name);
            if (cases[i].numbered)
                snprintf(name + length, sizeof name - (size_t)length, " %d", j + 7);
            made_add("user_annotation", name, 100, 100, 100 * j, 100 * j + cases[i].length, 0);
            if (cases[i].nest)
                made_add("user_annotation", name, 100, 100, 100 * j + 10, 100 * j + 20, 0);
            made_add_work("kernel", "work", 7, 100 * j + 5, 100 * j + 30, 100 * j + 2);
        }
        analysed = made_analyse();
        steps = repeated_regions_of(analysed.arena, &analysed.timeline);
        assert_int_equal(analysed.steps.count, 0);
        assert_int_equal(steps.count, cases[i].steps);
        assert_int_equal(steps.region != NULL, steps.count > 0);
        if (steps.count > 0) { /* its own annotation is no part of a step */
            check_us(steps.items[1].duration_ns, cases[i].length);
            check_us(steps.items[1].part_ns[STEP_KERNEL], 25);
            check_us(steps.items[1].part_ns[STEP_HOST], 0);
        }
    }
}

/* After 20 us of set-up, pieces of 100 us: a copy of the batch, two kernels of two layers, one of
 * the loss. In a piece that is odd, the layers have other kernels. */
TEST(work_that_repeats_makes_steps_where_nothing_marks_them)
{
    static const struct {
        const char *batch, *optimizer; /* NULL: none */
        int count, odd;                /* pieces; the last so many are odd */
        int64_t steps;
    } cases[] = {
        { "Memcpy HtoD (Pinned -> Device)", NULL, 8, 0, 7 },
        { "Memcpy HtoD (Pinned -> Device)", NULL, 8, 1, 7 },
        { "Memcpy HtoD (Pinned -> Device)", NULL, 8, 4, 0 }, /* not the same work */
        { "Memcpy HtoD (Pinned -> Device)", NULL, 5, 0, 0 }, /* may be chance */
        { "gather", NULL, 8, 0, 0 },                         /* may be layers of one step */
        { "Memcpy HtoD (Pinned -> Device)", "Optimizer.step#SGD.step", 8, 0, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct analysed analysed;
        struct steps steps;
        made_begin();
        made_add_work("kernel", "set-up", 7, 5, 15, 2);
        for (int j = 0; j < cases[i].count; j++) {
            int start = 20 + 100 * j;
            bool is_odd = j >= cases[i].count - cases[i].odd;
            made_add_work(cases[i].batch[0] == 'M' ? "gpu_memcpy" : "kernel", cases[i].batch, 7,
                          start + 5, start + 10, start + 1);
            for (int layer = 0; layer < 4; layer++)
                made_add_work("kernel",
                              is_odd           ? "other"
                              : layer % 2 == 0 ? "mm"
                                               : "gelu",
                              7, start + 15 + 10 * layer, start + 20 + 10 * layer,
                              start + 12 + 10 * layer);
            made_add_work("kernel", "loss", 7, start + 70, start + 75, start + 65);
            if (cases[i].optimizer != NULL)
                made_add("user_annotation", cases[i].optimizer, 100, 100, start + 60, start + 64,
                         0);
        }
        analysed = made_analyse();
        steps = repeated_work_of(analysed.arena, &analysed.timeline);
        assert_int_equal(steps.count, cases[i].steps);
        assert_null(steps.region);
        if (steps.count > 0) {
            assert_string_equal(steps.anchor, cases[i].batch);
            check_us(steps.items[0].event->start_ns, 21);
            check_us(steps.items[0].duration_ns, 100);
        }
    }
}
