/* How a bench is measured: iterations, repetitions, what happens when it fails; and that every bench of
 * the list passes its own check. */
#include "benches/benches.h"
#include "benches/tensor.h"
#include "harness/bench/bench_rows.h"
#include "harness/bench/timing.h"
#include "tests/cmocka_prelude.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct device *device;

static int open_device(void **state)
{
    const struct device_options options = { .spin_ns = -1 };

    (void)state;
    return device_open(&device, "cpu", &options) != STATUS_OK;
}

static int close_device(void **state)
{
    (void)state;
    device_close(device);
    return 0;
}

/* A bench that counts what is asked of it. Its work is real: it adds. */
static struct calls {
    int set_ups, runs, tear_downs;
    int64_t iterations[200];
    double sum;
} calls;
static bool fails_to_set_up;
static int fails_in_run; /* number of the run; 0: in none */

static enum status count_set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;

    calls.set_ups++;
    work->bytes = 24;
    work->items = 2;
    if (fails_to_set_up)
        FAIL(STATUS_INTERNAL, "adding computes wrongly");

out:
    return status;
}

static enum status count_run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    volatile double sum = 0;

    (void)work;
    calls.iterations[calls.runs++ % 200] = iterations;
    if (calls.runs == fails_in_run)
        FAIL(STATUS_DEVICE_ERROR, "the device is gone");
    for (int64_t i = 0; i < iterations; i++) sum = sum + (double)i;
    calls.sum = sum;

out:
    return status;
}

static void count_tear_down(struct bench_work *work)
{
    (void)work;
    calls.tear_downs++;
}

static const struct bench counting = {
    .name = "counting",
    .set_up = count_set_up,
    .run = count_run,
    .tear_down = count_tear_down,
};

static int forget(void **state)
{
    (void)state;
    calls = (struct calls){ 0 };
    fails_to_set_up = false;
    fails_in_run = 0;
    return 0;
}

static void all_repetitions_have_as_many_iterations_as_take_long_enough(void **state)
{
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;
    (void)state;

    settings.min_seconds = 0.002;
    settings.repetitions = 5;
    assert_int_equal(bench_measure(&result, &counting, 0, device, &settings), STATUS_OK);
    assert_int_equal(result.count, 5);
    assert_true(calls.runs > 5);
    assert_int_equal(calls.iterations[0], 1);
    for (int i = 1; i < calls.runs - 5; i++) {
        assert_true(calls.iterations[i] > calls.iterations[i - 1]);
        assert_true(calls.iterations[i] <= 10 * calls.iterations[i - 1]);
    }
    for (int i = calls.runs - 5; i < calls.runs; i++)
        assert_int_equal(calls.iterations[i], result.iterations);
    assert_int_equal(calls.set_ups, 1);
    assert_int_equal(calls.tear_downs, 1);
    assert_true(result.bytes == 24 && result.items == 2 && result.flops == 0);
}

static void iterations_that_are_given_are_taken(void **state)
{
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;
    (void)state;

    settings.iterations = 17;
    settings.repetitions = 3;
    assert_int_equal(bench_measure(&result, &counting, 5, device, &settings), STATUS_OK);
    assert_string_equal(result.name, "counting/5");
    assert_int_equal(calls.runs, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(calls.iterations[i], 17);
}

static void repetitions_end_when_the_noise_is_low_or_the_time_is_over(void **state)
{
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;
    (void)state;

    settings.iterations = 1000;
    settings.noise = 1000; /* low enough at once */
    assert_int_equal(bench_measure(&result, &counting, 0, device, &settings), STATUS_OK);
    assert_int_equal(result.count, 6);
    settings.noise = 0; /* never: the interval of a clock's readings has a width */
    assert_int_equal(bench_measure(&result, &counting, 0, device, &settings), STATUS_OK);
    assert_in_range(result.count, 7, 30);
    settings.max_seconds = 1e-9;
    assert_int_equal(bench_measure(&result, &counting, 0, device, &settings), STATUS_OK);
    assert_int_equal(result.count, 6);
}

static void a_wrong_result_is_not_timed(void **state)
{
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;
    (void)state;

    fails_to_set_up = true;
    assert_int_equal(bench_measure(&result, &counting, 0, device, &settings), STATUS_INTERNAL);
    assert_string_equal(status_last()->text, "adding computes wrongly");
    assert_int_equal(result.count, 0);
    assert_int_equal(calls.runs, 0);
    assert_int_equal(calls.tear_downs, 1);
}

static void a_repetition_that_fails_leaves_nothing(void **state)
{
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;
    (void)state;

    settings.iterations = 10;
    fails_in_run = 3;
    assert_int_equal(bench_measure(&result, &counting, 0, device, &settings), STATUS_DEVICE_ERROR);
    assert_int_equal(result.count, 0);
    assert_int_equal(calls.tear_downs, 1);
}

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
    bench_rows_add(&json, rows, &result, 2, 1, false);
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
    cJSON_Delete(rows);
    rows = json_array(&json, NULL, NULL);
    bench_rows_add(&json, rows, &result, 2, 1, true);
    assert_int_equal(cJSON_GetArraySize(rows), 4);
    cJSON_Delete(rows);
}

/* Each argument of each bench: set up, which checks the result, and one iteration. */
static void every_bench_passes_its_own_check_and_gives_all_back(void **state)
{
    struct bench_settings settings = bench_settings_default();
    struct memory_info before, after;
    struct bench_result result;
    (void)state;

    settings.iterations = 1;
    settings.repetitions = 1;
    assert_int_equal(device_memory_info(device, &before), STATUS_OK);
    for (int i = 0; i < bench_count; i++)
        for (int j = 0; j < BENCH_ARGUMENTS && (j == 0 || benches[i]->arguments[j] != 0); j++) {
            if (bench_measure(&result, benches[i], benches[i]->arguments[j], device, &settings) !=
                STATUS_OK)
                fail_msg("%s: %s", result.name, status_last()->text);
            assert_int_equal(result.count, 1);
            assert_true(result.real_ns[0] > 0);
        }
    assert_int_equal(device_memory_info(device, &after), STATUS_OK);
    assert_int_equal(after.used, before.used);
}

static void a_check_lets_neither_a_wrong_value_nor_nan_pass(void **state)
{
    (void)state;

    assert_int_equal(tensor_check("x", 3, 1.05, 1, 0.1), STATUS_OK);
    assert_int_equal(tensor_check("x", 3, 1.2, 1, 0.1), STATUS_INTERNAL);
    assert_string_equal(status_last()->text, "x computes wrongly: element 3 is 1.2, not 1");
    assert_int_equal(tensor_check("x", 3, NAN, 1, 0.1), STATUS_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_repetitions_have_as_many_iterations_as_take_long_enough, forget),
        cmocka_unit_test_setup(iterations_that_are_given_are_taken, forget),
        cmocka_unit_test_setup(repetitions_end_when_the_noise_is_low_or_the_time_is_over, forget),
        cmocka_unit_test_setup(a_wrong_result_is_not_timed, forget),
        cmocka_unit_test_setup(a_repetition_that_fails_leaves_nothing, forget),
        cmocka_unit_test(rows_are_those_of_google_benchmark),
        cmocka_unit_test(every_bench_passes_its_own_check_and_gives_all_back),
        cmocka_unit_test(a_check_lets_neither_a_wrong_value_nor_nan_pass),
    };

    return cmocka_run_group_tests(tests, open_device, close_device);
}
