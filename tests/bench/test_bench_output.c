/* What is printed of a bench: rows and columns are those of Google Benchmark. */
#include "harness/bench/bench_console.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <stdio.h>
#include <string.h>

static void rows_are_those_of_google_benchmark(void **state)
{
    static const char *const names[] = { "x/8",        "x/8",        "x/8",   "x/8_mean",
                                         "x/8_median", "x/8_stddev", "x/8_cv" };
    struct bench_result result = { .name = "x/8", .iterations = 100, .count = 3, .bytes = 1000 };
    struct json json = { false };
    cJSON *rows = json_array(&json, NULL, NULL), *row;
    (void)state;

    for (int i = 0; i < 3; i++) {
        result.real_ns[i] = 10 + i;
        result.cpu_ns[i] = 5;
    }
    bench_rows_add(&json, rows, &result, 2, 1);
    assert_int_equal(cJSON_GetArraySize(rows), ARRAY_SIZE(names));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_string_equal(
            cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetArrayItem(rows, (int)i), "name")),
            names[i]);
    row = cJSON_GetArrayItem(rows, 0);
    assert_true(cJSON_GetObjectItem(row, "real_time")->valuedouble == 10);
    assert_true(cJSON_GetObjectItem(row, "bytes_per_second")->valuedouble == 1e11);
    assert_null(cJSON_GetObjectItem(row, "flops_per_second"));
    row = cJSON_GetArrayItem(rows, 4);
    assert_true(cJSON_GetObjectItem(row, "real_time")->valuedouble == 11);
    row = cJSON_GetArrayItem(rows, 6);
    assert_float_equal(cJSON_GetObjectItem(row, "real_time")->valuedouble, 1.0 / 11, 1e-12);
    cJSON_Delete(rows);
}

/* What the console prints of a result, in a static buffer. */
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

static void the_console_has_the_columns_of_google_benchmark(void **state)
{
    struct bench_result result = { .name = "x/8", .iterations = 100, .count = 3, .bytes = 1000 };
    const char *text;
    (void)state;

    for (int i = 0; i < 3; i++) result.real_ns[i] = result.cpu_ns[i] = 10 + i;
    text = printed(&result, false);
    assert_int_equal(count_of(text, "Benchmark"), 1);
    assert_int_equal(count_of(text, "UserCounters..."), 1);
    assert_int_equal(count_of(text, "x/8"), 2);
    assert_int_equal(count_of(text, "11.0 ns"), 4);
    assert_int_equal(count_of(text, " bytes_per_second=90.9G/s"), 2);
    text = printed(&result, true);
    assert_int_equal(count_of(text, "x/8 "), 6);
    assert_int_equal(count_of(text, "x/8_median "), 2);
    assert_int_equal(count_of(text, "12.0 ns"), 4);
    assert_int_equal(count_of(text, "9.09 %"), 4); /* cv */
    result.count = 1;
    assert_int_equal(count_of(printed(&result, false), "x/8 "), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_google_benchmark),
        cmocka_unit_test(the_console_has_the_columns_of_google_benchmark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
