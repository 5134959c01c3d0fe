/* The text that people read: wrapped lines, the console's table and the Markdown one. */
#include "harness/lab/result/result_summary.h"
#include "harness/lab/result/utilisation.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/lab/result/result_fixture.h"

#include <math.h>

/* Set anew for each test: item_sync, reproduced, and a second one that was skipped; and what was
 * printed last. */
static struct scenario_result results[2], *const result = results;
static char *text;

static int begin(void **state)
{
    fixture_reproduced(&results[0], 9);
    fixture_skipped(&results[1]);
    return 0;
}

static int end(void **state)
{
    free(text);
    text = NULL;
    fixture_release(result);
    return 0;
}

/* The test is about another result than that of begin(). */
static void take(void (*fixture)(struct scenario_result *result, int pairs))
{
    fixture_release(result);
    fixture(result, 9);
}

static void print_in(struct page page, int columns, int count)
{
    size_t size = 0;
    FILE *stream;

    free(text);
    stream = open_memstream(&text, &size);
    assert_non_null(stream);
    page.console.stream = stream;
    page.console.width = page.console.room = columns;
    run_table(&page, results, count);
    fclose(stream);
}

static void print_table(enum color color)
{
    print_in(page_console(stdout, color), 80, 1);
}

static void assert_said(const char *piece)
{
    if (strstr(text, piece) == NULL)
        fail_msg("\"%s\" is not in: %s", piece, text);
}

static void assert_not_said(const char *piece)
{
    if (strstr(text, piece) != NULL)
        fail_msg("\"%s\" is in: %s", piece, text);
}

TEST(the_table_says_what_changed_by_how_much_and_the_verdict)
{
    print_in(page_console(stdout, COLOR_NEVER), 80, 2);
    assert_said("item_sync  loss_every 1 -> 20");
    assert_said("reproduced\n");
    assert_said("1.50 ms");
    assert_said("1.50x faster");
    assert_said("95% interval");
    assert_said("1.49 to 1.50");
    assert_said("none left");
    assert_said("outside 0.4 to 0.8");
    assert_said("2 scenarios: 1 reproduced, 1 skipped\n");
    assert_not_said("Expectations not met");
    assert_null(strchr(text, '\033'));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 80);
}

/* The fixture's metrics are their own numbers. */
TEST(utilisation_is_said_as_far_as_it_was_measured)
{
    struct utilisation before;

    print_table(COLOR_NEVER);
    assert_not_said("busy");
    assert_not_said("MFU");
    for (int v = 0; v < VARIANT_COUNT; v++) {
        result->protocol.ceilings[v] =
            (struct ceilings){ METRIC_MODEL_FLOPS_PER_SECOND * 4.0 / (v + 1),
                               METRIC_OP_BYTES_PER_SECOND * 2.0 };
        result->diagnoses[v] = (struct variant_diagnosis){ .made = true, .busy_share = 0.43 };
    }
    result->diagnoses[VARIANT_AFTER].made = false;
    before = utilisation_of(result, VARIANT_BEFORE);
    assert_float_equal(before.mfu, 0.25, 1e-9);
    assert_float_equal(before.bandwidth_share, 0.5, 1e-9);
    assert_float_equal(before.busy_share, 0.43, 1e-9);
    assert_true(isnan(utilisation_of(result, VARIANT_AFTER).busy_share));
    print_table(COLOR_NEVER);
    assert_said("device busy 43% -> -, MFU 25% -> 50%\n");
}

/* The fixture's loop reports METRIC_REPORTED_STEP_TIME us. */
TEST(a_reported_step_above_the_peak_is_faster_than_the_hardware)
{
    const double reported = METRIC_MODEL_FLOPS_PER_STEP / (METRIC_REPORTED_STEP_TIME / 1e6);
    char said[UTILISATION_TOO_FAST];

    assert_false(utilisation_too_fast(said, result)); /* no peak is known */
    for (int v = 0; v < VARIANT_COUNT; v++)
        result->protocol.ceilings[v].flops_per_second = reported * 1.01;
    assert_false(utilisation_too_fast(said, result));
    result->protocol.ceilings[VARIANT_AFTER].flops_per_second = reported / 40;
    assert_true(utilisation_too_fast(said, result));
    assert_non_null(strstr(said, " after the fix by the loop's own timer: 40 times the peak"));
    print_table(COLOR_NEVER);
    assert_said("own timer: 40 times");
    for (int i = 0; i < result->pairs; i++)
        result->repetitions[VARIANT_AFTER][i].metric[METRIC_REPORTED_STEP_TIME] = NAN;
    assert_false(utilisation_too_fast(said, result));
}

/* A step is not faster than the largest product, so the peak is wrong, for both who are held
 * against it. */
TEST(a_share_above_the_peak_is_doubtful)
{
    const char *reason = "MFU is doubtful: a step computed at 1.25 times the peak, so the device";
    struct utilisation before;

    for (int v = 0; v < VARIANT_COUNT; v++)
        result->protocol.ceilings[v] =
            (struct ceilings){ METRIC_MODEL_FLOPS_PER_SECOND * (v == 0 ? 2.0 : 0.8), 1 };
    before = utilisation_of(result, VARIANT_BEFORE);
    assert_float_equal(before.mfu, 0.5, 1e-9);
    assert_true(isnan(utilisation_of(result, VARIANT_AFTER).mfu));
    print_table(COLOR_NEVER);
    assert_said("MFU doubtful\n");
    assert_said(reason);
    result->protocol.ceilings[VARIANT_BEFORE] = result->protocol.ceilings[VARIANT_AFTER];
    for (int i = 0; i < result->pairs; i++)
        result->repetitions[VARIANT_BEFORE][i].metric[METRIC_MODEL_FLOPS_PER_SECOND] /= 2;
    assert_true(isnan(utilisation_of(result, VARIANT_BEFORE).mfu));
    print_table(COLOR_NEVER);
    assert_said("MFU doubtful\n");
    assert_said(reason);
    assert_not_said("125%");
}

TEST(throttled_windows_are_named_on_the_console_and_in_markdown)
{
    const char *sentence = "2 of 18 windows were throttled (power, thermal); they still count";
    char line[128];

    assert_false(summary_throttled(line, sizeof line, result));
    result->repetitions[VARIANT_BEFORE][3].vitals[1].limits = LIMIT_POWER;
    result->repetitions[VARIANT_AFTER][0].vitals[0].limits = LIMIT_THERMAL;
    print_table(COLOR_NEVER);
    assert_said(sentence);
    print_in(page_markdown(stdout), 80, 1);
    assert_said(sentence);
}

TEST(what_others_took_is_said_from_a_tenth_of_the_cores_on)
{
    static const struct {
        struct cpu_loss loss;
        const char *sentence; /* NULL: none */
    } cases[] = {
        { { 0.15, 0, 2 }, NULL },
        { { 0.25, 0, 2 }, "other programs used 0.25 of 2 cores during the measurement" },
        { { 0.25, 0.25, 16 }, NULL },
        { { 0, 0.3, 2 }, "the virtual machine's host kept 0.30 of 2 cores during the measurement" },
        { { NAN, NAN, 2 }, NULL },
    };

    take(fixture_not_reproduced);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        result->cpu_loss = cases[i].loss;
        print_table(COLOR_NEVER);
        if (cases[i].sentence != NULL)
            assert_said(cases[i].sentence);
        else
            assert_not_said("during the measurement");
    }
}

TEST(what_was_promised_and_not_seen_is_said_at_the_end)
{
    take(fixture_not_reproduced);
    print_table(COLOR_NEVER);
    assert_said("not met\n");
    assert_said("Expectations not met");
    assert_said("item_sync: step_time: 1.10x faster (1.05 to 1.15)");
    assert_not_said("use a quieter");
    /* While others use the cores, the same is no miss. */
    result->verdict = VERDICT_UNDECIDED;
    result->cpu_loss = (struct cpu_loss){ .others = 1.6, .stolen = 0, .cores = 2 };
    print_table(COLOR_NEVER);
    assert_not_said("not met");
    assert_said("not counted\n");
    assert_said("Too noisy to tell");
    assert_said("which can hide it: use a quieter");
}

/* Too few pairs make the longest interval, and an outcome stands at the end of the row. */
TEST(no_row_is_wider_than_the_terminal)
{
    take(fixture_not_reproduced);
    result->expectations[0].outcome = OUTCOME_UNDECIDED;
    result->expectations[0].effect = (struct effect){ 1100, 1000, 12.5, 10.25, 1250, 0.75 };
    for (int columns = 60; columns <= 120; columns += 20) {
        print_in(page_console(stdout, COLOR_NEVER), columns, 1);
        assert_said("down 12.5x");
        assert_said("all 10.2 to 1250");
        assert_said("undecided\n");
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
            assert_in_range(strlen(line), 1, columns);
    }
}

TEST(the_sides_of_an_aa_comparison_are_not_called_before_and_after)
{
    take(fixture_aa);
    print_table(COLOR_ALWAYS);
    assert_said("accumulate 64 -> 64 (A/A)");
    assert_said("side 1");
    assert_not_said("before");
    assert_said("\033[32mno difference\033[0m");
    assert_said("1 scenario: 1 no difference");
    assert_not_said("Not the same");

    result->verdict = VERDICT_DIFFERENT;
    strcpy(result->reason, "a false alarm");
    print_table(COLOR_ALWAYS);
    assert_said("\033[31mdifferent\033[0m");
    assert_said("Not the same");
    assert_said("small_batch: a false alarm");

    print_in(page_markdown(stdout), 80, 1);
    assert_said(" side 1 | side 2 |");
    assert_said("- **small_batch**: a false alarm");
}

TEST(a_trace_that_could_not_be_written_is_said_with_its_reason)
{
    print_table(COLOR_NEVER);
    assert_not_said("no trace");
    strcpy(result->tracing[VARIANT_AFTER].reason, "tracing: cannot write it: the disk is full");
    print_table(COLOR_NEVER);
    assert_said("no trace after the fix: tracing: cannot write it: the disk is full");
    assert_not_said("no trace before");
}

TEST(colours_only_where_asked_for)
{
    print_table(COLOR_ALWAYS);
    assert_said("\033[32mreproduced\033[0m");
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    assert_false(console_is_coloured(COLOR_AUTO, stdout));
    assert_true(console_is_coloured(COLOR_ALWAYS, stdout));
    assert_false(console_is_coloured(COLOR_NEVER, stdout));
}

TEST(markdown_has_as_many_cells_in_every_row)
{
    int rows = 0;

    print_in(page_markdown(stdout), 80, 2);
    assert_said("### item_sync: loss_every 1 -> 20: reproduced\n");
    assert_said(": skipped\n\ndevice over host work is 0.2");
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        int bars = 0;
        if (line[0] != '|')
            continue;
        for (const char *letter = line; *letter != '\0'; letter++) bars += *letter == '|';
        assert_int_equal(bars, 7);
        rows++;
    }
    assert_int_equal(rows, 2 + 2); /* heading and line, two measures */
}

/* A change the other way is said as such, whatever direction the expectation has. */
TEST(an_effect_below_one_is_said_the_other_way_round)
{
    struct summary_row rows[SUMMARY_ROWS];

    result->expectation_count = 0;
    result->step_time = (struct effect){ 1000, 1250, 0.8, 0.5, 0.9, 0.96 };
    assert_int_equal(summary_rows(result, rows), 1);
    assert_string_equal(rows[0].change.effect, "1.25x slower");
    assert_string_equal(rows[0].change.interval, "1.11 to 2.00");
    result->step_time = (struct effect){ NAN, NAN, NAN, NAN, NAN, NAN };
    assert_int_equal(summary_rows(result, rows), 1);
    assert_string_equal(rows[0].change.effect, "not measured");
}

TEST(what_should_grow_is_said_to_go_up)
{
    static const struct expectation grows = { .metric = METRIC_SAMPLES_PER_SECOND,
                                              .direction = GROWS,
                                              .at_least = 1.5 };
    struct summary_row rows[SUMMARY_ROWS];
    char words[128];

    result->expectation_count = 1;
    result->expectations[0] =
        (struct expectation_result){ .expectation = &grows,
                                     .effect = { 1000, 2000, 2, 1.9, 2.1, 0.96 } };
    assert_int_equal(summary_rows(result, rows), 2);
    assert_string_equal(rows[1].change.effect, "up 2.00x");
    assert_string_equal(rows[1].change.interval, "1.90 to 2.10");
    result->expectations[0].effect = (struct effect){ 2000, 1000, 0.5, 0.4, 0.8, 0.96 };
    assert_int_equal(summary_rows(result, rows), 2);
    assert_string_equal(rows[1].change.effect, "down 2.00x");
    assert_string_equal(rows[1].change.interval, "1.25 to 2.50");
    summary_expectation(words, sizeof words, &grows);
    assert_string_equal(words, "items_per_second: up at least 1.5x");
}

TESTS_EACH(begin, end)
