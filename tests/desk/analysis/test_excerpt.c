/* The part of a trace that is drawn: which steps, which rows, and how many bars. */
#include "harness/desk/analysis/excerpt.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_trace.h"

struct drawn {
    struct analysed analysed;
    struct summary summary;
    struct excerpt excerpt;
};

static struct drawn draw(int64_t steps)
{
    struct drawn drawn;

    drawn.analysed = made_analyse();
    drawn.summary = summary_of(drawn.analysed.arena, drawn.analysed.trace);
    drawn.excerpt = excerpt_of(drawn.analysed.arena, &drawn.summary, steps);
    return drawn;
}

/* The only row of that kind and depth. */
static const struct excerpt_row *row_of(const struct drawn *drawn, enum excerpt_kind kind,
                                        int depth)
{
    const struct excerpt_row *found = NULL;

    for (int64_t i = 0; i < drawn->excerpt.row_count; i++) {
        const struct excerpt_row *row = &drawn->excerpt.rows[i];
        if (row->kind != kind || row->depth != depth)
            continue;
        assert_null(found);
        found = row;
    }
    assert_non_null(found);
    return found;
}

static void check_bar(const struct drawn *drawn, const struct excerpt_row *row, int64_t which,
                      int start_us, int end_us, const char *name, const char *category)
{
    const struct excerpt_bar *bar = &drawn->excerpt.bars[row->first_bar + which];

    assert_true(which < row->bar_count);
    check_us(bar->start_ns, start_us);
    check_us(bar->end_ns, end_us);
    assert_string_equal(trace_file_name(drawn->summary.trace, bar->name), name);
    if (category != NULL)
        assert_string_equal(excerpt_category_name(row->kind, bar->category), category);
}

TEST(rows_hold_what_host_and_devices_did)
{
    struct drawn drawn;
    const struct excerpt_row *row;

    made_begin();
    made_step(1, 0, 100);
    made_add("user_annotation", "forward", 100, 100, 10, 60, 0);
    made_add("cpu_op", "aten::linear", 100, 100, 12, 50, 0);
    made_add("cpu_op", "aten::mm", 100, 100, 15, 45, 0);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 20, 30, 1);
    made_add("cuda_driver", "cuLaunchKernel", 100, 100, 22, 28, 0); /* within it: not drawn */
    made_add("kernel", "gemm", 0, 7, 32, 70, 1);
    made_add("cuda_runtime", "cudaStreamSynchronize", 100, 100, 60, 71, 2);
    made_add("cuda_runtime", "cudaMemcpyAsync", 100, 100, 75, 80, 3);
    made_add("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 8, 90, 100, 3);
    drawn = draw(3);
    assert_int_equal(drawn.excerpt.step_count, 1);
    check_us(drawn.excerpt.start_ns, 0);
    check_us(drawn.excerpt.end_ns, 100);
    check_bar(&drawn, row_of(&drawn, EXCERPT_STEP, 0), 0, 0, 100, "ProfilerStep#1", NULL);
    row = row_of(&drawn, EXCERPT_PHASE, 0);
    assert_true(row->is_loop);
    assert_int_equal(row->bar_count, 1);
    check_bar(&drawn, row, 0, 10, 60, "forward", "forward");
    check_bar(&drawn, row_of(&drawn, EXCERPT_OPERATOR, 0), 0, 12, 50, "aten::linear", "operators");
    check_bar(&drawn, row_of(&drawn, EXCERPT_OPERATOR, 1), 0, 15, 45, "aten::mm", "operators");
    row = row_of(&drawn, EXCERPT_CALL, 0);
    assert_int_equal(row->bar_count, 3);
    check_bar(&drawn, row, 0, 20, 30, "cudaLaunchKernel", "launching");
    check_bar(&drawn, row, 1, 60, 71, "cudaStreamSynchronize", "waiting");
    check_bar(&drawn, row, 2, 75, 80, "cudaMemcpyAsync", "copying");
    assert_int_equal(drawn.excerpt.row_count, 8); /* two streams, idle time */
    row = row_of(&drawn, EXCERPT_IDLE, 0);
    assert_int_equal(row->bar_count, 2);
    check_bar(&drawn, row, 0, 0, 32, "", NULL);
    check_bar(&drawn, row, 1, 70, 90, "", NULL);
}

/* Steps 1 to 6 compute for half of their time, 7 and 8 for all of it; the mean is 62.5%. */
TEST(the_steps_are_those_closest_to_the_mean)
{
    struct drawn drawn;

    made_begin();
    for (int i = 0; i < 8; i++) {
        made_step(i + 1, 100 * i, 100 * i + 100);
        made_add_work("kernel", "k", 7, 100 * i, 100 * i + (i < 6 ? 50 : 100), 100 * i);
    }
    drawn = draw(3);
    assert_int_equal(drawn.excerpt.step_count, 3);
    assert_int_equal(drawn.excerpt.first_step, 4); /* 5, 6, 7: two thirds */
    check_us(drawn.excerpt.start_ns, 400);
    check_us(drawn.excerpt.end_ns, 700);
    made_begin();
    for (int i = 0; i < 2; i++) made_step(i + 1, 100 * i, 100 * i + 100);
    drawn = draw(100);
    assert_int_equal(drawn.excerpt.step_count, 2);
}

/* Four thousand kernels of 1 us, 2 us apart, are drawn in bars of less than a part of the excerpt,
 * and none is lost. The long one is on its own. */
TEST(what_a_pixel_cannot_show_is_drawn_together)
{
    struct drawn drawn;
    const struct excerpt_row *row;
    int64_t count = 0, covered_ns = 0;

    made_begin();
    made_step(1, 0, 40000);
    for (int i = 0; i < 4000; i++)
        made_add("kernel", i == 5 ? "longer" : "k", 0, 7, 2 * i, 2 * i + (i == 5 ? 2 : 1), 0);
    made_add("kernel", "long", 0, 7, 9000, 30000, 0);
    drawn = draw(1);
    row = row_of(&drawn, EXCERPT_WORK, 0);
    assert_true(row->bar_count < 2 * EXCERPT_PARTS);
    assert_true(row->bar_count < 1000);
    for (int64_t i = 0; i < row->bar_count; i++) {
        const struct excerpt_bar *bar = &drawn.excerpt.bars[row->first_bar + i];
        assert_true(bar->count == 1 || bar->end_ns - bar->start_ns < 40000000 / EXCERPT_PARTS);
        count += bar->count;
        covered_ns += bar->covered_ns;
    }
    assert_int_equal(count, 4001);
    check_us(covered_ns, 4001 + 21000);
    check_bar(&drawn, row, 0, 0, 19, "longer", "computation"); /* below 20 us */
    check_bar(&drawn, row, row->bar_count - 1, 9000, 30000, "long", "computation");
}

TEST(without_steps_it_is_the_whole)
{
    struct drawn drawn;

    made_begin();
    made_add_work("kernel", "k", 7, 100, 200, 90);
    made_add_work("kernel", "k", 7, 300, 400, 90);
    drawn = draw(3);
    assert_int_equal(drawn.excerpt.step_count, 0);
    check_us(drawn.excerpt.start_ns, 100);
    check_us(drawn.excerpt.end_ns, 400);
    made_begin();
    made_add("cpu_op", "aten::mm", 100, 100, 10, 50, 0); /* no device: the host's time */
    drawn = draw(3);
    check_us(drawn.excerpt.start_ns, 10);
    check_us(drawn.excerpt.end_ns, 50);
    assert_int_equal(drawn.excerpt.bar_count, 2); /* the operator, and all of it as one gap */
    made_begin();
    drawn = draw(3);
    assert_int_equal(drawn.excerpt.row_count, 0);
}

TEST(tracks_beyond_the_limit_are_counted)
{
    struct drawn drawn;
    int64_t threads = 0, streams = 0;

    made_begin();
    made_step(1, 0, 100);
    for (int i = 0; i < EXCERPT_TRACKS + 3; i++) {
        made_add("cpu_op", "aten::mm", 100, 200 + i, 10, 50, 0);
        made_add("kernel", "k", 0, 7 + i, 10, 50, 0);
    }
    drawn = draw(1);
    for (int64_t i = 0; i < drawn.excerpt.row_count; i++) {
        threads += drawn.excerpt.rows[i].kind == EXCERPT_OPERATOR;
        streams += drawn.excerpt.rows[i].kind == EXCERPT_WORK;
    }
    assert_int_equal(threads, EXCERPT_TRACKS);
    assert_int_equal(streams, EXCERPT_TRACKS);
    assert_int_equal(drawn.excerpt.tracks_left_out, 6);
}

static void add_gap(void *context, const struct idle_gap *gap)
{
    int64_t *sum_ns = context, causes_ns = 0;

    assert_int_equal(gap->end_ns - gap->start_ns, gap->time.idle_ns);
    for (int cause = 0; cause < GAP_CAUSE_COUNT; cause++)
        causes_ns += gap_cause_ns(&gap->time, cause);
    assert_int_equal(causes_ns, gap->time.idle_ns);
    *sum_ns += gap->time.idle_ns;
}

TEST(gaps_sum_to_the_idle_time)
{
    struct drawn drawn;
    int64_t sum_ns = 0;

    made_begin();
    for (int i = 0; i < 2; i++) {
        made_step(i + 1, 100 * i, 100 * i + 100);
        made_add_work("kernel", "a", 7, 100 * i + 20, 100 * i + 40, 100 * i + 5);
        made_add_work("kernel", "b", 7, 100 * i + 70, 100 * i + 80, 100 * i + 10);
    }
    drawn = draw(2);
    idle_visit(drawn.analysed.arena, &drawn.summary.timeline, &drawn.summary.steps,
               &drawn.summary.host, add_gap, &sum_ns);
    check_us(sum_ns, 140);
    assert_int_equal(sum_ns, drawn.summary.idle.all.idle_ns);
}
