/* Messages between ranks: what they are, where they belong, and what each costs apart from its
 * bytes. */
#include "harness/desk/analysis/timeline/messages.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_trace.h"

#include <math.h>

TEST(collectives_are_known_by_either_name)
{
    static const struct {
        const char *collective, *kernel;
        enum message_kind is;
    } cases[] = {
        { "allreduce", "ncclDevKernel_Generic_4", MESSAGE_ALL_REDUCE },
        { "", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", MESSAGE_ALL_REDUCE },
        { "allreduce_coalesced", "", MESSAGE_ALL_REDUCE },
        { "_reduce_scatter_base", "", MESSAGE_REDUCE_SCATTER },
        { "", "ncclKernel_ReduceScatter_RING_LL_Sum_float", MESSAGE_REDUCE_SCATTER },
        { "_allgather_base", "ncclDevKernel_AllReduce", MESSAGE_ALL_GATHER },
        { "all_gather", "", MESSAGE_ALL_GATHER },
        { "broadcast", "", MESSAGE_BROADCAST },
        { "", "ncclDevKernel_SendRecv", MESSAGE_POINT_TO_POINT },
        { "send", "ncclDevKernel_SendRecv", MESSAGE_POINT_TO_POINT },
        { "recv", "", MESSAGE_POINT_TO_POINT },
        { "batch_isend_irecv", "", MESSAGE_POINT_TO_POINT },
        { "all_to_all", "ncclDevKernel_SendRecv", MESSAGE_OTHER },
        { "all_to_all", "", MESSAGE_OTHER },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(message_kind_of(cases[i].collective, cases[i].kernel), cases[i].is);
}

/* A kernel of NCCL of `us` that a call on `thread` launched; `elements` below 0 are not stated. */
static void add_message(int thread, int called_us, int start_us, int us, int elements)
{
    static int correlation = 5000; /* others of made traces are smaller */
    char arguments[80] = "";

    if (elements >= 0)
        snprintf(arguments, sizeof arguments, "\"In msg nelems\":%d,\"dtype\":\"Byte\"", elements);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, thread, called_us, called_us + 1,
             ++correlation);
    made_add_with("kernel", "ncclDevKernel_AllReduce", 0, 9, start_us, start_us + us, correlation,
                  arguments);
}

static struct messages messages_of_made(void)
{
    struct analysed analysed = made_analyse();
    struct phases phases = phases_of(analysed.arena, &analysed.timeline, &analysed.steps);
    struct messages messages =
        messages_of(analysed.arena, &analysed.timeline, &analysed.steps, &phases);

    return messages;
}

/* Calls at 10 us of the loop's thread and of another, at 60 of both. */
static struct messages messages_with(const char *category, const char *phase, const char *step)
{
    made_begin();
    made_add("user_annotation", step, 100, 100, 0, 100, 0);
    made_add(category, phase, 100, 100, 50, 90, 0);
    made_add_work("kernel", "gemm", 7, 62, 69, 61);
    add_message(100, 10, 20, 3, 10);
    add_message(101, 10, 24, 3, 20);
    add_message(100, 60, 70, 3, 40);
    add_message(101, 60, 74, 3, -1);
    made_add_with("kernel", "ncclDevKernel_AllReduce", 0, 9, 1, 4, 9999,
                  "\"In msg nelems\":1000,\"dtype\":\"Byte\"");
    return messages_of_made();
}

TEST(backward_is_its_phase_or_another_thread_or_a_node)
{
    struct messages marked = messages_with("user_annotation", "backward", "ProfilerStep#1"),
                    threads = messages_with("user_annotation", "other", "ProfilerStep#1"),
                    nodes =
                        messages_with("cpu_op", "autograd::engine::evaluate_function: MmBackward0",
                                      "ProfilerStep#1"),
                    nothing = messages_with("user_annotation", "backward", "step");

    assert_int_equal(marked.backward[MESSAGE_ALL_REDUCE].count, 2);
    assert_int_equal(marked.backward[MESSAGE_ALL_REDUCE].sized_count, 1);
    assert_int_equal(marked.backward[MESSAGE_ALL_REDUCE].bytes, 40);
    assert_int_equal(marked.elsewhere[MESSAGE_ALL_REDUCE].bytes, 30);
    check_us(marked.backward_ns, 7);

    assert_int_equal(threads.backward[MESSAGE_ALL_REDUCE].count, 2);
    assert_int_equal(threads.backward[MESSAGE_ALL_REDUCE].bytes, 20);
    assert_int_equal(threads.elsewhere[MESSAGE_ALL_REDUCE].bytes, 50);
    check_us(threads.backward_ns, 0);

    assert_int_equal(nodes.backward[MESSAGE_ALL_REDUCE].count, 3);
    assert_int_equal(nodes.backward[MESSAGE_ALL_REDUCE].bytes, 60);
    assert_int_equal(nodes.elsewhere[MESSAGE_ALL_REDUCE].bytes, 10);
    check_us(nodes.backward_ns, 7);

    assert_int_equal(nothing.backward[MESSAGE_ALL_REDUCE].count, 0);
    assert_int_equal(nothing.elsewhere[MESSAGE_ALL_REDUCE].count, 0);
    assert_true(isnan(nothing.fixed_ns) && isnan(nothing.shortest_ns));
}

/* A kernel that sends and receives from 20 to 40 us and computing from 35 to 45, then numbers of
 * all ranks from 50 to 60 in the phase "optimizer", and from 70 to 90 more data than these would
 * have. */
static struct messages pipeline_with(const char *operator, bool numbers_only)
{
    made_begin();
    made_step(1, 0, 100);
    made_add("cpu_op", operator, 100, 100, 1, 9, 0);
    made_add("user_annotation", "optimizer", 100, 100, 11, 20, 0);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 2, 3, 1);
    if (!numbers_only)
        made_add("kernel", "ncclDevKernel_SendRecv", 0, 9, 20, 40, 1);
    made_add_work("kernel", "gemm", 7, 35, 45, 5);
    add_message(100, 12, 50, 10, 1000);
    add_message(100, 22, 70, 20, 8 << 20);
    return messages_of_made();
}

TEST(ranks_of_a_pipeline_wait_for_peers_and_at_its_end)
{
    struct messages pipeline = pipeline_with("c10d::send", false),
                    experts = pipeline_with("c10d::alltoall_base_", false),
                    numbers = pipeline_with("c10d::send", true);

    assert_int_equal(pipeline.elsewhere[MESSAGE_POINT_TO_POINT].count, 1);
    check_us(pipeline.peer_exposed_ns, 15 + 10);
    check_us(pipeline.optimizer_ns, 10);
    assert_int_equal(experts.elsewhere[MESSAGE_OTHER].count, 1);
    check_us(experts.peer_exposed_ns, 0);
    check_us(numbers.peer_exposed_ns, 0);
    check_us(numbers.optimizer_ns, 10);
}

enum { MESSAGES = 3 };

/* In ns. */
static double fixed(const int us[MESSAGES], const int bytes[MESSAGES], double *shortest)
{
    struct messages messages;

    made_begin();
    made_step(1, 0, 1000);
    for (int i = 0; i < MESSAGES; i++) add_message(101, 10 + 5 * i, 100 + 100 * i, us[i], bytes[i]);
    messages = messages_of_made();
    *shortest = messages.shortest_ns;
    return messages.fixed_ns;
}

TEST(time_that_no_byte_explains_is_fixed)
{
    static const struct {
        int us[MESSAGES], bytes[MESSAGES];
        double fixed_ns, shortest_ns;
    } cases[] = {
        /* 10 us and 1 per 1000 bytes, with a wait in one of the smallest. */
        { { 12, 90, 30 }, { 2000, 2000, 20000 }, 10000, 12000 },
        { { 12, 30, 90 }, { 2000, 20000, 20000 }, 10000, 12000 },
        /* All of it is bytes. */
        { { 2, 20, 20 }, { 2000, 20000, 20000 }, 0, 2000 },
        /* Sizes that hardly differ tell nothing; and a large one that was faster tells of waits. */
        { { 12, 13, 30 }, { 2000, 3000, 7999 }, 12000, 12000 },
        { { 12, 12, 10 }, { 2000, 2000, 20000 }, 10000, 10000 },
        { { 12, 12, 12 }, { 0, 0, 0 }, 12000, 12000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        double shortest;
        assert_float_equal(fixed(cases[i].us, cases[i].bytes, &shortest), cases[i].fixed_ns, 1e-6);
        assert_float_equal(shortest, cases[i].shortest_ns, 1e-6);
    }
}
