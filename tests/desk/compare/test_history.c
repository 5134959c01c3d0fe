/* A history file: what is read, what is added, what damage does; and what is said of its series. */
#include "harness/base/random.h"
#include "harness/desk/compare/compared_row.h"
#include "harness/desk/compare/history/change_points.h"
#include "harness/desk/compare/history/history.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/test_history.XXXXXX";
static char path[64], result_path[64];

static int make_folder(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/test_history.XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/h.jsonl", folder);
    snprintf(result_path, sizeof result_path, "%s/r.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    char cut[72];

    snprintf(cut, sizeof cut, "%s.cut", path);
    unlink(cut);
    unlink(path);
    unlink(result_path);
    return rmdir(folder);
}

static void write_file(const char *to, const char *mode, const char *text)
{
    FILE *file = fopen(to, mode);

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static char *text_of(const char *from)
{
    static char text[1 << 16];
    FILE *file = fopen(from, "r");
    size_t bytes;

    assert_non_null(file);
    bytes = fread(text, 1, sizeof text - 1, file);
    text[bytes] = '\0';
    fclose(file);
    return text;
}

/* Adds a result of one day with the rows a and b, whose repetitions are `us` and 10% more. */
static struct history_added add_day(int day, const char *unit, double value, const char *commit)
{
    struct benchmark_file file;
    struct history_added added;
    char text[1024];

    snprintf(
        text, sizeof text,
        "{\"context\": {\"date\": \"2026-03-%02dT10:00:00+00:00\", \"num_cpus\": 2, \"cpu_model\": "
        "\"Z80\", \"commit\": \"c%d\"}, \"benchmarks\": ["
        "{\"name\": \"a\", \"run_type\": \"iteration\", \"real_time\": %g, \"time_unit\": \"%s\"},"
        "{\"name\": \"a\", \"run_type\": \"iteration\", \"real_time\": %g, \"time_unit\": \"%s\"},"
        "{\"name\": \"b\", \"run_type\": \"iteration\", \"real_time\": %g, \"time_unit\": \"%s\"},"
        "{\"name\": \"c\", \"run_type\": \"iteration\", \"error_occurred\": true, \"time_unit\": "
        "\"ns\"}]}",
        day, day, value * 1.1, unit, value, unit, 2 * value, unit);
    write_file(result_path, "w", text);
    assert_ok(benchmark_file_read(&file, result_path, BENCHMARK_TIME));
    assert_ok(history_file_add(
        path,
        &(struct history_adding){
            .files = &file, .count = 1, .metric = BENCHMARK_TIME, .commit = commit },
        &added));
    benchmark_file_release(&file);
    return added;
}

TEST(a_run_is_added_once)
{
    struct history_added added = add_day(1, "us", 100, NULL);
    struct history_file file;

    assert_int_equal(added.added, 2);
    assert_int_equal(added.unmeasured, 1);
    added = add_day(1, "us", 100, NULL);
    assert_int_equal(added.added, 0);
    assert_int_equal(added.known, 2);
    assert_int_equal(added.differing, 0);
    assert_int_equal(add_day(1, "us", 101, NULL).differing, 2);
    assert_int_equal(add_day(1, "us", 100, "other").added, 2);
    assert_ok(history_file_read(&file, path));
    assert_int_equal(file.count, 4);
    assert_int_equal(file.damaged, 0);
    assert_string_equal(file.entries[0].row, "a");
    assert_string_equal(file.entries[0].date, "2026-03-01T10:00:00+00:00");
    assert_string_equal(file.entries[0].commit, "c1");
    assert_string_equal(file.entries[2].commit, "other");
    assert_string_equal(file.entries[0].machine, "2 CPUs, Z80");
    assert_string_equal(file.entries[0].statistic, "best");
    assert_int_equal(file.entries[0].repetitions, 2);
    assert_true(file.entries[0].value == 100);
    assert_ptr_equal(file.entries[0].machine, file.entries[3].machine);
    history_file_release(&file);
}

TEST(times_are_in_us_whatever_their_unit)
{
    struct history_file file;

    add_day(1, "ms", 2, NULL);
    write_file(
        path, "a",
        "{\"date\":\"2026-03-02T10:00:00+00:00\",\"row\":\"a\",\"metric\":\"real_time\",\"unit\":"
        "\"s\",\"value\":3}\n");
    assert_ok(history_file_read(&file, path));
    assert_int_equal(file.count, 3);
    assert_true(file.entries[0].value == 2000);
    assert_true(file.entries[2].value == 3e6);
    history_file_release(&file);
}

TEST(damaged_lines_are_named_and_the_others_read)
{
    static const char lines[] =
        "{\"date\":\"2026-03-02T10:00:00+00:00\",\"row\":\"a\",\"metric\":\"real_time\",\"unit\":"
        "\"us\","
        "\"value\":3}\n"
        "\n"
        "rubbish\n"
        "{\"date\":\"2026-03-02T10:00:00+00:00\",\"row\":\"a\",\"metric\":\"real_time\",\"unit\":"
        "\"us\","
        "\"value\":NaN}\n"
        "{\"date\":\"2026-03-02T10:00:00+00:00\",\"row\":\"a\",\"metric\":\"real_time\",\"unit\":"
        "\"us\","
        "\"value\":1e999}\n"
        "{\"date\":\"2026-03-02T10:00:00+00:00\",\"row\":\"a\",\"metric\":\"real_time\",\"unit\":"
        "\"us\","
        "\"value\":-1}\n"
        "{\"date\":\"yesterday\",\"row\":\"a\",\"metric\":\"real_time\",\"unit\":\"us\",\"value\":"
        "1}\n"
        "{\"date\":\"2026-03-02T10:00:00+00:00\",\"metric\":\"real_time\",\"unit\":\"us\","
        "\"value\":1}\n"
        "{\"date\":\"2026-03-02T10:00:00+00:00\",\"row\":\"a\",\"metric\":\"real_time\",\"unit\":"
        "\"days\",\"value\":1}\n"
        "[]\n"
        "<<<<<<< HEAD\n"
        "{\"date\":\"2026-03-03T10:00:00+00:00\",\"row\":\"a\",\"metric\":\"launches\",\"value\":0}"
        "\n";
    struct history_file file;
    char text[800];

    write_file(path, "w", lines);
    assert_ok(history_file_read(&file, path));
    assert_int_equal(file.count, 2);
    assert_int_equal(file.damaged, 9);
    history_file_damages(&file, text, sizeof text);
    assert_non_null(
        strstr(text, "9 damaged lines: line 3 (not JSON), line 4 (not JSON), line 5 ("));
    assert_non_null(strstr(text, "line 11 (left by a merge conflict)"));
    assert_int_equal(file.entries[1].line, 12);
    history_file_release(&file);
}

/* At every place where a writer may have been killed. */
TEST(a_cut_last_line_loses_nothing_else)
{
    static char whole[1 << 12];
    size_t bytes, first;
    char cut_path[72];

    snprintf(cut_path, sizeof cut_path, "%s.cut", path);
    add_day(1, "us", 100, NULL);
    add_day(2, "us", 100, NULL);
    snprintf(whole, sizeof whole, "%s", text_of(path));
    bytes = strlen(whole);
    first = (size_t)(strchr(whole, '\n') - whole) + 1;
    for (size_t kept = first; kept <= bytes; kept++) {
        struct history_added added;
        struct history_file file;
        char saved = whole[kept];
        whole[kept] = '\0';
        write_file(path, "w", whole);
        unlink(cut_path);
        added = add_day(2, "us", 100, NULL);
        assert_ok(history_file_read(&file, path));
        assert_int_equal(file.damaged, 0);
        assert_true(file.count == 3 || file.count == 4);
        if (added.cut[0] != '\0')
            assert_string_equal(text_of(cut_path) + strlen(text_of(cut_path)) - 1, "\n");
        else
            assert_int_not_equal(access(cut_path, F_OK), 0);
        assert_int_equal(strncmp(text_of(path), whole, first), 0);
        history_file_release(&file);
        whole[kept] = saved;
    }
}

TEST(what_cannot_be_a_history_is_refused)
{
    const struct history_adding nothing = { .metric = BENCHMARK_TIME };
    struct history_file file;
    struct history_added added;

    assert_int_equal(history_file_read(&file, path), STATUS_IO);
    assert_int_equal(history_file_read(&file, folder), STATUS_IO);
    assert_int_equal(history_file_add(folder, &nothing, &added), STATUS_IO);
    assert_non_null(strstr(status_last()->text, "a folder"));
    assert_int_equal(history_file_add("/dev/full", &nothing, &added), STATUS_IO);
    assert_non_null(strstr(status_last()->text, "not a regular file"));
    assert_int_equal(history_file_add("/nowhere/h", &nothing, &added), STATUS_IO);
}

/* --- Series --- */

static void write_runs(const char *row, const char *metric, const char *work, int count, int at,
                       double step)
{
    FILE *file = fopen(path, "a");
    struct random random = random_seed(7, (uint64_t)(unsigned char)row[0]);

    assert_non_null(file);
    for (int i = 0; i < count; i++)
        fprintf(file,
                "{\"date\":\"2026-%02d-%02dT10:00:00+00:00\",\"commit\":\"c%d\",\"machine\":\"m\","
                "\"row\":"
                "\"%s\",\"metric\":\"%s\",\"unit\":\"us\",\"work\":\"%s\",\"value\":%.6f,"
                "\"repetitions\":9}\n",
                1 + i / 28, 1 + i % 28, i, row, metric, work,
                100 * (1 + 0.01 * (double)random_normal(&random) + (i >= at ? step : 0)));
    assert_int_equal(fclose(file), 0);
}

TEST(a_step_is_found_in_its_row_and_no_other)
{
    const struct history_rule rule = { .threshold = HISTORY_THRESHOLD };
    struct history_file file;
    struct history history;

    write_runs("step", "real_time", "1", 60, 40, 0.1);
    write_runs("quiet", "real_time", "1", 60, 60, 0);
    write_runs("better", "real_time", "1", 60, 40, -0.1);
    write_runs("rate", "bytes_per_second", "1", 60, 40, -0.1);
    write_runs("small", "real_time", "1", 60, 30, 0.015);
    write_runs("few", "real_time", "1", 9, 4, 0.5);
    assert_ok(history_file_read(&file, path));
    assert_ok(history_make(&history, &file, &rule, NULL, NULL));
    assert_int_equal(history.count, 6);
    assert_int_equal(history.series[0].verdict, HISTORY_SLOWER);
    assert_int_equal(history.series[0].change_count, 1);
    assert_int_equal(history.series[0].changes[0], 40);
    assert_string_equal(history.series[0].runs[40]->commit, "c40");
    assert_true(fabs(history.series[0].change - 0.1) < 0.01);
    assert_true(fabs(history.series[0].spread - 0.01) < 0.004);
    assert_int_equal(history.series[0].runs_needed,
                     compare_runs_needed(history.series[0].spread, log1p(0.03), 0));
    assert_int_equal(history.series[1].verdict, HISTORY_SAME);
    assert_int_equal(history.series[2].verdict, HISTORY_FASTER);
    assert_int_equal(history.series[3].verdict, HISTORY_SLOWER);
    assert_int_equal(history.series[4].change_count, 1); /* seen, but within the threshold */
    assert_int_equal(history.series[4].verdict, HISTORY_SAME);
    assert_int_equal(history.series[5].verdict, HISTORY_GONE);
    assert_int_equal(history.series[5].lacking, 51);
    assert_int_equal(history.series[5].renamed, -1);
    assert_true(fabs(history.series_error - HISTORY_ERROR / 5) < 1e-12);
    history_release(&history);
    history_file_release(&file);
}

TEST(other_work_is_another_series)
{
    const struct history_rule rule = { .threshold = HISTORY_THRESHOLD };
    struct history_file file;
    struct history history;

    write_runs("a", "real_time", "1", 40, 40, 0);
    write_runs("a", "real_time", "2", 40, 0, 0.5);
    write_runs("b", "real_time", "2", 40, 40, 0);
    assert_ok(history_file_read(&file, path));
    assert_ok(history_make(&history, &file, &rule, NULL, NULL));
    assert_int_equal(history.count, 3);
    assert_int_equal(history.counts[HISTORY_SAME], 3);
    assert_true(history.series[0].shares_name && history.series[1].shares_name);
    assert_false(history.series[2].shares_name);
    history_release(&history);
    history_file_release(&file);
}

TEST(an_accepted_change_is_left_out)
{
    struct history_rule rule = { .threshold = HISTORY_THRESHOLD, .since = "c40" };
    struct history_file file;
    struct history history;

    write_runs("step", "real_time", "1", 60, 40, 0.1);
    assert_ok(history_file_read(&file, path));
    assert_ok(history_make(&history, &file, &rule, NULL, NULL));
    assert_int_equal(history.series[0].count, 20);
    assert_int_equal(history.series[0].verdict, HISTORY_SAME);
    history_release(&history);
    rule.since = "2026-02-13"; /* that of run 40 */
    assert_ok(history_make(&history, &file, &rule, NULL, NULL));
    assert_int_equal(history.series[0].count, 20);
    history_release(&history);
    rule.since = "nonsense";
    assert_int_equal(history_make(&history, &file, &rule, NULL, NULL), STATUS_BAD_USAGE);
    history_file_release(&file);
}

/* As git merges them: the lines of one side, then those of the other, some of them twice. */
TEST(the_order_of_lines_means_nothing)
{
    const struct history_rule rule = { .threshold = HISTORY_THRESHOLD };
    struct history_file file;
    struct history history;
    char *text, *last;

    write_runs("step", "real_time", "1", 60, 40, 0.1);
    text = strdup(text_of(path));
    write_file(path, "w", "");
    while ((last = strrchr(text, '{')) != NULL) {
        write_file(path, "a", last);
        if (strlen(text) % 3 == 0)
            write_file(path, "a", last);
        *last = '\0';
    }
    free(text);
    assert_ok(history_file_read(&file, path));
    assert_int_equal(file.count, 60);
    assert_ok(history_make(&history, &file, &rule, NULL, NULL));
    assert_int_equal(history.series[0].changes[0], 40);
    assert_string_equal(history.series[0].runs[0]->commit, "c0");
    history_release(&history);
    history_file_release(&file);
}

TEST(sparklines_are_drawn_in_blocks_or_in_ascii)
{
    static const double rising[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, equal[] = { 5, 5 };
    char text[64];

    history_sparkline(text, rising, 8, 8, true);
    assert_string_equal(text, "▁▂▃▄▅▆▇█");
    history_sparkline(text, rising, 8, 8, false);
    assert_string_equal(text, "_.:-=+*#");
    history_sparkline(text, rising, 8, 2, false);
    assert_string_equal(text, "_#");
    history_sparkline(text, equal, 2, 8, false);
    assert_string_equal(text, "==");
    history_sparkline(text, equal, 0, 8, false);
    assert_string_equal(text, "");
}

TESTS_EACH(make_folder, remove_folder)
