/* Replays of made loops: unchanged they give back the trace, and without a cause the loop that does
 * not have it. */
#include "harness/desk/analysis/summary.h"
#include "tests/desk/diagnosis/made/made_loop.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

static struct replayed_time replay_made(const struct made_loop *loop,
                                        const struct replay_change *change, double *recorded_ns)
{
    struct analysed analysed = made_loop(loop);
    struct summary summary = summary_of(analysed.arena, analysed.trace);
    struct replayed_time time =
        replay(analysed.arena, &summary.graph, change, change != NULL ? 1 : 0, NULL);

    *recorded_ns = (double)(summary.graph.end_ns - summary.graph.start_ns);
    return time;
}

TEST(nothing_changed_gives_back_the_trace)
{
    static const struct made_loop loops[] = {
        { BUSY },
        { BUSY, .loading = 1500 },
        { BUSY, .loading = 800, .wait_every = 1 },
        { BUSY, .loading = 600, .wait_amid = 1, .optimizer_launches = 1, .optimizer_kernel = 100 },
        { BUSY, .launches_block = true },
        { BUSY, .copies = 3, .copy = 200, .copy_call = 5, .copies_block = true },
        { BUSY, .allocations = 4, .allocation = 30, .releases = 2 },
        { BUSY, .logging = 300, .saving = 700, .wait_every = 2 },
        { BUSY, .stall = 40 },
        { BUSY, .trips = 2 },
        { BUSY, .no_steps = true },
        { BUSY, .no_calls = true },
        { BUSY, .alone = true, .operator_time = 20, .loading = 100 },
        { .steps = 10, .launches = 100, .operator_time = 8, .call = 4, .kernel = 3 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
        double recorded_ns;
        struct replayed_time time = replay_made(&loops[i], NULL, &recorded_ns);
        if (!(fabs(time.first_ns / recorded_ns - 1) <= 0.001))
            fail_msg("loop %zu takes %.0f ns, replayed %.0f", i, recorded_ns, time.first_ns);
    }
}

static void without(const void *context, const struct trace_graph *graph, int64_t at,
                    struct graph_node *node)
{
    const enum host_kind *activity = context;
    (void)graph;
    (void)at;

    if (node->stream == GRAPH_NONE && node->kind == *activity) {
        node->duration_ns = 0;
        node->after = GRAPH_NONE;
    }
}

/* Per step, in us. */
static double without_us(const struct made_loop *loop, enum host_kind activity)
{
    struct replay_change change = { without, &activity };
    double recorded_ns;

    return replay_made(loop, &change, &recorded_ns).turn_ns / loop->steps / 1000;
}

/* 20 kernels of 50 us take 1000 us. */
TEST(a_change_gives_the_loop_that_has_it)
{
    const struct made_loop loading = { BUSY, .loading = 1500 };
    const struct made_loop waiting = { BUSY, .loading = 800, .wait_every = 1 };
    const struct made_loop slow = { BUSY, .loading = 1500, .wait_every = 1 };

    assert_true(fabs(without_us(&loading, HOST_LOADING) - 1000) <= 10);
    assert_true(fabs(without_us(&waiting, HOST_LOADING) - 1005) <= 10);
    assert_true(fabs(without_us(&waiting, HOST_WAITING) - 1000) <= 10);
    assert_true(fabs(without_us(&slow, HOST_LOADING) - 1005) <= 10);
    assert_true(fabs(without_us(&slow, HOST_WAITING) - 1540) <= 10);
}

/* Work that moves to a stream of its own goes on beside the rest. */
static void move(const void *context, const struct trace_graph *graph, int64_t at,
                 struct graph_node *node)
{
    (void)context;
    (void)at;
    if (node->stream != GRAPH_NONE && node->kind == WORK_COPY)
        node->stream = (int16_t)graph->stream_count;
}

TEST(copies_may_move_to_a_stream_of_their_own)
{
    const struct made_loop loop = { BUSY, .copies = 1, .copy = 600, .copy_call = 2 };
    struct replay_change change = { move, NULL };
    double recorded_ns;

    assert_true(fabs(replay_made(&loop, &change, &recorded_ns).turn_ns / 1e4 - 1000) <= 10);
    assert_true(recorded_ns / 1e4 > 1590);
}
