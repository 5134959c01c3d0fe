/* The output of a bench: rows and columns are those of Google Benchmark. */
#include "harness/bench/bench_console.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

static double number_of(const cJSON *rows, int row, const char *member)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetArrayItem(rows, row), member));
}

/* cmocka's own compares floats. */
static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * expected))
        fail_msg("%.17g is not %.17g", value, expected);
}

TEST(rows_are_those_of_google_benchmark)
{
    const struct {
        const char *name;
        double real, cpu, items_per_second;
    } cases[] = {
        { "x/8", 10, 5, 6e8 },
        { "x/8", 20, 7, 3e8 },
        { "x/8", 60, 12, 1e8 },
        { "x/8_mean", 30, 8, 1e9 / 3 },
        { "x/8_median", 20, 7, 3e8 },
        { "x/8_stddev", sqrt(700), sqrt(13), sqrt(19.0 / 3) * 1e8 },
        { "x/8_cv", sqrt(700) / 30, sqrt(13) / 8, sqrt(19.0 / 3) * 0.3 },
    };
    struct bench_result result = {
        .name = "x/8", .iterations = 100, .count = 3, .bytes = 1000, .items = 6
    };
    struct json json = { false };
    cJSON *rows = json_array(&json, NULL, NULL);

    for (int i = 0; i < result.count; i++) {
        result.real_ns[i] = cases[i].real;
        result.cpu_ns[i] = cases[i].cpu;
    }
    bench_rows_add(&json, rows, &result, 2, 1, &bench_units[0], false);
    assert_int_equal(cJSON_GetArraySize(rows), ARRAY_SIZE(cases));
    for (int i = 0; i < (int)ARRAY_SIZE(cases); i++) {
        const cJSON *row = cJSON_GetArrayItem(rows, i);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "name")), cases[i].name);
        assert_near(number_of(rows, i, "real_time"), cases[i].real);
        assert_near(number_of(rows, i, "cpu_time"), cases[i].cpu);
        assert_near(number_of(rows, i, "items_per_second"), cases[i].items_per_second);
        assert_null(cJSON_GetObjectItem(row, "flops_per_second"));
    }
    assert_near(number_of(rows, 0, "bytes_per_second"), 1e11);
    cJSON_Delete(rows);
}

/* The console's lines for a result, in a static buffer. */
static const char *printed(const struct bench_result *result, bool all_repetitions)
{
    static char text[4000];
    struct bench_console console = { .name_width = 12, .all_repetitions = all_repetitions };
    FILE *stream = fmemopen(text, sizeof text, "w");

    assert_non_null(stream);
    console.console = console_open(stream, COLOR_NEVER);
    bench_console_row(&console, result);
    bench_console_row(&console, result);
    fclose(stream);
    return text;
}

static int count_of(const char *text, const char *part)
{
    int count = 0;

    for (; (text = strstr(text, part)) != NULL; text++) count++;
    return count;
}

TEST(the_console_has_the_columns_of_google_benchmark)
{
    struct bench_result result = { .name = "x/8", .iterations = 100, .count = 3, .bytes = 1000 };
    const char *text;

    for (int i = 0; i < 3; i++) result.real_ns[i] = result.cpu_ns[i] = 10 + i;
    text = printed(&result, false);
    assert_int_equal(count_of(text, "Benchmark"), 1);
    assert_int_equal(count_of(text, "UserCounters..."), 1);
    assert_int_equal(count_of(text, "x/8"), 2);
    assert_int_equal(count_of(text, "11.0 ns"), 4);
    assert_int_equal(count_of(text, " bytes_per_second=90.9GB/s"), 2);
    text = printed(&result, true);
    assert_int_equal(count_of(text, "x/8 "), 6);
    assert_int_equal(count_of(text, "x/8_median "), 2);
    assert_int_equal(count_of(text, "12.0 ns"), 4);
    assert_int_equal(count_of(text, "9.09 %"), 4); /* cv */
    result.count = 1;
    assert_int_equal(count_of(printed(&result, false), "x/8 "), 2);
}
