/* Verdicts of a comparison on runs whose truth is known, and the files it reads. */
#include "harness/desk/compare/compared_row.h"
#include "harness/desk/compare/comparison_output.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>
#include <unistd.h>

/* cmocka's own compares floats. */
static void assert_near(double value, double expected, double limit)
{
    if (!(fabs(value - expected) <= limit))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* --- Verdicts --- */

enum { RUNS = 3, REPETITIONS = 5 };

/* One run: repetitions around `median` that vary by `spread` of it. */
struct run {
    double values[REPETITIONS];
    struct benchmark_row row;
};

static const struct benchmark_row *run_of(struct run *run, double median, double spread)
{
    static const double steps[REPETITIONS] = { -1.2, 0.5, 0, -0.5, 1.2 };
    double squares = 0;

    for (int i = 0; i < REPETITIONS; i++) {
        run->values[i] = median * (1 + spread * steps[i]);
        squares += steps[i] * steps[i] / (REPETITIONS - 1);
    }
    run->row = (struct benchmark_row){ .values = run->values,
                                       .count = REPETITIONS,
                                       .median = median,
                                       .deviation = spread * sqrt(squares),
                                       .repetitions = REPETITIONS };
    return &run->row;
}

static const struct compare_rule usual = { .metric = "real_time", .threshold = 0.05, .noise = NAN };

static struct compared_row compared(const double *base, int base_count, const double *after,
                                    int after_count, double spread, const struct compare_rule *rule)
{
    static struct run runs[SIDES][RUNS];
    const struct benchmark_row *rows[SIDES][RUNS];
    struct compared_row row = { .name = "row" };

    for (int i = 0; i < base_count; i++) rows[0][i] = run_of(&runs[0][i], base[i], spread);
    for (int i = 0; i < after_count; i++) rows[1][i] = run_of(&runs[1][i], after[i], spread);
    assert_ok(compare_runs(&row, rows[0], base_count, rows[1], after_count, NULL, rule));
    return row;
}

TEST(verdicts_of_three_runs_a_side)
{
    static const struct {
        double base[RUNS], after[RUNS];
        enum compare_verdict verdict;
    } cases[] = {
        { { 100, 101, 100 }, { 110, 111, 110 }, COMPARE_SLOWER },
        { { 110, 111, 110 }, { 100, 101, 100 }, COMPARE_FASTER },
        { { 100, 101, 100 }, { 101, 100, 101 }, COMPARE_SAME },
        { { 100, 101, 100 }, { 103, 104, 103 }, COMPARE_SAME },      /* below the threshold */
        { { 100, 101, 100 }, { 106, 105, 104 }, COMPARE_UNDECIDED }, /* at it */
        { { 100, 120, 90 }, { 110, 125, 100 }, COMPARE_UNDECIDED },  /* drowned */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct compared_row row =
            compared(cases[i].base, RUNS, cases[i].after, RUNS, 0.003, &usual);
        assert_int_equal(row.verdict, cases[i].verdict);
        assert_int_equal(row.noise, NOISE_RUNS);
        assert_true(row.low < row.change && row.change < row.high);
        assert_int_equal(row.reason[0] != '\0', row.verdict == COMPARE_UNDECIDED);
    }
}

/* By hand: medians 100, 102, 104 and 110, 112, 114; t for 4 degrees of freedom is 2.776. */
TEST(the_interval_is_students_of_the_logarithms)
{
    static const double base[] = { 100, 102, 104 }, after[] = { 110, 112, 114 };
    struct compared_row row = compared(base, 3, after, 3, 0.0001, &usual);
    double mean[2] = { 0, 0 }, squares = 0, deviation, margin;

    for (int i = 0; i < 3; i++) {
        mean[0] += log(base[i]) / 3;
        mean[1] += log(after[i]) / 3;
    }
    for (int i = 0; i < 3; i++)
        squares += pow(log(base[i]) - mean[0], 2) + pow(log(after[i]) - mean[1], 2);
    deviation = sqrt(squares / 4);
    margin = 2.7764451 * deviation * sqrt(2.0 / 3);
    assert_near(row.change, exp(mean[1] - mean[0]) - 1, 1e-12);
    assert_near(row.between, deviation, 1e-12);
    assert_near(row.low, exp(mean[1] - mean[0] - margin) - 1, 1e-7);
    assert_near(row.high, exp(mean[1] - mean[0] + margin) - 1, 1e-7);
}

/* Three runs per side that vary by 3%: t for 4 degrees of freedom is 4.6 at one in 100 and 5.2 at
 * 0.65 in 100. */
TEST(noise_alone_is_called_in_fewer_than_one_comparison_of_a_hundred)
{
    static const double steps[RUNS] = { -0.03, 0, 0.03 };

    for (int called = 0; called < 2; called++) {
        double base[RUNS], after[RUNS], change = (called ? 5.2 : 4.4) * 0.03 * sqrt(2 / 3.0);
        for (int i = 0; i < RUNS; i++) {
            base[i] = 100 * exp(steps[i]);
            after[i] = 100 * exp(steps[i] + change);
        }
        assert_int_equal(compared(base, RUNS, after, RUNS, 0.0001, &usual).verdict,
                         called ? COMPARE_SLOWER : COMPARE_UNDECIDED);
        assert_int_equal(compared(after, RUNS, base, RUNS, 0.0001, &usual).verdict,
                         called ? COMPARE_FASTER : COMPARE_UNDECIDED);
    }
}

/* However alike the repetitions are: they are of one run. */
TEST(one_file_per_side_decides_nothing)
{
    static const double base = 100, after = 300;
    struct compared_row row = compared(&base, 1, &after, 1, 0.0005, &usual);

    assert_int_equal(row.noise, NOISE_UNKNOWN);
    assert_int_equal(row.verdict, COMPARE_UNDECIDED);
    assert_true(isnan(row.low) && isnan(row.between) && row.within > 0);
    assert_non_null(strstr(row.reason, "one file per side shows no run-to-run noise"));
    assert_int_equal(compared(&base, 1, &base, 1, 0.0005, &usual).verdict, COMPARE_UNDECIDED);
}

TEST(counts_without_any_noise_are_compared_in_one_file_per_side)
{
    static const double base = 100, after = 106, near = 104;
    struct compare_rule rule = usual;

    rule.metric = "launches_per_step";
    assert_int_equal(compared(&base, 1, &after, 1, 0, &rule).verdict, COMPARE_SLOWER);
    assert_int_equal(compared(&after, 1, &base, 1, 0, &rule).verdict, COMPARE_FASTER);
    assert_int_equal(compared(&base, 1, &near, 1, 0, &rule).verdict, COMPARE_SAME);
    assert_int_equal(compared(&base, 1, &base, 1, 0, &rule).verdict, COMPARE_SAME);
}

/* Coarse timers and files with few digits repeat a time, too. */
TEST(equal_times_are_rounded_and_not_exact)
{
    static const double base = 10, after = 11;
    static const char *const times[] = { "real_time", "cpu_time" };

    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        struct compare_rule rule = usual;
        struct compared_row row;
        rule.metric = times[i];
        row = compared(&base, 1, &after, 1, 0, &rule);
        assert_int_equal(row.verdict, COMPARE_UNDECIDED);
        assert_int_equal(row.noise, NOISE_UNKNOWN);
    }
}

TEST(noise_that_is_stated_is_the_least)
{
    static const double base[] = { 100, 100.2, 100.1 }, after[] = { 108, 108.2, 108.1 };
    struct compare_rule rule = usual;
    struct compared_row row;

    rule.noise = 0.001;
    assert_int_equal(compared(base, 1, after, 1, 0.0001, &rule).verdict, COMPARE_SLOWER);
    rule.noise = 0.03;
    row = compared(base, 1, after, 1, 0.001, &rule);
    assert_int_equal(row.verdict, COMPARE_UNDECIDED);
    assert_int_equal(row.noise, NOISE_STATED);
    assert_true(row.between == 0.03);
    assert_int_equal(compared(base, 3, after, 3, 0.001, &rule).verdict, COMPARE_SLOWER);
    rule.noise = 0.0001; /* less than is seen */
    row = compared(base, 1, after, 1, 0.05, &rule);
    assert_int_equal(row.noise, NOISE_REPETITIONS);
    assert_int_equal(row.verdict, COMPARE_UNDECIDED);
    assert_true(row.is_beyond);
    assert_non_null(strstr(row.reason, "more than is stated: these files show that runs vary by"));
}

/* The smallest of five that are drawn again from the same five is the i-th of them with the
 * probability that all five draws are from the i-th on, and not all from the next on. */
TEST(three_runs_that_agree_by_luck_keep_the_noise_of_their_repetitions)
{
    static const double base[] = { 100, 100, 100 }, after[] = { 107, 107, 107 };
    static const double steps[REPETITIONS] = { -1.2, -0.5, 0, 0.5, 1.2 };
    struct compared_row row = compared(base, 3, after, 3, 0.1, &usual);
    double mean = 0, squares = 0;

    for (int i = 0; i < REPETITIONS; i++) {
        double chance = pow(1 - i / 5.0, 5) - pow(1 - (i + 1) / 5.0, 5);
        double value = log(1 + 0.1 * steps[i]);
        mean += chance * value;
        squares += chance * value * value;
    }
    assert_near(row.between, sqrt(squares - mean * mean), 1e-9);
    assert_int_equal(row.verdict, COMPARE_UNDECIDED);
}

/* The best of many repetitions is the same in all runs, and the others take longer in new. */
TEST(a_slower_common_case_is_seen_where_the_best_stays)
{
    enum { MANY = 45, BEST = 9 };
    double values[SIDES][RUNS][MANY];
    struct benchmark_row runs[SIDES][RUNS];
    const struct benchmark_row *rows[SIDES][RUNS];
    struct compared_row row = { .name = "row" };

    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < RUNS; i++) {
            for (int j = 0; j < MANY; j++)
                values[side][i][j] = 100 + 0.1 * i + (j >= BEST ? 20 * side : 0) + 0.01 * j;
            runs[side][i] = (struct benchmark_row){ .values = values[side][i],
                                                    .count = MANY,
                                                    .median = values[side][i][MANY / 2],
                                                    .deviation = 0.05,
                                                    .repetitions = MANY };
            rows[side][i] = &runs[side][i];
        }
    assert_ok(compare_runs(&row, rows[0], RUNS, rows[1], RUNS, NULL, &usual));
    assert_int_equal(row.verdict, COMPARE_SLOWER);
    assert_int_equal(row.place, PLACE_MIDDLE);
    assert_near(row.change, 120.32 / 100.32 - 1, 1e-5);
    assert_non_null(strstr(row.reason, "the best of them by +0.0% (same)"));
}

/* The best of repetitions that vary by 58% is known within 25%, which counts in place of what is
 * stated. */
TEST(repetitions_that_vary_by_more_than_is_stated_count_in_its_place)
{
    static const double base = 100, after = 160, far = 10000;
    struct compare_rule rule = usual;
    struct compared_row row;

    rule.noise = 0.03;
    assert_int_equal(compared(&base, 1, &after, 1, 0.001, &rule).verdict, COMPARE_SLOWER);
    row = compared(&base, 1, &after, 1, 0.5, &rule);
    assert_int_equal(row.verdict, COMPARE_UNDECIDED);
    assert_true(row.is_beyond && row.between > 0.1);
    assert_non_null(strstr(row.reason, "more than is stated"));
    assert_int_equal(compared(&base, 1, &far, 1, 0.5, &rule).verdict, COMPARE_SLOWER);
}

/* 15% at a stated noise of 3%: a row alone is called, and one of a thousand may be one in a
 * thousand. */
TEST(rows_share_the_chance_of_a_stated_noise)
{
    static const double base = 100, after = 115;
    struct compare_rule rule = usual;

    rule.noise = 0.03;
    rule.rows = 1;
    assert_int_equal(compared(&base, 1, &after, 1, 0.001, &rule).verdict, COMPARE_SLOWER);
    rule.rows = 1000;
    assert_int_equal(compared(&base, 1, &after, 1, 0.001, &rule).verdict, COMPARE_UNDECIDED);
}

TEST(nothing_is_decided_where_nothing_tells_the_noise)
{
    double value = 100, other = 200;
    struct benchmark_row base = {
        .values = &value, .count = 1, .median = 100, .deviation = NAN, .repetitions = 1
    };
    struct benchmark_row after = {
        .values = &other, .count = 1, .median = 200, .deviation = NAN, .repetitions = 1
    };
    const struct benchmark_row *bases = &base, *afters = &after;
    struct compared_row row = { .name = "row" };
    struct compare_rule rule = usual;

    assert_ok(compare_runs(&row, &bases, 1, &afters, 1, NULL, &usual));
    assert_int_equal(row.verdict, COMPARE_UNDECIDED);
    assert_true(isnan(row.low));
    assert_near(row.change, 1, 1e-12);
    rule.noise = 0.03;
    assert_ok(compare_runs(&row, &bases, 1, &afters, 1, NULL, &rule));
    assert_int_equal(row.verdict, COMPARE_SLOWER);
}

/* The least change that would show has up to 300 digits, more than the reason has room for. */
TEST(a_reason_stays_within_its_buffer_however_much_the_runs_differ)
{
    static const char zeros[sizeof((struct compared_row *)NULL)->because];
    int cut = 0;

    for (int digits = 40; digits < 80; digits++) {
        const double runs[] = { pow(10, -digits), 1, pow(10, digits) };
        struct compared_row row = compared(runs, 3, runs, 3, 0.003, &usual);
        const char *end = strstr(row.reason, "per side");
        assert_int_equal(row.verdict, COMPARE_UNDECIDED);
        assert_memory_equal(row.because, zeros, sizeof zeros); /* what lies behind it */
        if (end == NULL) {
            assert_true(strlen(row.reason) < sizeof row.reason);
            assert_string_equal(row.reason + strlen(row.reason) - 3, "...");
            cut++;
        }
    }
    assert_in_range(cut, 1, 39);
}

TEST(better_is_larger_for_rates_and_where_it_is_said)
{
    static const double base[] = { 100, 101, 100 }, after[] = { 110, 111, 110 };
    struct compare_rule rule = usual;

    rule.metric = "bytes_per_second";
    assert_int_equal(compared(base, 3, after, 3, 0.003, &rule).verdict, COMPARE_FASTER);
    rule.better = BETTER_SMALLER;
    assert_int_equal(compared(base, 3, after, 3, 0.003, &rule).verdict, COMPARE_SLOWER);
    rule = usual;
    rule.better = BETTER_LARGER;
    assert_int_equal(compared(after, 3, base, 3, 0.003, &rule).verdict, COMPARE_SLOWER);
}

/* +10% of a counter whose name says nothing: the same rows are called as soon as the caller says
 * it. */
TEST(a_counter_whose_better_way_is_not_known_decides_nothing)
{
    static const double base[] = { 100, 101, 100 }, after[] = { 110, 111, 110 },
                        none[] = { 0, 0, 0 };
    static const char *const silent[] = { "Throughput", "ops",       "ipc", "bytes_per_cycle",
                                          "score",      "miss_rate", "x",   "memory_bandwidth" };

    for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
        struct compare_rule rule = usual;
        struct compared_row row;
        rule.metric = silent[i];
        for (int turn = 0; turn < 3; turn++) {
            row = turn == 0   ? compared(base, 3, after, 3, 0.003, &rule)
                  : turn == 1 ? compared(after, 3, base, 3, 0.003, &rule)
                              : compared(base, 3, none, 3, 0, &rule);
            assert_int_equal(row.verdict, COMPARE_UNDECIDED);
            assert_true(row.lacks_better);
            assert_non_null(strstr(row.reason, "give --better"));
        }
        row = compared(base, 3, base, 3, 0.003, &rule);
        assert_int_equal(row.verdict, COMPARE_SAME);
        assert_false(row.lacks_better);
        rule.better = BETTER_LARGER;
        row = compared(after, 3, base, 3, 0.003, &rule);
        assert_int_equal(row.verdict, COMPARE_SLOWER);
        assert_false(row.lacks_better);
    }
}

TEST(names_of_metrics_say_which_way_is_better)
{
    static const struct {
        const char *name;
        enum metric_says says;
    } cases[] = {
        { "real_time", METRIC_IS_COST },
        { "bytes_per_second", METRIC_IS_RATE },
        { "_per_second", METRIC_SAYS_NOTHING },
        { "memory_peak_bytes", METRIC_IS_COST },
        { "launches_per_step", METRIC_IS_COST },
        { "allocs_per_iter", METRIC_IS_COST },
        { "CYCLES", METRIC_IS_COST },
        { "CacheMisses", METRIC_IS_COST },
        { "p99LatencyMs", METRIC_IS_COST },
        { "us_per_call", METRIC_IS_COST },
        { "instructions_per_cycle", METRIC_SAYS_NOTHING },
        { "bank_conflicts", METRIC_IS_COST },
        { "needless_barriers", METRIC_IS_COST },
        { "sectors_per_load", METRIC_SAYS_NOTHING },
        { "bytes_in_flight", METRIC_SAYS_NOTHING },
        { "bytes/s", METRIC_SAYS_NOTHING },
        { "samples", METRIC_SAYS_NOTHING },
        { "timely", METRIC_SAYS_NOTHING },
        { "", METRIC_SAYS_NOTHING },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (metric_name_says(cases[i].name) != cases[i].says)
            fail_msg("%s", cases[i].name);
}

TEST(counters_of_zero_have_no_factor)
{
    static const double none[] = { 0, 0, 0 }, some[] = { 5, 6, 5 }, mixed[] = { 0, 5, 6 };
    struct compare_rule rule = usual;

    rule.metric = "bytes_leaked";
    assert_int_equal(compared(none, 3, none, 3, 0, &rule).verdict, COMPARE_SAME);
    assert_int_equal(compared(none, 3, some, 3, 0.01, &rule).verdict, COMPARE_SLOWER);
    assert_int_equal(compared(some, 3, none, 3, 0.01, &rule).verdict, COMPARE_FASTER);
    assert_int_equal(compared(some, 3, mixed, 3, 0.01, &rule).verdict, COMPARE_UNDECIDED);
}

/* --- Files --- */

static char folder[] = "/tmp/chokepoint-test-XXXXXX";

static const char *file_with(const char *name, const char *text)
{
    static char paths[2][128];
    static int turn;
    char *path = paths[turn++ % 2];
    FILE *file;

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static int make_folder(void **state)
{
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

TEST(files_of_google_benchmark_are_read)
{
    struct benchmark_file file;
    const struct benchmark_row *row;
    char text[200];

    assert_ok(benchmark_file_read(&file, DATA "/google_benchmark_171_a.json", "real_time"));
    row = benchmark_file_row(&file, "BM_sum");
    assert_non_null(row);
    assert_int_equal(row->count, 5);
    assert_near(row->values[0], 2.8229076240284089, 1e-12); /* 2822.9 ns */
    row = benchmark_file_row(&file, "BM_fails");
    assert_non_null(row);
    assert_int_equal(row->lost, 5);
    assert_string_equal(row->reason, "failed: the \"device\" is gone");
    assert_true(isnan(row->median));
    assert_int_equal(file.count, 6); /* and no row for BigO and RMS */
    benchmark_file_context(&file, "num_cpus", text, sizeof text);
    assert_string_equal(text, "2");
    benchmark_file_release(&file);

    assert_ok(benchmark_file_read(&file, DATA "/google_benchmark_171_a.json", "no_number"));
    row = benchmark_file_row(&file, "BM_sum");
    assert_int_equal(row->lost, 5); /* NaN is none */
    benchmark_file_release(&file);
}

TEST(a_file_of_aggregates_gives_the_median_and_the_noise_that_it_states)
{
    struct benchmark_file file;
    const struct benchmark_row *row;

    assert_ok(
        benchmark_file_read(&file, DATA "/google_benchmark_171_aggregates.json", "real_time"));
    row = benchmark_file_row(&file, "BM_sum");
    assert_non_null(row);
    assert_int_equal(row->count, 0);
    assert_int_equal(row->repetitions, 5);
    assert_true(row->median > 1 && row->median < 10);
    assert_true(row->deviation > 0 && row->deviation < 0.5);
    benchmark_file_release(&file);
}

TEST(old_files_tell_aggregates_by_their_names)
{
    static const char text[] =
        "{\"context\": {\"num_cpus\": 4}, \"benchmarks\": ["
        "{\"name\": \"BM_x\", \"iterations\": 9, \"real_time\": 2, \"cpu_time\": 2, \"time_unit\": "
        "\"ms\"},"
        "{\"name\": \"BM_x\", \"iterations\": 9, \"real_time\": 4, \"cpu_time\": 4, \"time_unit\": "
        "\"ms\"},"
        "{\"name\": \"BM_x_mean\", \"iterations\": 9, \"real_time\": 99, \"cpu_time\": 99, "
        "\"time_unit\": \"ms\"},"
        "{\"name\": \"BM_x\", \"real_time\": 0, \"time_unit\": \"ms\"},"
        "{\"name\": \"BM_x\", \"real_time\": -nan, \"time_unit\": \"ms\"},"
        "{\"name\": \"a_mean\", \"run_name\": \"a_mean\", \"run_type\": \"iteration\", "
        "\"real_time\": 1, \"time_unit\": \"us\", \"label\": \"NaN, \\\"inf\\\"\"}]}";
    struct benchmark_file file;
    const struct benchmark_row *row;

    assert_ok(benchmark_file_read(&file, file_with("old.json", text), "real_time"));
    assert_int_equal(file.count, 2);
    row = benchmark_file_row(&file, "BM_x");
    assert_int_equal(row->count, 2);
    assert_true(row->median == 3000);
    assert_int_equal(row->lost, 2);
    assert_string_equal(row->reason, "took no time");
    assert_non_null(benchmark_file_row(&file, "a_mean"));
    assert_null(benchmark_file_row(&file, "BM_x_mean"));
    benchmark_file_release(&file);
}

TEST(what_is_no_such_file_is_said_with_its_name)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "{\"benchmarks\": [\n{\"name\": 1,,}]}", "is not JSON from line 2 on" },
        { "", "is not JSON from line 1 on" },
        { "{\"traceEvents\": []}", "is a trace: give two to compare --explain" },
        { "{\"events\": []}", "it has no array \"benchmarks\"" },
        { "PK\3\4more", "is a zip archive: unpack it" },
        { "\x28\xb5\x2f\xfd more", "compressed by zstd: unpack it" },
        { "\x1f\x8b more", "compressed by gzip: unpack it" },
        { "\xff\xfe{", "UTF-16" },
        { "name,iterations,real_time", "is CSV: write JSON, --benchmark_out_format=json" },
        { "<!DOCTYPE html>", "HTML" },
        { "{\"benchmarks\": []}\n{\"benchmarks\": []}\n",
          "has several documents, the second from line 2 on: give each run as a file" },
        { "[{\"benchmarks\": []}, {\"benchmarks\": []}]", "several results in one array" },
        { "{\"ALL STATS\": {\"Latency\": -nan(ind)}}", "is memtier_benchmark's JSON" },
        { "{\"devices\": [], \"benchmarks\": [{\"name\": \"x\", \"states\": []}]}",
          "is nvbench's JSON" },
        { "{\"date\": \"\", \"row\": \"x\", \"metric\": \"real_time\"}", "is a history" },
        { "{\"benchmarks\": []} rest", "is not JSON from line 1 on" },
        { "[1]", "it has no array \"benchmarks\"" },
        { "{\"benchmarks\": [{\"real_time\": 1}]}", "has no name" },
        { "{\"benchmarks\": [3]}", "has no name" },
        { "{\"context\": {\"json_schema_version\": 2}, \"benchmarks\": []}",
          "json_schema_version" },
        { "{\"benchmarks\": [{\"name\": \"x\", \"real_time\": 1, \"time_unit\": \"fortnight\"}]}",
          "the time unit \"fortnight\"" },
    };
    struct benchmark_file file;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *path = file_with("bad.json", cases[i].text);
        assert_int_equal(benchmark_file_read(&file, path, "real_time"), STATUS_BAD_INPUT);
        assert_non_null(strstr(status_last()->text, cases[i].says));
        assert_non_null(strstr(status_last()->text, path));
    }
    assert_int_equal(benchmark_file_read(&file, "/nowhere/x.json", "real_time"), STATUS_IO);
}

TEST(other_tools_are_read)
{
    static const char hyperfine[] =
        "{\"results\": [{\"command\": \"sleep 0.1\", \"mean\": 0.2, \"times\": [0.1, 0.3, 0.2], "
        "\"exit_codes\": [0, 0, 1]}, {\"command\": \"true\", \"mean\": 0.5, \"median\": 0.4, "
        "\"stddev\": 0.1}]}";
    static const char pytest[] =
        "{\"machine_info\": {\"node\": \"n\", \"cpu\": {\"brand_raw\": \"Z80\", \"count\": 8, "
        "\"hz_advertised\": [2500000000, 0]}}, \"commit_info\": {\"id\": \"abc\"}, \"datetime\": "
        "\"2026-01-05T10:00:00.123456\", \"benchmarks\": [{\"name\": \"test_x\", \"fullname\": "
        "\"t.py::test_x\", \"stats\": {\"mean\": 0.002, \"median\": 0.001, \"stddev\": 0.0002, "
        "\"rounds\": 9}}, {\"name\": \"test_y\", \"stats\": {\"mean\": 9, \"data\": [1, 2]}}]}";
    struct benchmark_file file;
    const struct benchmark_row *row;
    char text[200];

    assert_ok(benchmark_file_read(&file, file_with("h.json", hyperfine), "real_time"));
    assert_int_equal(file.count, 2);
    row = benchmark_file_row(&file, "sleep 0.1");
    assert_int_equal(row->count, 2);
    assert_near(row->values[1], 300000, 1e-6);
    assert_int_equal(row->lost, 1);
    assert_string_equal(row->reason, "failed: exit code 1");
    assert_near(benchmark_file_row(&file, "true")->median, 400000, 1e-6);
    benchmark_file_release(&file);

    assert_ok(benchmark_file_read(&file, file_with("p.json", pytest), "real_time"));
    row = benchmark_file_row(&file, "t.py::test_x");
    assert_near(row->median, 1000, 1e-9);
    assert_int_equal(row->repetitions, 9);
    assert_int_equal(benchmark_file_row(&file, "test_y")->count, 2);
    compare_machine(&file, text, sizeof text);
    assert_string_equal(text, "8 CPUs, Z80, 2.5 GHz");
    benchmark_file_context(&file, "date", text, sizeof text);
    assert_string_equal(text, "2026-01-05T10:00:00+00:00");
    benchmark_file_release(&file);
}

TEST(files_without_a_value_say_what_they_have)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "{\"benchmarks\": [{\"name\": \"x_max\", \"run_type\": \"aggregate\", "
          "\"aggregate_name\": \"max\", \"real_time\": 1}]}",
          "none is a mean or a median (max); measure without" },
        { "{\"benchmarks\": []}", "the files have no rows" },
        { "{\"benchmarks\": [{\"name\": \"x\", \"cpu_time\": 1, \"hits\": 2}]}",
          "no row has a value of real_time; there are cpu_time, hits: give one" },
        { "{\"benchmarks\": [{\"name\": \"x\", \"real_time\": 1, \"error_occurred\": true, "
          "\"error_message\": \"boom\"}]}",
          "no row has a value of real_time; x, base and new: 1 of 1 failed: boom" },
        { "{\"benchmarks\": [{\"name\": \"x\"}]}", "the rows have no number at all" },
        { "{\"benchmarks\": [{\"name\": \"x\", \"cpu_time\": 1, \"\": 2}]}",
          "there are cpu_time: give one" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct comparison comparison;
        struct benchmark_file files[SIDES];
        const struct compare_files sides[SIDES] = { { files, 1 }, { files + 1, 1 } };
        for (int j = 0; j < SIDES; j++)
            assert_ok(
                benchmark_file_read(&files[j], file_with("none.json", cases[i].text), "real_time"));
        assert_int_equal(comparison_make(&comparison, sides, &usual, NULL, NULL), STATUS_BAD_USAGE);
        if (strstr(status_last()->text, cases[i].says) == NULL)
            fail_msg("%s", status_last()->text);
        for (int j = 0; j < SIDES; j++) benchmark_file_release(&files[j]);
    }
}

#define FILE_OF(device, clock, rows)                                                               \
    "{\"context\": {\"device_name\": \"" device "\", \"real_time_clock\": \"" clock                \
    "\"}, \"benchmarks\": [" rows "]}"
#define ROW(name, time)                                                                            \
    "{\"name\": \"" name "\", \"run_type\": \"iteration\", \"real_time\": " time                   \
    ", \"cpu_time\": 1, \"time_unit\": \"us\"}"

struct two_files {
    struct benchmark_file files[SIDES];
    struct compare_files sides[SIDES];
};

static void read_two(struct two_files *two, const char *base, const char *after)
{
    const char *texts[] = { base, after }, *names[] = { "base.json", "new.json" };

    for (int i = 0; i < SIDES; i++) {
        assert_ok(benchmark_file_read(&two->files[i], file_with(names[i], texts[i]), "real_time"));
        two->sides[i] = (struct compare_files){ &two->files[i], 1 };
    }
}

static void release_two(struct two_files *two)
{
    for (int i = 0; i < SIDES; i++) benchmark_file_release(&two->files[i]);
}

TEST(other_devices_and_clocks_are_refused)
{
    static const struct {
        const char *after, *says;
    } cases[] = {
        { FILE_OF("A", "host", ROW("x", "1")), NULL },
        { FILE_OF("", "host", ROW("x", "1")), NULL }, /* says nothing of its device */
        { FILE_OF("B", "host", ROW("x", "1")), "another device" },
        { FILE_OF("A", "events", ROW("x", "1")), "another clock" },
    };
    struct two_files two;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        read_two(&two, FILE_OF("A", "host", ROW("x", "1")), cases[i].after);
        assert_int_equal(compare_check(two.sides),
                         cases[i].says == NULL ? STATUS_OK : STATUS_BAD_INPUT);
        if (cases[i].says != NULL)
            assert_non_null(strstr(status_last()->text, cases[i].says));
        release_two(&two);
    }
}

TEST(other_environments_are_a_doubt)
{
#define SET(text)                                                                                  \
    "{\"context\": {\"environment\": \"" text "\"}, \"benchmarks\": [" ROW("x", "1") "]}"
    struct two_files two;
    char doubts[512];

    read_two(&two, SET("none"), SET("OMP_NUM_THREADS=1"));
    assert_ok(compare_check(two.sides));
    compare_doubts(two.sides, doubts, sizeof doubts);
    assert_non_null(strstr(doubts, "another environment"));
    assert_non_null(strstr(doubts, "OMP_NUM_THREADS=1"));
    release_two(&two);
    read_two(&two, SET("none"), SET("none"));
    compare_doubts(two.sides, doubts, sizeof doubts);
    assert_string_equal(doubts, "");
    release_two(&two);
}

/* One file per side with this inside its context, or two with `several`. */
TEST(other_machines_are_refused)
{
#define CACHE(size) "\"caches\": [{\"type\": \"Unified\", \"level\": 3, \"size\": " size "}]"
    static const struct {
        const char *base, *after, *says; /* NULL: they are compared */
        bool same_host, several;
    } cases[] = {
        { "\"mhz_per_cpu\": 3500", "\"mhz_per_cpu\": 3219", "its clock", false, false },
        { "\"mhz_per_cpu\": 3500", "\"mhz_per_cpu\": 3219", "its clock", false, true },
        { "\"mhz_per_cpu\": 3500", "\"mhz_per_cpu\": 3219", "its clock", true, true },
        { "\"mhz_per_cpu\": 3500", "\"mhz_per_cpu\": 3219", NULL, true, false },
        { "\"mhz_per_cpu\": 2596", "\"mhz_per_cpu\": 2600", NULL, false, true },
        { "\"mhz_per_cpu\": 3500", "\"cpu_model\": \"x\"", NULL, false, true },
        { CACHE("33554432"), CACHE("268435456"), "its caches", true, false },
        { CACHE("33554432"), CACHE("33554432"), NULL, false, false },
        { CACHE("33554432"), "\"caches\": []", NULL, false, false },
        { "\"cpu_model\": \"A\"", "\"cpu_model\": \"B\"", "another processor", true, false },
        { "\"num_cpus\": 8", "\"num_cpus\": 16", "number of processors", true, false },
        { "\"num_cpus\": 8", "\"num_cpus\": 8", NULL, false, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct benchmark_file files[4];
        const int count = cases[i].several ? 2 : 1;
        const struct compare_files sides[SIDES] = { { files, count }, { files + count, count } };
        char text[512], doubts[2048];
        for (int j = 0; j < 2 * count; j++) {
            snprintf(
                text, sizeof text,
                "{\"context\": {\"host_name\": \"h%d\", %s}, \"benchmarks\": [" ROW("x", "1") "]}",
                cases[i].same_host ? 0 : j, j < count ? cases[i].base : cases[i].after);
            assert_ok(benchmark_file_read(&files[j], file_with("m.json", text), "real_time"));
        }
        assert_int_equal(compare_check(sides),
                         cases[i].says == NULL ? STATUS_OK : STATUS_BAD_INPUT);
        if (cases[i].says != NULL) {
            assert_non_null(strstr(status_last()->text, cases[i].says));
            compare_doubts(sides, doubts, sizeof doubts);
            assert_non_null(strstr(doubts, cases[i].says));
        }
        for (int j = 0; j < 2 * count; j++) benchmark_file_release(&files[j]);
    }
}

/* One host whose clock is read as it is at the moment. */
TEST(a_clock_that_moves_tells_no_machine)
{
    static const int mhz[4] = { 2400, 3100, 3200, 2500 };
    struct benchmark_file files[4];
    const struct compare_files sides[SIDES] = { { files, 2 }, { files + 2, 2 } };
    char text[512];

    for (int j = 0; j < 4; j++) {
        snprintf(text, sizeof text,
                 "{\"context\": {\"host_name\": \"h\", \"mhz_per_cpu\": %d}, "
                 "\"benchmarks\": [" ROW("x", "1") "]}",
                 mhz[j]);
        assert_ok(benchmark_file_read(&files[j], file_with("m.json", text), "real_time"));
    }
    assert_ok(compare_check(sides));
    compare_doubts(sides, text, sizeof text);
    assert_non_null(strstr(text, "its clock"));
    for (int j = 0; j < 4; j++) benchmark_file_release(&files[j]);
}

TEST(two_benchmarks_of_one_name_are_two_rows)
{
#define AT(name, more, time) "{\"name\": \"" name "\", " more ", \"real_time\": " time "}"
#define FAMILY(family, instance, index)                                                            \
    "\"family_index\": " family ", \"per_family_instance_index\": " instance                       \
    ", \"run_type\": \"iteration\", \"repetition_index\": " index
#define INDEX(index) "\"run_type\": \"iteration\", \"repetition_index\": " index

#define MEAN "\"run_type\": \"aggregate\", \"run_name\": \"x\", \"aggregate_name\": \"mean\""
    static const struct {
        const char *rows;
        double times[3]; /* of x (1 of n) ... in seconds; 0: no more */
    } cases[] = {
        { AT("x", FAMILY("0", "0", "0"), "1") "," AT("x", FAMILY("1", "0", "0"), "2"), { 1, 2 } },
        { AT("x", FAMILY("7", "0", "0"), "2") "," AT("x", FAMILY("3", "0", "0"), "1"), { 1, 2 } },
        { AT("x", FAMILY("0", "0", "0"), "1") "," AT("x", FAMILY("0", "1", "0"), "2"), { 1, 2 } },
        { AT("x", FAMILY("0", "0", "0"), "1") "," AT("x", FAMILY("0", "0", "0"), "2"), { 1, 2 } },
        { AT("x", INDEX("0"), "1") "," AT("x", INDEX("1"), "1") "," AT("x", INDEX("0"), "2") "," AT(
              "x", INDEX("1"), "2") "," AT("x", INDEX("0"), "3"),
          { 1, 2, 3 } },
        { AT("x", "\"repetitions\": 1", "1") "," AT("x", "\"repetitions\": 1", "2"), { 1, 2 } },
        { AT("x_mean", MEAN, "1") "," AT("x_mean", MEAN, "2"), { 1, 2 } },
    };
    struct benchmark_file file;
    char text[2048];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int count = cases[i].times[2] > 0 ? 3 : 2;
        snprintf(text, sizeof text, "{\"benchmarks\": [%s]}", cases[i].rows);
        assert_ok(benchmark_file_read(&file, file_with("twice.json", text), "real_time"));
        assert_int_equal(file.count, count);
        assert_null(benchmark_file_row(&file, "x"));
        for (int j = 0; j < count; j++) {
            const struct benchmark_row *row;
            snprintf(text, sizeof text, "x (%d of %d)", j + 1, count);
            row = benchmark_file_row(&file, text);
            assert_non_null(row);
            assert_near(row->median, cases[i].times[j] * 1e6, 1e-6);
        }
        benchmark_file_release(&file);
    }
}

/* Base has one benchmark of the name and new has two: which of them it is nobody knows. */
TEST(a_name_that_became_two_is_missing)
{
    struct comparison comparison;
    struct two_files two;

    read_two(&two, "{\"benchmarks\": [" AT("x", FAMILY("0", "0", "0"), "1") "]}",
             "{\"benchmarks\": [" AT("x", FAMILY("0", "0", "0"),
                                     "1") "," AT("x", FAMILY("1", "0", "0"), "9") "]}");
    assert_ok(comparison_make(&comparison, two.sides, &usual, NULL, NULL));
    assert_int_equal(comparison.count, 3);
    assert_int_equal(comparison.counts[COMPARE_MISSING], 1);
    assert_int_equal(comparison.counts[COMPARE_NEW], 2);
    comparison_release(&comparison);
    release_two(&two);
}

/* A file with a row of `count` repetitions, of which `failed` failed and `announced` should be
 * there. */
static void read_failing(struct benchmark_file *file, int count, int failed, int announced)
{
    char text[4096];
    int length = snprintf(text, sizeof text, "{\"benchmarks\": [");

    for (int i = 0; i < count; i++)
        length +=
            snprintf(text + length, sizeof text - (size_t)length,
                     "%s{\"name\": \"x\", \"run_type\": \"iteration\", \"repetitions\": %d, "
                     "\"repetition_index\": %d, \"real_time\": %d%s}",
                     i > 0 ? "," : "", announced, i, 100 + i % 2,
                     i < failed ? ", \"error_occurred\": true, \"error_message\": \"boom\"" : "");
    snprintf(text + length, sizeof text - (size_t)length, "]}");
    assert_ok(benchmark_file_read(file, file_with("failing.json", text), "real_time"));
}

TEST(repetitions_that_new_lost_fail_the_gate)
{
    static const struct compare_gate plain = { .strict = false },
                                     lenient = { .allow_missing = true };
    static const struct {
        int there[SIDES], failed[SIDES], announced; /* in each of three files */
        bool passes;
        const char *lost;
    } cases[] = {
        { { 5, 5 }, { 0, 4 }, 5, false, "new: 4 of 5 failed: boom (in each of 3 files)" },
        { { 5, 5 }, { 0, 1 }, 5, false, "new: 1 of 5 failed: boom (in each of 3 files)" },
        { { 5, 5 }, { 2, 2 }, 5, true, "base and new: 2 of 5 failed: boom (in each of 3 files)" },
        { { 5, 5 },
          { 2, 1 },
          5,
          true,
          "base: 2 of 5 failed: boom (in each of 3 files); new: 1 of 5 failed: boom (in each of 3 "
          "files)" },
        { { 5, 2 }, { 0, 0 }, 5, false, "new: 3 of 5 are not in the file (in each of 3 files)" },
        { { 5, 5 }, { 0, 0 }, 5, true, "" },
    };
    char why[160];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct benchmark_file files[6];
        const struct compare_files sides[SIDES] = { { files, 3 }, { files + 3, 3 } };
        struct comparison comparison;
        for (int j = 0; j < 6; j++)
            read_failing(&files[j], cases[i].there[j / 3], cases[i].failed[j / 3],
                         cases[i].announced);
        assert_ok(comparison_make(&comparison, sides, &usual, NULL, NULL));
        assert_string_equal(comparison.rows[0].lost, cases[i].lost);
        assert_int_equal(comparison_end(&comparison, &plain, why, sizeof why),
                         cases[i].passes ? GATE_PASSED : GATE_FAILED);
        assert_string_equal(why,
                            cases[i].passes ? "" : "1 lost more repetitions in new than in base");
        assert_int_equal(gate_fault(&comparison.rows[0], &plain) == NULL, cases[i].passes);
        assert_int_equal(comparison_end(&comparison, &lenient, why, sizeof why), GATE_PASSED);
        comparison_release(&comparison);
        for (int j = 0; j < 6; j++) benchmark_file_release(&files[j]);
    }
}

static bool is_not_b(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "b") != 0;
}

TEST(no_row_is_dropped)
{
    static const char base[] =
        FILE_OF("A", "host",
                ROW("both", "1") "," ROW("gone", "1") "," ROW("b", "1") "," ROW("z", "0") "," ROW(
                    "broke", "1") "," ROW("mended", "0"));
    static const char after[] = FILE_OF("A", "host",
                                        ROW("added", "1") "," ROW("both", "1") "," ROW(
                                            "z", "0") "," ROW("broke", "0") "," ROW("mended", "1"));
    static const struct {
        const char *name;
        enum compare_verdict verdict;
    } rows[] = { { "both", COMPARE_UNDECIDED },      { "gone", COMPARE_MISSING },
                 { "z", COMPARE_NOT_MEASURED },      { "broke", COMPARE_MISSING },
                 { "mended", COMPARE_NOT_MEASURED }, { "added", COMPARE_NEW } };
    struct comparison comparison;
    struct two_files two;

    read_two(&two, base, after);
    assert_ok(comparison_make(&comparison, two.sides, &usual, is_not_b, NULL));
    assert_int_equal(comparison.count, ARRAY_SIZE(rows));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_string_equal(comparison.rows[i].name, rows[i].name);
        assert_int_equal(comparison.rows[i].verdict, rows[i].verdict);
    }
    assert_string_equal(comparison.rows[1].reason, ""); /* its verdict says all */
    assert_string_equal(comparison.rows[2].lost, "base and new: 1 of 1 took no time");
    assert_string_equal(comparison.rows[3].reason, "new has the row, but no value");
    assert_string_equal(comparison.rows[3].lost, "new: 1 of 1 took no time");
    assert_string_equal(comparison.rows[4].reason, "base has the row, but no value");
    comparison_release(&comparison);
    release_two(&two);
}

TEST(names_are_escaped_in_markdown_as_on_every_page)
{
    static const char file[] = FILE_OF("A", "host", ROW("BM_x<[a](b)>", "1"));
    struct comparison comparison;
    struct two_files two;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct page page = page_markdown(stream);
    const struct comparison_remarks remarks = { .end = GATE_PASSED };

    read_two(&two, file, file);
    assert_ok(comparison_make(&comparison, two.sides, &usual, NULL, NULL));
    comparison_page(&page, &comparison, &remarks);
    fclose(stream);
    assert_non_null(strstr(text, "\n| BM_x\\<\\[a](b)> | "));
    free(text);
    comparison_release(&comparison);
    release_two(&two);
}

/* A file of `run`: rows x/before at `before` us and x/after at `after` us; the images have
 * `pixels`. */
static void read_run(struct benchmark_file *file, int before, int after, int pixels)
{
    char text[2048];
    int length = snprintf(text, sizeof text, "{\"benchmarks\": [");

    for (int i = 0; i < 6; i++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "%s{\"name\": \"x/%s\", \"run_type\": \"iteration\", "
                           "\"real_time\": %d.%d, \"time_unit\": \"us\"}",
                           i > 0 ? "," : "", i % 2 == 0 ? "before" : "after",
                           i % 2 == 0 ? before : after, i / 2);
    snprintf(text + length, sizeof text - (size_t)length,
             "], \"chokepoint\": {\"scenarios\": [{\"name\": \"x\", \"settings\": {\"before\": "
             "\"jpeg_pixels=64 seed=1\", \"after\": \"jpeg_pixels=%d seed=1\"}}]}}",
             pixels);
    assert_ok(benchmark_file_read(file, file_with("run.json", text), "real_time"));
}

/* The third file of new had other images in x/after, and its time is twice that of the others. */
TEST(rows_that_did_other_work_are_neither_faster_nor_slower)
{
    const struct compare_gate usual_gate = { .strict = false }, lenient = { .allow_missing = true };
    struct benchmark_file files[6];
    const struct compare_files sides[SIDES] = { { files, 3 }, { files + 3, 3 } };
    struct comparison comparison;
    char why[160];

    for (int i = 0; i < 6; i++)
        read_run(&files[i], 1000 + i, i == 5 ? 2000 : 1000, i == 5 ? 96 : 64);
    assert_ok(comparison_make(&comparison, sides, &usual, NULL, NULL));
    assert_int_equal(comparison.rows[0].verdict, COMPARE_SAME);
    assert_int_equal(comparison.rows[1].verdict, COMPARE_OTHER_WORK);
    assert_string_equal(comparison.rows[1].reason, "other work: jpeg_pixels 64 and 96");
    assert_true(isnan(comparison.rows[1].change));
    assert_int_equal(comparison.counts[COMPARE_OTHER_WORK], 1);
    assert_int_equal(comparison_end(&comparison, &usual_gate, why, sizeof why), GATE_UNTOLD);
    assert_string_equal(why, "1 other work");
    assert_int_equal(comparison_end(&comparison, &lenient, why, sizeof why), GATE_PASSED);
    comparison_release(&comparison);
    for (int i = 0; i < 6; i++) benchmark_file_release(&files[i]);
}

/* Base has a row in three files, new in one: two runs of its benchmark crashed. */
TEST(a_row_that_some_new_files_lack_fails_the_gate)
{
    static const struct compare_gate usual_gate = { .strict = false },
                                     lenient = { .allow_missing = true };
    static const struct {
        int base, after; /* of three files, those that have the row "0" */
        bool passes;
        const char *lost;
    } cases[] = {
        { 3, 3, true, "" },
        { 3, 1, false, "values in 1 of 3 files of new" },
        { 2, 1, false, "values in 2 of 3 files of base; values in 1 of 3 files of new" },
        { 1, 1, true, "" }, /* a file for each benchmark */
        { 1, 3, true, "" },
    };
    static const char *const rows =
        "{\"context\":{\"date\":\"2026-01-02T10:00:00+00:00\"},\"benchmarks\":[%s"
        "{\"name\":\"1\",\"real_time\":3,\"time_unit\":\"us\"}]}";
    char text[512], why[64];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct benchmark_file files[SIDES][3];
        struct compare_files sides[SIDES] = { { files[0], 3 }, { files[1], 3 } };
        struct comparison comparison;

        for (int side = 0; side < SIDES; side++)
            for (int j = 0; j < 3; j++) {
                bool has = j < (side == SIDE_BASE ? cases[i].base : cases[i].after);
                snprintf(text, sizeof text, rows,
                         has ? "{\"name\":\"0\",\"real_time\":5,\"time_unit\":\"us\"}," : "");
                assert_ok(benchmark_file_read(&files[side][j], file_with("some.json", text),
                                              "real_time"));
            }
        assert_ok(comparison_make(&comparison, sides, &usual, NULL, NULL));
        for (int j = 0; j < comparison.count; j++)
            assert_string_equal(comparison.rows[j].lost,
                                strcmp(comparison.rows[j].name, "0") == 0 ? cases[i].lost : "");
        assert_int_equal(comparison_end(&comparison, &usual_gate, why, sizeof why),
                         cases[i].passes ? GATE_PASSED : GATE_FAILED);
        assert_string_equal(why, cases[i].passes ? "" : "1 missing in some files of new");
        assert_int_equal(comparison_end(&comparison, &lenient, why, sizeof why), GATE_PASSED);
        comparison_release(&comparison);
        for (int side = 0; side < SIDES; side++)
            for (int j = 0; j < 3; j++) benchmark_file_release(&files[side][j]);
    }
}

TEST(the_gate_passes_only_what_was_compared)
{
    static const struct {
        int counts[COMPARE_VERDICTS];
        struct compare_gate gate;
        const char *why; /* "": it passes */
        enum gate_end end;
    } cases[] = {
        { { [COMPARE_SAME] = 3, [COMPARE_NEW] = 1 }, { false, false }, "", GATE_PASSED },
        { { [COMPARE_FASTER] = 3 }, { false, true }, "", GATE_PASSED },
        { { [COMPARE_SAME] = 3, [COMPARE_SLOWER] = 2 }, { true, false }, "2 slower", GATE_FAILED },
        { { [COMPARE_SAME] = 3, [COMPARE_MISSING] = 2 },
          { false, false },
          "2 missing",
          GATE_FAILED },
        { { [COMPARE_SAME] = 3, [COMPARE_MISSING] = 2 }, { true, false }, "", GATE_PASSED },
        { { [COMPARE_SAME] = 3, [COMPARE_OTHER_WORK] = 1 },
          { false, false },
          "1 other work",
          GATE_UNTOLD },
        { { [COMPARE_UNDECIDED] = 3 }, { false, false }, "", GATE_PASSED },
        { { [COMPARE_SAME] = 1, [COMPARE_UNDECIDED] = 3 },
          { false, true },
          "3 undecided",
          GATE_UNTOLD },
        { { [COMPARE_SAME] = 1, [COMPARE_NOT_MEASURED] = 1 }, { false, false }, "", GATE_PASSED },
        { { [COMPARE_SAME] = 1, [COMPARE_NOT_MEASURED] = 1 },
          { false, true },
          "1 not measured",
          GATE_UNTOLD },
        /* Nothing in common is never accepted. */
        { { [COMPARE_MISSING] = 12 }, { true, false }, "no row could be compared", GATE_UNTOLD },
        { { [COMPARE_MISSING] = 2, [COMPARE_NEW] = 3 },
          { false, false },
          "no row could be compared, 2 missing",
          GATE_FAILED },
        { { [COMPARE_NEW] = 3 }, { true, true }, "no row could be compared", GATE_UNTOLD },
        { { [COMPARE_OTHER_WORK] = 3 }, { true, false }, "no row could be compared", GATE_UNTOLD },
    };
    char why[160];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct compared_row rows[16] = { { .name = "row" } };
        struct comparison comparison = { .rows = rows };
        for (int verdict = 0; verdict < COMPARE_VERDICTS; verdict++)
            for (int j = 0; j < cases[i].counts[verdict]; j++)
                rows[comparison.count++].verdict = (enum compare_verdict)verdict;
        assert_int_equal(comparison_end(&comparison, &cases[i].gate, why, sizeof why),
                         cases[i].end);
        assert_string_equal(why, cases[i].why);
    }
}

/* A file of ten rows that all take `percent` more than usual, begun at `date`. */
static void write_dated(const char *name, const char *date, double percent)
{
    char text[2048];
    int length =
        snprintf(text, sizeof text, "{\"context\": {\"date\": \"%s\"}, \"benchmarks\": [", date);

    for (int i = 0; i < 10; i++)
        length +=
            snprintf(text + length, sizeof text - (size_t)length,
                     "%s{\"name\": \"r%d\", \"run_type\": \"iteration\", \"real_time\": %g, "
                     "\"time_unit\": \"us\"}",
                     i > 0 ? "," : "", i, (10 + i) * (1 + percent / 100) * (1 + 1e-4 * (i % 3)));
    snprintf(text + length, sizeof text - (size_t)length, "]}");
    file_with(name, text);
}

/* Nothing can be told about ten rows in three runs per side that differ by up to 80%. */
TEST(what_many_rows_lack_is_said_once)
{
    static const double percent[6] = { 0, 40, 80, 20, 60, 100 };
    struct benchmark_file files[6];
    const struct compare_files sides[SIDES] = { { files, 3 }, { files + 3, 3 } };
    const struct comparison_remarks remarks = { .end = GATE_PASSED };
    struct comparison comparison;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct page page = page_markdown(stream);

    for (int i = 0; i < 6; i++) {
        char path[128];
        write_dated("many.json", "", percent[i]);
        snprintf(path, sizeof path, "%s/many.json", folder);
        assert_ok(benchmark_file_read(&files[i], path, "real_time"));
    }
    assert_ok(comparison_make(&comparison, sides, &usual, NULL, NULL));
    assert_int_equal(comparison.counts[COMPARE_UNDECIDED], 10);
    comparison_page(&page, &comparison, &remarks);
    fclose(stream);
    assert_non_null(strstr(text, "10 rows undecided, runs of one side vary by "));
    assert_non_null(strstr(text, "would take more than 100 runs per side."));
    assert_null(strstr(text, "Notes"));
    free(text);
    comparison_release(&comparison);
    for (int i = 0; i < 6; i++) benchmark_file_release(&files[i]);
}

static const char *page_of(const struct comparison *comparison)
{
    static char text[8192];
    const struct comparison_remarks remarks = { .end = GATE_PASSED };
    FILE *stream = fmemopen(text, sizeof text, "w");
    struct page page = page_markdown(stream);

    comparison_page(&page, comparison, &remarks);
    fclose(stream);
    return text;
}

TEST(values_without_a_ratio_are_not_said_to_lack_files)
{
    static const double values[] = { 1, 0, -2, 1, 3, 0 };
    struct benchmark_file files[6];
    const struct compare_files sides[2][SIDES] = { { { files, 3 }, { files + 3, 3 } },
                                                   { { files, 1 }, { files + 2, 1 } } };

    for (int i = 0; i < 6; i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "{\"benchmarks\":[{\"name\":\"r\",\"real_time\":1,\"lead\":%g}]}", values[i]);
        assert_ok(benchmark_file_read(&files[i], file_with("lead.json", text), "lead"));
    }
    for (int i = 0; i < 2; i++) {
        struct compare_rule rule = usual;
        struct comparison comparison;
        const char *text;

        rule.metric = "lead";
        assert_ok(comparison_make(&comparison, sides[i], &rule, NULL, NULL));
        assert_int_equal(comparison.counts[COMPARE_UNDECIDED], 1);
        text = page_of(&comparison);
        assert_non_null(strstr(text, "some values are 0 or negative, so they have no ratio"));
        assert_null(strstr(text, "One file per side"));
        comparison_release(&comparison);
    }
    for (int i = 0; i < 6; i++) benchmark_file_release(&files[i]);
}

TEST(runs_that_it_takes_are_a_range)
{
    static const struct {
        int needed[2];
        const char *words;
    } cases[] = {
        { { 12, 40 }, "would take 12 to 40 runs per side." },
        { { 12, 12 }, "would take 12 runs per side." },
        { { 12, RUNS_MOST + 1 }, "would take 12 or more runs per side." },
        { { RUNS_MOST + 1, RUNS_MOST + 1 }, "would take more than 100 runs per side." },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct compared_row rows[2] = { { .name = "0" }, { .name = "1" } };
        const struct comparison comparison = {
            .rule = usual, .rows = rows, .count = 2, .counts = { [COMPARE_UNDECIDED] = 2 }
        };
        for (int j = 0; j < 2; j++) {
            rows[j].verdict = COMPARE_UNDECIDED;
            rows[j].noise = NOISE_RUNS;
            rows[j].between = 0.2;
            rows[j].shows = 0.3;
            rows[j].runs_needed = cases[i].needed[j];
        }
        assert_non_null(strstr(page_of(&comparison), cases[i].words));
    }
}

/* Four runs, each 4% slower than the one before it. In turns the sides differ by steps of 4%;
 * otherwise the drift is within each side. */
TEST(turns_are_told_from_dates)
{
    static const struct {
        const char *dates[4]; /* of base, base, new, new */
        double percent[4];
        bool in_turns;
    } cases[] = {
        { { "2026-01-01T10:00:00+00:00", "2026-01-01T10:20:00+00:00", "2026-01-01T10:10:00+00:00",
            "2026-01-01T10:30:00+00:00" },
          { 0, 8, 4, 12 },
          true },
        { { "2026-01-01T10:30:00+00:00", "2026-01-01T10:00:00+00:00", "2026-01-01T10:20:00+00:00",
            "2026-01-01T12:10:00+02:00" }, /* base, new, new, base */
          { 12, 0, 8, 4 },
          true },
        { { "2026-01-01T10:00:00+00:00", "2026-01-01T10:10:00+00:00", "2026-01-01T10:20:00+00:00",
            "2026-01-01T10:30:00+00:00" },
          { 0, 8, 4, 12 },
          false },
        { { "2026-01-01T10:00:00+00:00", "2026-01-01T10:20:00+00:00", "", "someday" },
          { 0, 8, 4, 12 },
          false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct benchmark_file files[4];
        struct compare_files sides[SIDES] = { { files, 2 }, { files + 2, 2 } };
        struct comparison comparison;
        for (int j = 0; j < 4; j++) {
            char path[128];
            write_dated("dated.json", cases[i].dates[j], cases[i].percent[j]);
            snprintf(path, sizeof path, "%s/dated.json", folder);
            assert_ok(benchmark_file_read(&files[j], path, "real_time"));
        }
        assert_ok(comparison_make(&comparison, sides, &usual, NULL, NULL));
        assert_int_equal(comparison.run_noise[PLACE_BEST].rows, 10);
        /* Within a side: 8% apart, so a variance of about 0.08 squared, halved. */
        if (cases[i].in_turns)
            assert_true(comparison.run_noise[PLACE_BEST].common < 0.0015);
        else
            assert_near(comparison.run_noise[PLACE_BEST].common, 0.0032, 0.0006);
        comparison_release(&comparison);
        for (int j = 0; j < 4; j++) benchmark_file_release(&files[j]);
    }
}

TESTS_WITH(make_folder, remove_folder)
