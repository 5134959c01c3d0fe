/* Verdicts from made-up repetitions: what is claimed, what is not, and what stays open. */
#include "harness/lab/experiment/verdict.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/fields.h"

#include <math.h>

enum { PAIRS = 9 };

/* A few percent up and down, and one outlier: what a shared machine does. */
static const double quiet[PAIRS] = { 1, 1.01, 0.99, 1.02, 0.98, 1, 1.01, 0.99, 1.5 };
static const double noisy[PAIRS] = { 1, 1.4, 0.7, 1.3, 0.75, 1.1, 0.9, 1.35, 0.8 };

struct setting {
    struct scenario scenario;
    struct scenario_result result;
    struct repetition repetitions[VARIANT_COUNT][PAIRS];
};

/* Everything is the same before and after: 100 of each metric, the losses 2, 1.9 ... */
static void begin(struct setting *setting, int pairs)
{
    memset(setting, 0, sizeof *setting);
    setting->scenario.name = "test";
    setting->result.scenario = &setting->scenario;
    setting->result.pairs = setting->result.protocol.repetitions = pairs;
    strcpy(setting->result.device.kind, "cpu");
    strcpy(setting->result.device.name, "CPU device (test)");
    setting->result.device.shares_host_cores = true;
    setting->result.device.host_cores = 2;
    for (int v = 0; v < VARIANT_COUNT; v++) {
        setting->result.repetitions[v] = setting->repetitions[v];
        for (int i = 0; i < PAIRS; i++) {
            struct repetition *repetition = &setting->repetitions[v][i];
            for (int m = METRIC_FIRST; m < METRIC_COUNT; m++) repetition->metric[m] = 100;
            for (int s = 0; s < LOSS_STEPS; s++) repetition->losses[s] = 2 - 0.1f * (float)s;
        }
    }
}

static void set(struct setting *setting, enum variant variant, enum metric metric, double value,
                const double *noise)
{
    for (int i = 0; i < PAIRS; i++)
        setting->repetitions[variant][i].metric[metric] = value * (noise != NULL ? noise[i] : 1);
}

static enum verdict give(struct setting *setting)
{
    assert_ok(verdict_give(&setting->result));
    return setting->result.verdict;
}

TEST(effects_are_medians_of_paired_factors)
{
    struct setting setting;
    const struct effect *effect = &setting.result.step_time;

    begin(&setting, PAIRS);
    setting.scenario.expect[0] = (struct expectation){ METRIC_STEP_TIME, GROWS, .at_least = 1.25 };
    for (int i = 0; i < PAIRS; i++) {
        setting.repetitions[VARIANT_BEFORE][i].metric[METRIC_STEP_TIME] = 10 * (i + 1);
        setting.repetitions[VARIANT_AFTER][i].metric[METRIC_STEP_TIME] = 10;
    }
    give(&setting);
    assert_true(effect->before == 50 && effect->after == 10);
    assert_true(effect->factor == 5 && effect->low == 2 && effect->high == 8);
    assert_float_equal(effect->coverage, 0.9609375, 1e-9);
    assert_float_equal(setting.result.expectations[0].effect.factor, 0.2, 1e-12);

    begin(&setting, 0);
    give(&setting);
    assert_true(isnan(effect->factor) && isnan(effect->before) && isnan(effect->low));
}

/* One expectation of the step time, and what it makes of a factor and its noise. */
TEST(outcomes_follow_the_interval)
{
    static const struct {
        struct expectation expectation;
        double before, after;
        const double *noise;
        enum outcome outcome;
        enum verdict verdict;
        const char *reason; /* a piece of it */
    } cases[] = {
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1.25), 150, 100, quiet, OUTCOME_MET,
          VERDICT_REPRODUCED, "" },
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1.25), 115, 100, quiet, OUTCOME_NOT_MET,
          VERDICT_NOT_REPRODUCED, "step_time: 1.15x faster (" },
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1.25), 100, 100, quiet, OUTCOME_NOT_MET,
          VERDICT_NOT_REPRODUCED, "step_time: no change (" },
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1.25), 100, 150, quiet, OUTCOME_NOT_MET,
          VERDICT_NOT_REPRODUCED, "step_time: 1.50x slower (" },
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1.25), 150, 100, noisy, OUTCOME_UNDECIDED,
          VERDICT_UNDECIDED, "too noisy" },
        { FIELDS(METRIC_STEP_TIME, GROWS, .at_least = 1.25), 100, 150, quiet, OUTCOME_MET,
          VERDICT_REPRODUCED, "" },
        /* A change that is worth nothing is left alone, unless it is known to be one. */
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1), 100, 100, quiet, OUTCOME_UNDECIDED,
          VERDICT_UNDECIDED, "too noisy" },
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1, .worth = 1.05), 100, 100, quiet,
          OUTCOME_NOT_MET, VERDICT_NOT_REPRODUCED, "step_time: no change (" },
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1, .worth = 1.05), 102, 100, quiet,
          OUTCOME_MET, VERDICT_REPRODUCED, "" },
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1, .worth = 1.05), 100, 100, noisy,
          OUTCOME_UNDECIDED, VERDICT_UNDECIDED, "too noisy" },
        /* Nothing stated: 5%. */
        { FIELDS(METRIC_STEP_TIME_P95, SHRINKS, .at_least = 0), 103, 100, quiet, OUTCOME_UNDECIDED,
          VERDICT_UNDECIDED, "at least 1.05" },
        { FIELDS(METRIC_STEP_TIME_P95, SHRINKS, .at_least = 0), 110, 100, quiet, OUTCOME_MET,
          VERDICT_REPRODUCED, "" },
        /* From some to none. */
        { FIELDS(METRIC_ALLOCATIONS_PER_STEP, SHRINKS, .at_least = 10), 7, 0, NULL, OUTCOME_MET,
          VERDICT_REPRODUCED, "" },
        { FIELDS(METRIC_ALLOCATIONS_PER_STEP, SHRINKS, .at_least = 10), 0, 0, NULL, OUTCOME_NOT_MET,
          VERDICT_NOT_REPRODUCED,
          "allocations_per_step: no change (exact), expected down at least 10x" },
        /* A range of factors. */
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1.2, .at_most = 1.4), 130, 100, quiet,
          OUTCOME_MET, VERDICT_REPRODUCED, "" },
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1.2, .at_most = 1.4), 150, 100, quiet,
          OUTCOME_NOT_MET, VERDICT_NOT_REPRODUCED, "expected 1.2x to 1.4x faster" },
        /* Exactly the same in every repetition. */
        { FIELDS(METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 3, .exact = true), 300, 100, NULL,
          OUTCOME_MET, VERDICT_REPRODUCED, "" },
        { FIELDS(METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 3, .exact = true), 400, 100, quiet,
          OUTCOME_NOT_MET, VERDICT_NOT_REPRODUCED, "varies from 392 to 600" },
        /* The metric's own bounds. */
        { FIELDS(METRIC_DATA_WAIT_SHARE, SHRINKS, .before_above = 0.5, .after_below = 0.15), 0.6,
          0.1, quiet, OUTCOME_MET, VERDICT_REPRODUCED, "" },
        { FIELDS(METRIC_DATA_WAIT_SHARE, SHRINKS, .before_above = 0.5, .after_below = 0.15), 0.6,
          0.2, quiet, OUTCOME_NOT_MET, VERDICT_NOT_REPRODUCED, "data_wait_share after is 0.2" },
        { FIELDS(METRIC_DATA_WAIT_SHARE, SHRINKS, .before_above = 0.5, .after_below = 0.15), 0.4,
          0.1, quiet, OUTCOME_NOT_MET, VERDICT_NOT_REPRODUCED, "data_wait_share before is 0.4" },
        { FIELDS(METRIC_DATA_WAIT_SHARE, SHRINKS, .before_above = 0.5), 0.5, 0.1, noisy,
          OUTCOME_UNDECIDED, VERDICT_UNDECIDED, "before" },
        /* Bound elsewhere. */
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1.25, .where = WHERE_CUDA), 100, 100, quiet,
          OUTCOME_NOT_BOUND, VERDICT_SKIPPED, "nothing is expected" },
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1.25, .where = WHERE_FOUR_CORES), 100, 100,
          quiet, OUTCOME_NOT_BOUND, VERDICT_SKIPPED, "nothing is expected" },
        /* Not measured. */
        { FIELDS(METRIC_STEP_TIME, SHRINKS, .at_least = 1.25), NAN, 100, NULL, OUTCOME_UNDECIDED,
          VERDICT_UNDECIDED, "was not measured" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setting setting;
        begin(&setting, PAIRS);
        setting.scenario.expect[0] = cases[i].expectation;
        set(&setting, VARIANT_BEFORE, cases[i].expectation.metric, cases[i].before, cases[i].noise);
        set(&setting, VARIANT_AFTER, cases[i].expectation.metric, cases[i].after, NULL);
        if (cases[i].noise != NULL && cases[i].expectation.after_below > 0)
            set(&setting, VARIANT_AFTER, cases[i].expectation.metric, cases[i].after,
                cases[i].noise);
        give(&setting);
        if (setting.result.expectations[0].outcome != cases[i].outcome ||
            setting.result.verdict != cases[i].verdict ||
            strstr(setting.result.reason, cases[i].reason) == NULL)
            fail_msg("case %zu: %s, %s, \"%s\"", i,
                     outcome_name(setting.result.expectations[0].outcome),
                     verdict_name(setting.result.verdict), setting.result.reason);
        assert_int_equal(setting.result.expectation_count, 1);
        assert_int_equal(setting.result.reason[0] == '\0',
                         setting.result.verdict == VERDICT_REPRODUCED);
    }
}

TEST(what_must_be_exact_may_not_vary_on_either_side)
{
    for (int v = 0; v < VARIANT_COUNT; v++) {
        struct setting setting;
        begin(&setting, PAIRS);
        setting.scenario.expect[0] =
            (struct expectation){ METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 3, .exact = true };
        set(&setting, VARIANT_BEFORE, METRIC_ACTIVATION_PEAK, 1000,
            v == VARIANT_BEFORE ? quiet : NULL);
        set(&setting, VARIANT_AFTER, METRIC_ACTIVATION_PEAK, 100,
            v == VARIANT_AFTER ? quiet : NULL);
        assert_int_equal(give(&setting), VERDICT_NOT_REPRODUCED);
        assert_non_null(strstr(setting.result.reason, v == VARIANT_BEFORE
                                                          ? "before varies from 980 to 1500"
                                                          : "after varies from 98 to 150"));
    }
}

TEST(a_cost_fails_only_above_its_bound)
{
    static const struct {
        double after;
        enum outcome outcome;
        enum verdict verdict;
    } cases[] = {
        { 120, OUTCOME_MET, VERDICT_REPRODUCED },
        { 100, OUTCOME_MET, VERDICT_REPRODUCED },
        { 50, OUTCOME_MET, VERDICT_REPRODUCED },
        { 160, OUTCOME_NOT_MET, VERDICT_NOT_REPRODUCED },
        { 140, OUTCOME_UNDECIDED, VERDICT_UNDECIDED },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setting setting;
        begin(&setting, PAIRS);
        setting.scenario.expect[0] =
            (struct expectation){ METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 3, .exact = true };
        setting.scenario.expect[1] =
            (struct expectation){ METRIC_STEP_TIME, GROWS, .at_least = 1.14, .at_most = 1.4,
                                  .is_cost = true };
        set(&setting, VARIANT_BEFORE, METRIC_ACTIVATION_PEAK, 400, NULL);
        set(&setting, VARIANT_AFTER, METRIC_STEP_TIME, cases[i].after, quiet);
        assert_int_equal(give(&setting), cases[i].verdict);
        assert_int_equal(setting.result.expectations[1].outcome, cases[i].outcome);
    }
}

/* 5% of the step time, and nothing else: a row of the list, not its end. */
TEST(a_step_time_that_only_has_to_change_is_judged)
{
    struct setting setting;

    for (int direction = SHRINKS; direction <= GROWS; direction++) {
        begin(&setting, PAIRS);
        setting.scenario.expect[0] = (struct expectation){ .metric = METRIC_STEP_TIME,
                                                           .direction = (enum direction)direction };
        setting.scenario.expect[1] =
            (struct expectation){ METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 10 };
        set(&setting, VARIANT_BEFORE, METRIC_SYNCS_PER_STEP, 2000, NULL);
        set(&setting, direction == SHRINKS ? VARIANT_BEFORE : VARIANT_AFTER, METRIC_STEP_TIME, 150,
            quiet);
        assert_int_equal(give(&setting), VERDICT_REPRODUCED);
        assert_int_equal(setting.result.expectation_count, 2);
        assert_true(setting.result.expectations[0].effect.factor > 1.4);
    }
}

TEST(a_cost_alone_reproduces_nothing)
{
    struct setting setting;

    begin(&setting, PAIRS);
    setting.scenario.expect[0] =
        (struct expectation){ METRIC_STEP_TIME, GROWS, .at_most = 1.4, .is_cost = true };
    assert_int_equal(give(&setting), VERDICT_SKIPPED);
}

/* The same settings on both sides: what a factor of the step time and its noise are called. */
TEST(an_aa_comparison_says_whether_the_same_looks_different)
{
    static const struct {
        double before, after;
        const double *noise;
        int pairs;
        enum verdict verdict;
        const char *reason; /* a piece of it */
    } cases[] = {
        { 100, 100, NULL, PAIRS, VERDICT_NO_DIFFERENCE, "" },
        { 100, 100, quiet, PAIRS, VERDICT_NO_DIFFERENCE, "" },
        { 102, 100, quiet, PAIRS, VERDICT_NO_DIFFERENCE, "" },
        { 100, 102, quiet, PAIRS, VERDICT_NO_DIFFERENCE, "" },
        { 104, 100, quiet, PAIRS, VERDICT_UNDECIDED, "1.04 (1.03 to 1.061)" },
        { 100, 104, quiet, PAIRS, VERDICT_UNDECIDED, "too noisy" },
        { 100, 100, noisy, PAIRS, VERDICT_UNDECIDED, "too noisy" },
        { 120, 100, noisy, PAIRS, VERDICT_UNDECIDED, "0.9524 to 1.05" },
        { 110, 100, quiet, PAIRS, VERDICT_DIFFERENT, "1.1 (1.089 to 1.122)" },
        { 100, 110, quiet, PAIRS, VERDICT_DIFFERENT, "a false alarm" },
        { 100, 100, quiet, 5, VERDICT_UNDECIDED, "--repetitions 6" },
        { 200, 100, NULL, 5, VERDICT_UNDECIDED, "--repetitions 6" },
        { NAN, 100, NULL, PAIRS, VERDICT_UNDECIDED, "was not measured" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setting setting;
        begin(&setting, cases[i].pairs);
        setting.result.protocol.aa = true;
        set(&setting, VARIANT_BEFORE, METRIC_STEP_TIME, cases[i].before, cases[i].noise);
        set(&setting, VARIANT_AFTER, METRIC_STEP_TIME, cases[i].after, NULL);
        give(&setting);
        if (setting.result.verdict != cases[i].verdict ||
            strstr(setting.result.reason, cases[i].reason) == NULL)
            fail_msg("case %zu: %s, \"%s\"", i, verdict_name(setting.result.verdict),
                     setting.result.reason);
        assert_int_equal(setting.result.reason[0] == '\0',
                         setting.result.verdict == VERDICT_NO_DIFFERENCE);
    }
}

TEST(an_aa_comparison_expects_nothing_but_identical_losses)
{
    struct setting setting;

    begin(&setting, PAIRS);
    setting.result.protocol.aa = true;
    setting.scenario.expect[0] =
        (struct expectation){ METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 };
    setting.scenario.loss = LOSS_16_BIT;
    assert_int_equal(give(&setting), VERDICT_NO_DIFFERENCE);
    assert_int_equal(setting.result.expectation_count, 0);

    /* A difference that would do between variants. */
    setting.repetitions[VARIANT_AFTER][4].losses[5] *= 1 + 1e-3f;
    assert_int_equal(give(&setting), VERDICT_FAILED);
    assert_non_null(strstr(setting.result.reason, "two runs with the same settings"));
    setting.result.protocol.aa = false;
    assert_int_equal(give(&setting), VERDICT_NOT_REPRODUCED);
    assert_true(setting.result.losses_agree);

    /* A crash is one here, too. */
    begin(&setting, 0);
    setting.result.protocol.aa = true;
    assert_int_equal(give(&setting), VERDICT_FAILED);
}

TEST(too_few_pairs_decide_only_what_is_exact)
{
    struct setting setting;

    for (int pairs = 1; pairs < 6; pairs++) {
        begin(&setting, pairs);
        setting.scenario.expect[0] =
            (struct expectation){ METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 };
        set(&setting, VARIANT_BEFORE, METRIC_STEP_TIME, 300, quiet);
        assert_int_equal(give(&setting), VERDICT_UNDECIDED);
        assert_non_null(strstr(setting.result.reason, "--repetitions"));

        setting.scenario.expect[0].exact = true;
        set(&setting, VARIANT_BEFORE, METRIC_STEP_TIME, 300, NULL);
        assert_int_equal(give(&setting), VERDICT_REPRODUCED);
    }
}

TEST(the_worst_outcome_gives_the_verdict)
{
    struct setting setting;

    begin(&setting, PAIRS);
    setting.scenario.expect[0] =
        (struct expectation){ METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 10 };
    setting.scenario.expect[1] =
        (struct expectation){ METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 };
    setting.scenario.expect[2] =
        (struct expectation){ METRIC_COPIES_PER_STEP, SHRINKS, .at_least = 2 };
    set(&setting, VARIANT_BEFORE, METRIC_SYNCS_PER_STEP, 2000, NULL);
    set(&setting, VARIANT_BEFORE, METRIC_STEP_TIME, 150, noisy);
    assert_int_equal(give(&setting), VERDICT_NOT_REPRODUCED);
    assert_int_equal(setting.result.expectation_count, 3);
    assert_null(strstr(setting.result.reason, "syncs"));
    assert_null(strstr(setting.result.reason, "step_time"));
    assert_non_null(strstr(setting.result.reason, "copies_per_step"));

    set(&setting, VARIANT_BEFORE, METRIC_COPIES_PER_STEP, 300, NULL);
    assert_int_equal(give(&setting), VERDICT_UNDECIDED);
    set(&setting, VARIANT_BEFORE, METRIC_STEP_TIME, 150, quiet);
    assert_int_equal(give(&setting), VERDICT_REPRODUCED);
    assert_float_equal(setting.result.step_time.factor, 1.5, 0.02);
}

TEST(losses_must_agree_as_far_as_is_stated)
{
    static const struct {
        enum loss_check check;
        const char *precisions[VARIANT_COUNT];
        float change; /* of one loss, 1.5, relatively; the largest is 2 */
        bool agree;
    } cases[] = {
        { LOSS_IDENTICAL, FIELDS("fp32", "fp32"), 0, true },
        { LOSS_IDENTICAL, FIELDS("fp32", "fp32"), 3e-7f, false },
        { LOSS_IDENTICAL, FIELDS("bf16", "bf16"), 3e-7f, false },
        { LOSS_IDENTICAL, FIELDS("fp32", "fp32"), NAN, false },
        { LOSS_ORDER, FIELDS("fp32", "fp32"), 5e-6f, true },
        { LOSS_ORDER, FIELDS("fp32", "fp32"), 2e-5f, false },
        { LOSS_ORDER, FIELDS("fp32", "fp32"), INFINITY, false },
        { LOSS_ORDER, FIELDS("bf16", "bf16"), 1.5e-2f, true },
        { LOSS_ORDER, FIELDS("bf16", "bf16"), 3e-2f, false },
        { LOSS_ORDER, FIELDS("tf32", "tf32"), 2e-5f, true },
        { LOSS_ORDER, FIELDS("fp32", "bf16"), 2e-5f, true },
        { LOSS_16_BIT, FIELDS("fp32", "bf16"), 1.5e-2f, true },
        { LOSS_16_BIT, FIELDS("fp32", "bf16"), 3e-2f, false },
        { LOSS_16_BIT, FIELDS("fp32", "bf16"), NAN, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setting setting;
        begin(&setting, PAIRS);
        setting.scenario.loss = cases[i].check;
        for (int v = 0; v < VARIANT_COUNT; v++)
            setting.result.fp32[v] = strcmp(cases[i].precisions[v], "fp32") == 0;
        setting.scenario.expect[0] =
            (struct expectation){ METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 };
        set(&setting, VARIANT_BEFORE, METRIC_STEP_TIME, 150, quiet);
        setting.repetitions[VARIANT_AFTER][4].losses[5] *= 1 + cases[i].change;
        assert_int_equal(give(&setting), cases[i].agree ? VERDICT_REPRODUCED : VERDICT_FAILED);
        assert_int_equal(setting.result.losses_agree, cases[i].agree);
        if (cases[i].agree)
            assert_float_equal((float)setting.result.loss_difference, 1.5F * cases[i].change / 2,
                               3e-7F);
        else
            assert_non_null(strstr(setting.result.reason, "loss"));
    }
}

/* A NaN on both sides is not agreement, and a later finite loss does not hide it. */
TEST(two_broken_losses_do_not_agree)
{
    struct setting setting;

    begin(&setting, PAIRS);
    setting.repetitions[VARIANT_BEFORE][0].losses[0] = NAN;
    setting.repetitions[VARIANT_AFTER][0].losses[0] = NAN;
    assert_int_equal(give(&setting), VERDICT_FAILED);
    assert_true(isnan(setting.result.loss_difference));
}

TEST(no_pair_is_a_failure)
{
    struct setting setting;

    begin(&setting, 0);
    setting.scenario.expect[0] =
        (struct expectation){ METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 };
    assert_int_equal(give(&setting), VERDICT_FAILED);
    assert_true(setting.result.reason[0] != '\0');
}

/* Others can hide a time's change, but no count, and what shows nevertheless is reproduced. */
TEST(what_others_may_hide_is_undecided)
{
    static const struct {
        double before, others, stolen;
        bool exact;
        enum verdict verdict;
    } cases[] = {
        { 115, 0.1, 0.1, false, VERDICT_NOT_REPRODUCED },
        { 115, 0.3, 0, false, VERDICT_UNDECIDED },
        { 115, 0, 0.3, false, VERDICT_UNDECIDED },
        { 115, 0.3, 0, true, VERDICT_NOT_REPRODUCED },
        { 115, NAN, NAN, false, VERDICT_NOT_REPRODUCED },
        { 150, 0.3, 0, false, VERDICT_REPRODUCED },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setting setting;
        begin(&setting, PAIRS);
        setting.scenario.expect[0] =
            (struct expectation){ METRIC_STEP_TIME, SHRINKS, .at_least = 1.25,
                                  .exact = cases[i].exact };
        setting.result.cpu_loss = (struct cpu_loss){ cases[i].others, cases[i].stolen, 2 };
        set(&setting, VARIANT_BEFORE, METRIC_STEP_TIME, cases[i].before, NULL);
        assert_int_equal(give(&setting), cases[i].verdict);
        if (cases[i].verdict == VERDICT_UNDECIDED) {
            assert_non_null(strstr(setting.result.reason, "step_time: 1.15x faster ("));
            assert_non_null(strstr(setting.result.reason, "0.30 of 2 cores meanwhile"));
            assert_true(strstr(setting.result.reason, "meanwhile") <
                        strstr(setting.result.reason, "step_time: "));
        }
    }
}

/* A balance that was measured beside others says nothing of the machine: they come before it. */
TEST(what_is_skipped_or_takes_long_beside_others_is_undecided)
{
    static const struct {
        double others;
        bool measured;
        enum verdict given, verdict;
    } cases[] = { { 1.7, true, VERDICT_SKIPPED, VERDICT_UNDECIDED },
                  { 0.1, true, VERDICT_SKIPPED, VERDICT_SKIPPED },
                  { NAN, true, VERDICT_SKIPPED, VERDICT_SKIPPED },
                  { 1.7, false, VERDICT_SKIPPED, VERDICT_SKIPPED },
                  { 1.7, false, VERDICT_FAILED, VERDICT_UNDECIDED },
                  { 0.1, false, VERDICT_FAILED, VERDICT_FAILED } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scenario_result result = { .verdict = cases[i].given,
                                          .reason = "no size comes nearer",
                                          .cpu_loss = { cases[i].others, 0, 2 } };
        if (cases[i].measured)
            strcpy(result.settings[VARIANT_BEFORE], "loss_every=1");
        verdict_blame_others(&result);
        assert_int_equal(result.verdict, cases[i].verdict);
        assert_non_null(strstr(result.reason, "no size comes nearer"));
        if (cases[i].verdict == VERDICT_UNDECIDED)
            assert_ptr_equal(strstr(result.reason, "other programs used 1.70 of 2 cores"),
                             result.reason);
    }
}

/* A quota stops threads in the middle of a window, as others do. */
TEST(a_quota_is_named_when_nothing_is_decided)
{
    static const struct {
        double before, quota;
        enum verdict verdict;
    } cases[] = { { 115, 0, VERDICT_NOT_REPRODUCED },
                  { 115, 1.5, VERDICT_UNDECIDED },
                  { 150, 1.5, VERDICT_REPRODUCED } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setting setting;
        bool named;
        begin(&setting, PAIRS);
        setting.scenario.expect[0] =
            (struct expectation){ METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 };
        setting.result.cpu_quota = cases[i].quota;
        set(&setting, VARIANT_BEFORE, METRIC_STEP_TIME, cases[i].before, NULL);
        assert_int_equal(give(&setting), cases[i].verdict);
        named = strstr(setting.result.reason, "quota of 1.5 cores") != NULL;
        assert_int_equal(named, cases[i].verdict == VERDICT_UNDECIDED);
    }
}

TEST(the_worst_count_of_damaged_samples_is_kept)
{
    struct setting setting;

    begin(&setting, PAIRS);
    setting.repetitions[VARIANT_AFTER][3].damaged_samples = 4;
    setting.repetitions[VARIANT_BEFORE][2].damaged_samples = 3;
    give(&setting);
    assert_int_equal(setting.result.damaged_samples, 4);
}

TEST(names_are_those_of_the_result_files)
{
    assert_string_equal(verdict_name(VERDICT_NOT_REPRODUCED), "not reproduced");
    assert_string_equal(verdict_name(VERDICT_NO_DIFFERENCE), "no difference");
    assert_string_equal(verdict_name(VERDICT_DIFFERENT), "different");
    assert_string_equal(verdict_name(VERDICT_FAILED), "failed");
    assert_string_equal(verdict_name(VERDICT_COUNT), "unknown");
    assert_string_equal(outcome_name(OUTCOME_NOT_BOUND), "not bound");
    assert_string_equal(outcome_name((enum outcome)17), "unknown");
}
