/* Every kind of damage, one trace each: what is found, what is mended, and that a healthy trace
 * shows nothing. */
#include "harness/desk/analysis/soundness/soundness.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_trace.h"

enum { STEPS = 12, STEP_US = 1000, WORK_US = 400 };

/* How a loop is damaged; zeros: not at all. Times in us. */
struct damage {
    int first_us;   /* of the first step */
    int overrun_us; /* of each third step's kernel, beyond the next one's start */
    int clock_us;   /* added to the times of the device */
    int drift_us;   /* added to them again with each step */
    int empty;      /* so many kernels take no time */
    int zero;       /* so many steps have a kernel at the time 0 */
    int hole_us;    /* after half of the steps, whose numbers jump by 10 */
    bool waits;     /* after each step's work */
    bool twice;     /* each event */
    bool across;    /* an annotation runs over each mark */
    bool earlier;   /* there is work before the first step */
};

static void add_step(const struct damage *damage, int step)
{
    int jump = damage->hole_us > 0 && step >= STEPS / 2;
    int at = damage->first_us + STEP_US * step + (jump ? damage->hole_us : 0);
    int id = 100 + 10 * step, device = at + 20 + damage->clock_us + damage->drift_us * step;
    int overrun = step % 3 == 0 && damage->overrun_us > 0 ? 100 + damage->overrun_us : 0;
    char name[32];

    snprintf(name, sizeof name, "ProfilerStep#%d", step + 2 + (jump ? 10 : 0));
    made_add_with("user_annotation", name, 100, 100, at, at + STEP_US, 0, "\"External id\":1");
    if (damage->across)
        made_add("user_annotation", "Optimizer.step#SGD.step", 100, 100, at + 900, at + 1900, 0);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, at + 10, at + 15, id);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, at + 16, at + 18, id + 1);
    made_add("kernel", "first", 0, 7, step < damage->zero ? 0 : device,
             step < damage->zero    ? 0
             : step < damage->empty ? device
             : overrun > 0          ? device + overrun
                                    : device + 100,
             id);
    made_add("kernel", "second", 0, 7, device + 110, device + WORK_US, id + 1);
    if (damage->waits)
        made_add("cuda_runtime", "cudaDeviceSynchronize", 100, 100, at + 30, at + 25 + WORK_US,
                 id + 2);
}

static struct analysed make(const struct damage *damage, struct soundness *soundness)
{
    struct analysed analysed;

    made_begin();
    if (damage->earlier)
        made_add_work("kernel", "before", 7, damage->first_us - 50, damage->first_us - 20,
                      damage->first_us - 60);
    for (int step = 0; step < STEPS; step++) {
        add_step(damage, step);
        if (damage->twice)
            add_step(damage, step);
    }
    analysed = made_analyse();
    analysed.timeline = sound_timeline_of(analysed.arena, analysed.trace, soundness);
    analysed.steps = steps_of(analysed.arena, &analysed.timeline);
    return analysed;
}

/* All other checks must be silent. */
static void check_only(const struct soundness *soundness, enum sound_check check, int64_t count,
                       enum trust trust)
{
    for (int i = 0; i < SOUND_CHECK_COUNT; i++) {
        const struct sound_row *row = &soundness->rows[i];
        if (i != (int)check && row->count != 0)
            fail_msg("%s: %s", sound_check_name((enum sound_check)i), row->found);
        assert_int_equal(row->found[0] != '\0', row->count > 0);
    }
    assert_int_equal(soundness->rows[check].count, count);
    assert_int_equal(soundness->trust, trust);
}

static void check_loop(const struct analysed *analysed)
{
    assert_int_equal(analysed->steps.count, STEPS);
    check_us(analysed->steps.max_ns, STEP_US);
    check_us(analysed->steps.items[STEPS - 1].event->start_ns -
                 analysed->steps.items[0].event->start_ns,
             (STEPS - 1) * STEP_US);
    for (int i = 0; i < STEPS; i++) check_us(analysed->steps.items[i].busy_ns, WORK_US - 10);
}

static void check_mended(struct damage damage, enum sound_check check, int64_t count,
                         enum trust trust)
{
    struct soundness soundness;
    struct analysed analysed;

    damage.first_us = 2000000;
    analysed = make(&damage, &soundness);
    check_only(&soundness, check, count, trust);
    check_loop(&analysed);
}

TEST(a_healthy_trace_is_sound)
{
    check_mended((struct damage){ .waits = true }, SOUND_WHOLE, 0, TRUST_WHOLE);
    check_mended((struct damage){ .waits = false }, SOUND_WHOLE, 0, TRUST_WHOLE);
}

TEST(work_that_runs_over_the_next_is_clipped)
{
    struct soundness soundness;
    struct damage damage = { .first_us = 2000000, .overrun_us = 5000 };
    struct analysed analysed = make(&damage, &soundness);

    check_only(&soundness, SOUND_STREAMS, 4, TRUST_LITTLE);
    for (int i = 0; i < STEPS; i++) check_us(analysed.steps.items[i].busy_ns, WORK_US - 10);
}

/* Early by 300 us: only a launch tells. Late: only a wait tells; without waits there is only a
 * doubt, since no work begins soon after its launch. */
TEST(a_clock_that_is_early_or_late_is_moved)
{
    struct soundness soundness;
    struct damage late = { .first_us = 2000000, .clock_us = 3000 };

    check_mended((struct damage){ .clock_us = -300, .waits = true }, SOUND_CLOCK, 2 * STEPS,
                 TRUST_WHOLE);
    check_mended((struct damage){ .clock_us = -300 }, SOUND_CLOCK, 2 * STEPS, TRUST_LESS);
    check_mended((struct damage){ .clock_us = 250, .waits = true }, SOUND_CLOCK, STEPS,
                 TRUST_WHOLE);
    make(&late, &soundness);
    check_only(&soundness, SOUND_CLOCK, 1, TRUST_LITTLE);
}

/* 10 us with each step of 1 ms: a doubt, whether waits contradict it or not. No clock drifts by a
 * tenth. */
TEST(a_clock_that_drifts_is_doubted)
{
    static const struct damage drifts[] = {
        { .first_us = 2000000, .drift_us = 10 },
        { .first_us = 2000000, .drift_us = 10, .waits = true },
        { .first_us = 2000000, .drift_us = 10, .clock_us = 3000 },
        { .first_us = 2000000, .drift_us = 1 },
        { .first_us = 2000000, .drift_us = 100 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(drifts); i++) {
        struct soundness soundness;
        bool doubted = drifts[i].drift_us == 10;
        make(&drifts[i], &soundness);
        check_only(&soundness, SOUND_CLOCK, doubted, doubted ? TRUST_LITTLE : TRUST_WHOLE);
    }
}

TEST(kernels_without_time_and_events_without_times_cost_trust)
{
    struct soundness soundness;
    struct damage empty = { .first_us = 2000000, .empty = 6 };
    struct damage zero = { .first_us = 2000000, .zero = 1 };
    struct analysed analysed = make(&empty, &soundness);

    check_only(&soundness, SOUND_DURATIONS, 6, TRUST_LITTLE);
    analysed = make(&zero, &soundness);
    check_only(&soundness, SOUND_TIMES, 1, TRUST_LESS);
    assert_true(analysed.timeline.all.span_ns < 2 * STEPS * STEP_US * INT64_C(1000));
}

TEST(what_is_mended_whole_costs_no_trust)
{
    check_mended((struct damage){ .twice = true, .waits = true }, SOUND_DUPLICATES, 6 * STEPS,
                 TRUST_WHOLE);
    check_mended((struct damage){ .hole_us = 60000 }, SOUND_CYCLES, 1, TRUST_WHOLE);
    check_mended((struct damage){ .across = true }, SOUND_ANNOTATIONS, STEPS, TRUST_WHOLE);
    check_mended((struct damage){ .earlier = true }, SOUND_BEGINNING, 1, TRUST_WHOLE);
}

TEST(an_annotation_across_a_mark_ends_with_its_step)
{
    struct soundness soundness;
    struct damage damage = { .first_us = 2000000, .across = true };
    struct analysed analysed = make(&damage, &soundness);

    for (int64_t i = 0; i < analysed.timeline.host_count; i++)
        if (analysed.timeline.host[i]->kind == EVENT_KIND_ANNOTATION)
            check_us(analysed.timeline.host[i]->end_ns - analysed.timeline.host[i]->start_ns, 100);
}

/* Numbers that jump are no hole if the time between is full, nor is a pause between numbers that
 * follow. */
TEST(a_pause_is_no_hole)
{
    struct soundness soundness;
    struct analysed analysed;

    made_begin();
    made_step(2, 1000, 2000);
    made_step(3, 9000, 10000);
    made_add("cpu_op", "aten::evaluate", 100, 100, 10000, 17000, 0);
    made_step(9, 18000, 19000);
    analysed = made_analyse();
    sound_timeline_of(analysed.arena, analysed.trace, &soundness);
    check_only(&soundness, SOUND_CYCLES, 0, TRUST_WHOLE);
}

/* Branches of a graph run side by side. */
TEST(work_of_one_graph_may_overlap)
{
    struct soundness soundness;
    struct analysed analysed;

    made_begin();
    made_add("cuda_runtime", "cudaGraphLaunch", 100, 100, 1000, 1010, 5);
    made_add("kernel", "left", 0, 7, 1020, 1120, 5);
    made_add("kernel", "right", 0, 7, 1040, 1100, 5);
    analysed = made_analyse();
    sound_timeline_of(analysed.arena, analysed.trace, &soundness);
    check_only(&soundness, SOUND_STREAMS, 0, TRUST_WHOLE);
}

/* Unless a piece goes on when the work of the next launch begins, which waits for all of the
 * graph. */
TEST(work_of_a_graph_ends_before_the_next_launch)
{
    struct soundness soundness;
    struct analysed analysed;

    made_begin();
    for (int i = 0; i < 3; i++) {
        int at = 1000 + 1000 * i;
        made_add("cuda_runtime", "cudaGraphLaunch", 100, 100, at, at + 10, 5 + i);
        made_add("kernel", "left", 0, 7, at + 20, i == 1 ? at + 2900 : at + 120, 5 + i);
        made_add("kernel", "right", 0, 7, at + 40, at + 100, 5 + i);
    }
    analysed = made_analyse();
    sound_timeline_of(analysed.arena, analysed.trace, &soundness);
    check_only(&soundness, SOUND_STREAMS, 1, TRUST_LITTLE);
    for (int64_t i = 0; i < analysed.trace->event_count; i++)
        if (analysed.trace->events[i].kind == EVENT_KIND_KERNEL)
            assert_true(analysed.trace->events[i].end_ns - analysed.trace->events[i].start_ns <=
                        100 * INT64_C(1000));
}
