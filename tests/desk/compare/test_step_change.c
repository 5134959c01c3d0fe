/* The change of a step is the sum of its parts' changes, and only what stands out is called. */
#include "harness/base/random.h"
#include "harness/desk/compare/traces/trace_change.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_trace.h"

#include <math.h>

enum { OPERATORS = 6 };

/* A made run: operators that each take a kernel, and a loader that the device waits for. */
struct run {
    int steps, samples; /* 0: not stated */
    int operator_us[OPERATORS];
    int loading_us;
    double noise, pace;  /* of each kernel; of all of them */
    int long_us;         /* added to the loading of one step */
    const char *kernels; /* their names begin so */
};

static const struct run usual = {
    .steps = 20,
    .operator_us = { 300, 250, 200, 150, 60, 40 },
    .loading_us = 200,
    .noise = 0.03,
    .pace = 1,
    .kernels = "gemm",
};

struct half {
    struct analysed analysed;
    struct summary summary;
    struct time_parts parts;
};

static int noisy(struct random *random, double us, double noise)
{
    return (int)lround(fmax(1, us * (1 + noise * (double)random_normal(random))));
}

static void make_half(struct half *side, const struct run *run, struct random *random)
{
    int at = 0, correlation = 1;

    made_begin();
    for (int step = 0; step < run->steps; step++) {
        int start = at, loading = noisy(random, run->loading_us, run->noise);
        char name[40], samples[40] = "";
        loading += step == run->steps / 2 ? run->long_us : 0;
        made_add("user_annotation", "data", 100, 100, at, at + loading, 0);
        at += loading;
        for (int i = 0; i < OPERATORS; i++, correlation++) {
            int length = noisy(random, run->operator_us[i] * run->pace, run->noise);
            if (run->operator_us[i] == 0)
                continue;
            snprintf(name, sizeof name, "block%d.op%d", step, i);
            made_add("cpu_op", name, 100, 100, at, at + 4, 0);
            made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, at, at + 2, correlation);
            snprintf(name, sizeof name, "%s_%d", run->kernels, i);
            made_add("kernel", name, 0, 7, at + 4, at + 4 + length, correlation);
            at += length;
        }
        snprintf(name, sizeof name, "ProfilerStep#%d", step + 1);
        if (run->samples > 0)
            snprintf(samples, sizeof samples, "\"samples\":%d", run->samples);
        made_add_with("user_annotation", name, 100, 100, start, at, 0, samples);
    }
    side->analysed = made_analyse();
    side->summary = summary_of(side->analysed.arena, side->analysed.trace);
    side->parts = time_parts_of(side->analysed.arena, &side->summary);
}

struct pair {
    struct half sides[SIDES];
    struct time_parts parts[SIDES];
    struct step_change change;
};

static void compare_runs_made(struct pair *pair, const struct run *base, const struct run *new,
                              struct random *random)
{
    const struct summary *summaries[SIDES];
    int64_t sum = 0, sums[SIDES] = { 0 };

    make_half(&pair->sides[SIDE_BASE], base, random);
    make_half(&pair->sides[SIDE_NEW], new, random);
    for (int side = 0; side < SIDES; side++) {
        summaries[side] = &pair->sides[side].summary;
        pair->parts[side] = pair->sides[side].parts;
    }
    pair->change = step_change_of(pair->sides[SIDE_NEW].analysed.arena, pair->parts, summaries);
    for (int64_t i = 0; i < pair->change.count; i++) {
        const struct part_change *part = &pair->change.parts[i];
        sum += part->change_ns;
        assert_int_equal(part->change_ns, part->ns[SIDE_NEW] - part->ns[SIDE_BASE]);
        for (int side = 0; side < SIDES; side++) sums[side] += part->ns[side];
    }
    assert_int_equal(sum, pair->change.change_ns);
    for (int side = 0; side < SIDES; side++)
        assert_int_equal(sums[side], pair->change.step_ns[side]);
}

static int count_outstanding(const struct step_change *change)
{
    int count = change->pace.stands_out;

    for (int64_t i = 0; i < change->count; i++) count += change->parts[i].stands_out;
    return count;
}

static const struct part_change *part_named(const struct step_change *change, const char *name)
{
    for (int64_t i = 0; i < change->count; i++)
        if (strcmp(change->parts[i].name, name) == 0)
            return &change->parts[i];
    fail_msg("no part is called %s", name);
    return NULL;
}

/* Times that do not divide by the steps: each side's parts still sum to its step. */
TEST(parts_sum_to_the_nanosecond)
{
    struct random random = random_seed(1, 0);

    for (int round = 0; round < 100; round++) {
        struct run base = usual, new = usual;
        struct pair pair;
        base.steps = 3 + (int)random_below(&random, 12);
        new.steps = 7;
        base.noise = new.noise = 0.2;
        new.operator_us[round % OPERATORS] = 0;
        compare_runs_made(&pair, &base, &new, &random);
        test_release();
    }
}

/* Equal programs, on a device whose pace differs from run to run: hardly ever is anything
 * called. */
TEST(equal_runs_name_nothing)
{
    enum { ROUNDS = 500 };
    struct random random = random_seed(2, 0);
    int called = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct run new = usual;
        struct pair pair;
        new.pace = 0.93 + 0.14 * (double)random_uniform(&random);
        compare_runs_made(&pair, &usual, &new, &random);
        called += count_outstanding(&pair.change) > 0;
        test_release();
    }
    print_message("%d of %d equal pairs called\n", called, ROUNDS);
    assert_in_range(called, 0, ROUNDS / 100);
}

TEST(the_same_trace_twice_changes_nothing)
{
    struct random random = random_seed(3, 0);
    struct run run = usual;
    struct pair pair;

    run.noise = 0;
    compare_runs_made(&pair, &run, &run, &random);
    assert_int_equal(pair.change.change_ns, 0);
    assert_int_equal(count_outstanding(&pair.change), 0);
    for (int64_t i = 0; i < pair.change.count; i++)
        assert_false(pair.change.parts[i].probability < 1);
}

/* One operator or the loader becomes slower by a tenth of a step: that one is called, first and
 * alone. */
TEST(what_was_planted_is_named)
{
    enum { ROUNDS = 140 };
    struct random random = random_seed(4, 0);
    int found = 0, others = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct run new = usual;
        int which = round % (OPERATORS + 1);
        char name[16] = "loading";
        struct pair pair;
        if (which < OPERATORS) {
            snprintf(name, sizeof name, "block*.op%d", which);
            new.operator_us[which] += 120;
        } else {
            new.loading_us += 120;
        }
        new.pace = 0.97 + 0.06 * (double)random_uniform(&random);
        compare_runs_made(&pair, &usual, &new, &random);
        found += part_named(&pair.change, name)->stands_out &&
                 strcmp(pair.change.parts[0].name, name) == 0;
        others += count_outstanding(&pair.change) - part_named(&pair.change, name)->stands_out;
        test_release();
    }
    print_message("%d of %d planted changes called first, %d others called\n", found, ROUNDS,
                  others);
    assert_in_range(found, ROUNDS * 95 / 100, ROUNDS);
    assert_in_range(others, 0, ROUNDS / 50);
}

/* A part that is new has no noise on the other side; one that is gone likewise. */
TEST(new_and_gone_parts_are_named)
{
    struct random random = random_seed(5, 0);
    struct run new = usual;
    struct pair pair;

    new.operator_us[1] = 0;
    compare_runs_made(&pair, &usual, &new, &random);
    assert_true(part_named(&pair.change, "block*.op1")->stands_out);
    assert_int_equal(part_named(&pair.change, "block*.op1")->ns[SIDE_NEW], 0);
    assert_int_equal(count_outstanding(&pair.change), 1);
    compare_runs_made(&pair, &new, &usual, &random);
    assert_true(part_named(&pair.change, "block*.op1")->stands_out);
    assert_int_equal(part_named(&pair.change, "block*.op1")->ns[SIDE_BASE], 0);
}

/* One long step hides the others' change from a mean's variance, not from ranks. */
TEST(one_long_step_hides_nothing)
{
    struct random random = random_seed(6, 0);
    struct run base = usual, new = usual;
    struct pair pair;

    base.long_us = 3000;
    new.loading_us += 300;
    compare_runs_made(&pair, &base, &new, &random);
    assert_true(part_named(&pair.change, "loading")->low_ns < 0); /* by the mean it may be none */
    assert_true(part_named(&pair.change, "loading")->stands_out);

    new = usual; /* and alone it is not called a change of the loading */
    new.long_us = 15000;
    compare_runs_made(&pair, &usual, &new, &random);
    assert_int_equal(count_outstanding(&pair.change), 0);
}

/* The same kernels slower by the same factor: the device was. Others by the same factor: that was
 * changed. */
TEST(a_common_factor_is_known)
{
    struct random random = random_seed(7, 0);
    struct run new = usual;
    struct pair pair;

    new.pace = 1.5;
    compare_runs_made(&pair, &usual, &new, &random);
    assert_int_equal(pair.change.pace.parts, OPERATORS);
    assert_true(fabs(pair.change.pace.factor - 1.5) < 0.05);
    assert_false(pair.change.pace.other_work);
    assert_int_equal(count_outstanding(&pair.change), 0);

    new.kernels = "bf16";
    compare_runs_made(&pair, &usual, &new, &random);
    assert_true(pair.change.pace.other_work);
    assert_true(pair.change.pace.stands_out);
    assert_int_equal(count_outstanding(&pair.change), 1);
}

/* Products in another precision, and the rest as before: what is twice as long is named, and
 * nothing is common. */
TEST(factors_that_differ_are_no_common_one)
{
    struct random random = random_seed(10, 0);
    struct run new = usual;
    struct pair pair;

    for (int i = 0; i < OPERATORS; i += 2) new.operator_us[i] *= 2;
    new.kernels = "fp32";
    compare_runs_made(&pair, &usual, &new, &random);
    assert_int_equal(pair.change.pace.parts, 0);
    assert_true(part_named(&pair.change, "block*.op0")->stands_out);
    assert_true(part_named(&pair.change, "block*.op2")->stands_out);
    assert_true(part_named(&pair.change, "block*.op4")->stands_out);
    assert_int_equal(count_outstanding(&pair.change), 3);
}

/* A part that is longer beyond its noise, in a step that is hardly longer. */
TEST(a_step_that_is_the_same_has_no_cause)
{
    struct random random = random_seed(11, 0);
    struct run new = usual;
    struct pair pair;

    new.operator_us[2] += 100;
    new.loading_us -= 100;
    compare_runs_made(&pair, &usual, &new, &random);
    assert_false(pair.change.differs);
    assert_true(part_named(&pair.change, "block*.op2")->probability < 0.01);
    assert_int_equal(count_outstanding(&pair.change), 0);

    new.loading_us = usual.loading_us;
    compare_runs_made(&pair, &usual, &new, &random);
    assert_true(pair.change.differs);
    assert_int_equal(count_outstanding(&pair.change), 1);
    step_change_withdraw(&pair.change);
    assert_int_equal(count_outstanding(&pair.change), 0);
}

TEST(few_steps_show_no_noise)
{
    struct random random = random_seed(8, 0);
    struct run base = usual, new = usual;
    struct pair pair;

    base.steps = STEP_BLOCKS_LEAST - 1;
    new.operator_us[0] = 5000;
    compare_runs_made(&pair, &base, &new, &random);
    assert_false(pair.change.has_noise);
    assert_int_equal(count_outstanding(&pair.change), 0);
    assert_string_equal(pair.change.parts[0].name, "block*.op0");
}

TEST(other_batches_are_compared_by_sample)
{
    struct random random = random_seed(9, 0);
    struct run base = usual, new = usual;
    struct pair pair;

    base.samples = 4;
    new.samples = 8;
    compare_runs_made(&pair, &base, &new, &random);
    assert_true(pair.change.per_sample);
    assert_true(
        fabs((double)pair.change.step_ns[SIDE_BASE] / (double)pair.change.step_ns[SIDE_NEW] - 2) <
        0.1);

    new.samples = 4;
    compare_runs_made(&pair, &base, &new, &random);
    assert_false(pair.change.per_sample);
}
