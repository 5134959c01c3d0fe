/* How a bench is measured: iterations, repetitions, what happens when it fails; and that every bench of
 * the list passes its own check. */
#include "benches/benches.h"
#include "benches/operand.h"
#include "benches/roofs.h"
#include "harness/bench/bench_console.h"
#include "harness/bench/bench_rows.h"
#include "harness/bench/rounds.h"
#include "harness/bench/timing.h"
#include "harness/status/clock.h"
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
    int64_t visited[200]; /* the arguments, in order */
    double sum;
} calls;
static bool fails_to_set_up;
static int fails_in_run; /* number of the run; 0: in none */

static enum status count_set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;

    calls.visited[calls.set_ups++ % 200] = work->argument;
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
    settings.noise = -1; /* never */
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

/* What a row's visits were, and how the rounds went on. */
struct followed {
    double share;
    int visits, rounds;
};

static enum status follow(void *context, double share, bool round_ended)
{
    struct followed *followed = context;

    assert_true(share > followed->share && share <= 1);
    followed->share = share;
    followed->visits++;
    followed->rounds += round_ended;
    return STATUS_OK;
}

static struct bench_settings settings_of_rounds(int repetitions, int visit)
{
    struct bench_settings settings = bench_settings_default();

    settings.iterations = 10;
    settings.repetitions = repetitions;
    settings.visit = visit;
    return settings;
}

static void each_round_visits_every_row_in_another_order(void **state)
{
    enum { ROWS = 8, ROUNDS = 4 };
    struct bench_row rows[ROWS];
    struct bench_settings settings = settings_of_rounds(2 * ROUNDS - 1, 2);
    struct followed followed = { 0 };
    int moved = 0;
    (void)state;

    for (int i = 0; i < ROWS; i++)
        rows[i] = (struct bench_row){ .bench = &counting, .argument = i + 1 };
    assert_int_equal(bench_rounds(rows, ROWS, device, &settings, follow, &followed), STATUS_OK);
    assert_int_equal(followed.visits, ROWS * ROUNDS);
    assert_int_equal(followed.rounds, ROUNDS);
    assert_true(followed.share == 1);
    assert_int_equal(calls.set_ups, ROWS * ROUNDS);
    assert_int_equal(calls.tear_downs, ROWS * ROUNDS);
    assert_int_equal(calls.runs, ROWS * (2 * ROUNDS - 1));
    for (int round = 0; round < ROUNDS; round++) {
        int seen = 0;
        for (int i = 0; i < ROWS; i++) {
            int64_t argument = calls.visited[round * ROWS + i];
            seen |= 1 << argument;
            moved += argument != i + 1;
            assert_true(round > 0 || argument == i + 1);
        }
        assert_int_equal(seen, (1 << (ROWS + 1)) - 2);
    }
    assert_true(moved > ROWS);
    for (int i = 0; i < ROWS; i++) assert_int_equal(rows[i].result.count, 2 * ROUNDS - 1);
}

static void a_row_that_fails_or_cannot_be_is_visited_no_more(void **state)
{
    struct bench_row rows[] = {
        { .bench = &counting, .argument = 1 },
        { .bench = &counting, .argument = 2, .lack = "the device lacks it" },
        { .bench = &counting, .argument = 3 },
    };
    struct bench_settings settings = settings_of_rounds(3, 1);
    struct followed followed = { 0 };
    (void)state;

    fails_in_run = 1;
    assert_int_equal(bench_rounds(rows, 3, device, &settings, follow, &followed), STATUS_OK);
    assert_int_equal(rows[0].status, STATUS_DEVICE_ERROR);
    assert_string_equal(rows[0].failure, "the device is gone");
    assert_int_equal(rows[0].result.count, 0);
    assert_int_equal(rows[1].result.count, 0);
    assert_int_equal(rows[2].status, STATUS_OK);
    assert_int_equal(rows[2].result.count, 3);
    assert_int_equal(calls.set_ups, 4);
    assert_int_equal(calls.tear_downs, 4);
}

static enum status refuse(void *context, double share, bool round_ended)
{
    enum status status = STATUS_OK;

    (void)context, (void)share, (void)round_ended;
    FAIL(STATUS_IO, "the disk is full");

out:
    return status;
}

static void rounds_end_with_what_is_told_of_them(void **state)
{
    struct bench_row rows[] = { { .bench = &counting, .argument = 1 },
                                { .bench = &counting, .argument = 2 } };
    struct bench_settings settings = settings_of_rounds(3, 1);
    (void)state;

    assert_int_equal(bench_rounds(rows, 2, device, &settings, refuse, NULL), STATUS_IO);
    assert_int_equal(calls.set_ups, 1);
    assert_int_equal(calls.tear_downs, 1);
}

static void visits_go_on_until_the_noise_is_low_or_the_time_is_over(void **state)
{
    static const struct {
        double noise, max_seconds;
        int least, most;
    } cases[] = { { 1000, 1000, 18, 18 }, { -1, 1e-9, 18, 18 }, { -1, 1000, 36, 36 } };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bench_row row = { .bench = &counting };
        struct bench_settings settings = settings_of_rounds(0, 3);
        struct followed followed = { 0 };

        settings.iterations = 1000;
        settings.noise = cases[i].noise;
        settings.max_seconds = cases[i].max_seconds;
        assert_int_equal(bench_rounds(&row, 1, device, &settings, follow, &followed), STATUS_OK);
        assert_in_range(row.result.count, cases[i].least, cases[i].most);
        assert_int_equal(followed.visits, (row.result.count + 2) / 3);
    }
}

static void a_later_visit_keeps_the_iterations_and_warms_up(void **state)
{
    struct bench_row row = { .bench = &counting };
    struct bench_settings settings = settings_of_rounds(2, 1);
    struct followed followed = { 0 };
    (void)state;

    settings.iterations = 0;
    settings.min_seconds = 0.001;
    assert_int_equal(bench_rounds(&row, 1, device, &settings, follow, &followed), STATUS_OK);
    assert_int_equal(calls.iterations[calls.runs - 1], row.result.iterations);
    assert_int_equal(calls.iterations[calls.runs - 2], (row.result.iterations + 3) / 4);
    assert_int_equal(calls.iterations[calls.runs - 3], row.result.iterations);
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
    bench_rows_add(&json, rows, &result, 2, 1, &time_units[0], false);
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
    bench_rows_add(&json, rows, &result, 2, 1, &time_units[0], true);
    assert_int_equal(cJSON_GetArraySize(rows), 4);
    cJSON_Delete(rows);
}

static double number_of(const cJSON *rows, int index, const char *member)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetArrayItem(rows, index), member));
}

static void a_unit_of_time_scales_times_but_no_ratio_and_no_rate(void **state)
{
    enum { CV = 5 };
    struct bench_result result = { .name = "x", .iterations = 1, .count = 2, .items = 3 };
    struct json json = { false };
    cJSON *rows = json_array(&json, NULL, NULL);
    double cv;
    (void)state;

    result.real_ns[0] = 1000;
    result.real_ns[1] = 3000;
    result.cpu_ns[0] = result.cpu_ns[1] = 500;
    bench_rows_add(&json, rows, &result, 0, 0, &time_units[1], false);
    assert_string_equal(
        cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetArrayItem(rows, 0), "time_unit")), "us");
    assert_true(number_of(rows, 0, "real_time") == 1 && number_of(rows, 0, "cpu_time") == 0.5);
    assert_true(number_of(rows, 0, "items_per_second") == 3e6);
    assert_true(number_of(rows, 2, "real_time") == 2); /* mean */
    cv = number_of(rows, CV, "real_time");
    assert_true(fabs(cv - sqrt(2) / 2) < 1e-12);
    cJSON_Delete(rows);
}

/* What the console prints of a result, in a static buffer. */
static const char *printed(const struct bench_result *result, enum bench_lines lines, bool tabular,
                           const struct time_unit *unit)
{
    static char text[4000];
    struct bench_console console = {
        .name_width = 12, .unit = unit, .lines = lines, .tabular = tabular
    };
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
    text = printed(&result, LINES_MEDIAN, false, NULL);
    assert_int_equal(count_of(text, "Benchmark"), 1);
    assert_int_equal(count_of(text, "UserCounters..."), 1);
    assert_int_equal(count_of(text, "x/8"), 2);
    assert_int_equal(count_of(text, "11.0 ns"), 4);
    assert_int_equal(count_of(text, " bytes_per_second=90.9G/s"), 2);
    text = printed(&result, LINES_ALL, false, &time_units[1]);
    assert_int_equal(count_of(text, "x/8 "), 6);
    assert_int_equal(count_of(text, "x/8_median "), 2);
    assert_int_equal(count_of(text, "0.012 us"), 4);
    assert_int_equal(count_of(text, "9.09 %"), 4); /* cv */
    text = printed(&result, LINES_AGGREGATES, true, NULL);
    assert_int_equal(count_of(text, "x/8 "), 0);
    assert_int_equal(count_of(text, "_cv"), 2);
    assert_int_equal(count_of(text, "bytes_per_second"), 1);
    assert_int_equal(count_of(text, "90.9G/s"), 2); /* the median's */
    result.count = 1;
    assert_int_equal(count_of(printed(&result, LINES_AGGREGATES, false, NULL), "x/8 "), 2);
}

static void a_roof_is_what_takes_longer_bytes_or_flops(void **state)
{
    static const struct {
        enum roof roof;
        int64_t bytes, flops;
        double roof_ns;
    } cases[] = {
        { ROOF_NONE, 1000, 1000, 0 },
        { ROOF_MEMORY, 1000, 1 << 20, 100 },
        { ROOF_PRODUCTS, 1000, 1000, 100 },
        { ROOF_PRODUCTS, 1000, 5000, 250 },
    };
    const struct roofs roofs = { 1e10, { 2e10, 0, 0, 0 } };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct bench bench = { .roof = cases[i].roof, .dtype = DTYPE_F32 };
        struct bench_result result = { .bytes = cases[i].bytes, .flops = cases[i].flops };
        roofs_apply(&roofs, &bench, &result);
        assert_float_equal(result.roof_ns, cases[i].roof_ns, 1e-9);
    }
}

static void limits_are_measured_once_and_only_where_they_bound(void **state)
{
    const struct bench memory = { .roof = ROOF_MEMORY }, none = { .roof = ROOF_NONE };
    struct roofs roofs = { 0, { 0 } };
    (void)state;

    roofs_measure(&roofs, &none, device);
    assert_true(roofs.bytes_per_second == 0);
    roofs_measure(&roofs, &memory, device);
    assert_true(roofs.bytes_per_second > 1e8);
    for (int i = 0; i < ROOF_PEAKS; i++) assert_true(roofs.flops_per_second[i] == 0);
    roofs.bytes_per_second = 7;
    roofs_measure(&roofs, &memory, device);
    assert_true(roofs.bytes_per_second == 7);
}

static int64_t manual_passed_ns;

static enum status run_manually(struct bench_work *work, int64_t iterations)
{
    int64_t begin = clock_ns();
    volatile double sum = 0;

    for (int64_t i = 0; i < 1000 * iterations; i++) sum = sum + (double)i;
    work->timed_ns += 7 * iterations;
    manual_passed_ns = clock_ns() - begin;
    return STATUS_OK;
}

static enum status set_nothing_up(struct bench_work *work)
{
    (void)work;
    return STATUS_OK;
}

static void only_what_a_bench_times_itself_counts_and_its_name_says_so(void **state)
{
    const struct bench manual = {
        .name = "manual", .manual_time = true, .set_up = set_nothing_up, .run = run_manually
    };
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;
    (void)state;

    settings.min_seconds = 1e-3;
    settings.repetitions = 3;
    assert_int_equal(bench_measure(&result, &manual, 4, device, &settings), STATUS_OK);
    assert_string_equal(result.name, "manual/4/manual_time");
    for (int i = 0; i < 3; i++) assert_true(result.real_ns[i] == 7);
    /* 7 ns an iteration would take for ever to reach a millisecond: what passes beside ends it. */
    assert_true((double)result.iterations * 7 < settings.min_seconds * 1e9);
    assert_true((double)manual_passed_ns > settings.min_seconds * 1e9);
}

static void cold_rows_leave_out_what_is_small_and_other_devices_have_their_own(void **state)
{
    const struct device_properties cpu = { .kind = "cpu" }, gpu = { .kind = "cuda" };
    struct bench bench = { .name = "x", .arguments = { 1, 2, 3 }, .arguments_cuda = { 10, 20 } };
    int count;
    (void)state;

    assert_int_equal(bench_arguments(&bench, &cpu, &count)[0], 1);
    assert_int_equal(count, 3);
    assert_int_equal(bench_arguments(&bench, &gpu, &count)[0], 10);
    assert_int_equal(count, 2);
    bench.cold = true;
    assert_int_equal(bench_arguments(&bench, &cpu, &count)[0], 2);
    assert_int_equal(count, 2);
    bench.arguments_cuda[1] = 0;
    assert_int_equal(bench_arguments(&bench, &gpu, &count)[0], 10);
    assert_int_equal(count, 1);
    bench.arguments[0] = 0;
    assert_int_equal(bench_arguments(&bench, &cpu, &count)[0], 0);
    assert_int_equal(count, 1);
}

/* All copies together are four caches, they lie apart, and each takes its turn. */
static void a_cold_row_comes_back_to_data_only_after_four_caches_of_other_data(void **state)
{
    enum { COUNT = 1 << 16, BYTES = COUNT * 4 };
    const struct bench cold = { .name = "x_cold", .cold = true }, warm = { .name = "x" };
    struct bench_work work = { .bench = &cold, .device = device, .copies = 1 };
    struct operand operand = { .count = 0 };
    int64_t cache = device_properties(device)->cache_bytes;
    (void)state;

    assert_int_equal(stream_create(device, &work.stream), STATUS_OK);
    operands_rotate(&work, BYTES);
    assert_true((int64_t)work.copies * BYTES >= 4 * (cache > 0 ? cache : 1));
    assert_int_equal(operand_open(&operand, &work, DTYPE_F32, COUNT), STATUS_OK);
    for (int i = 0; i < work.copies; i++) {
        int64_t copy = operands_next(&work);
        assert_int_equal(copy, i);
        assert_true((char *)operand_at(&operand, copy) == operand.device + (size_t)i * BYTES);
    }
    assert_int_equal(operands_next(&work), 0);
    operand_release(&operand, &work);
    work.bench = &warm;
    operands_rotate(&work, BYTES);
    assert_int_equal(work.copies, 1);
    stream_destroy(work.stream);
}

/* What was written is read back as it was, copies too; it is no zeros, and as many different values as
 * the type has between -1 and 1. */
static void operands_hold_random_values_that_are_exact_in_their_type(void **state)
{
    static const struct {
        enum dtype dtype;
        double step;
    } cases[] = { { DTYPE_F32, 0x1p-23 }, { DTYPE_BF16, 0x1p-7 }, { DTYPE_F16, 0x1p-10 } };
    enum { COUNT = 1 << 15 };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct bench bench = { .name = "x" };
        struct bench_work work = { .bench = &bench, .device = device, .copies = 2 };
        struct operand operand = { .count = 0 };
        double squares = 0, first, least = 1, most = -1;

        work.random = random_seed(1, i);
        assert_int_equal(stream_create(device, &work.stream), STATUS_OK);
        assert_int_equal(operand_open(&operand, &work, cases[i].dtype, COUNT), STATUS_OK);
        first = operand_value(&operand, 0);
        memset(operand.host, 0, COUNT * dtype_bytes(cases[i].dtype));
        operand.device += operand.stride; /* the second copy */
        assert_int_equal(operand_read(&operand, &work), STATUS_OK);
        operand.device -= operand.stride;
        assert_true(operand_value(&operand, 0) == first);
        for (int64_t j = 0; j < COUNT; j++) {
            double value = operand_value(&operand, j);
            assert_true(fmod(value, cases[i].step) == 0 && fabs(value) <= 1);
            squares += value * value / COUNT;
            least = fmin(least, value);
            most = fmax(most, value);
        }
        assert_true(squares > 0.32 && squares < 0.35); /* a third */
        assert_true(least < -0.99 && most > 0.99);
        operand_release(&operand, &work);
        stream_destroy(work.stream);
    }
}

static bool is_lacking(const struct bench *bench)
{
    return bench->lack != NULL && bench->lack(bench, device_properties(device)) != NULL;
}

/* Each row of each bench: set up, which checks the result, and one iteration. */
static void every_bench_passes_its_own_check_and_gives_all_back(void **state)
{
    struct bench_settings settings = bench_settings_default();
    struct memory_info before, after;
    struct bench_result result;
    (void)state;

    settings.iterations = 1;
    settings.repetitions = 1;
    assert_int_equal(device_memory_info(device, &before), STATUS_OK);
    for (int i = 0; i < bench_count; i++) {
        const struct bench *bench = benches[i];
        int count;
        const int64_t *arguments = bench_arguments(bench, device_properties(device), &count);
        if (is_lacking(bench))
            continue;
        for (int j = 0; j < count; j++) {
            if (bench_measure(&result, bench, arguments[j], device, &settings) != STATUS_OK)
                fail_msg("%s: %s", result.name, status_last()->text);
            assert_int_equal(result.count, 1);
            assert_true(result.real_ns[0] > 0);
            assert_true(bench->roof == ROOF_NONE || result.bytes > 0);
            assert_true(bench->roof != ROOF_PRODUCTS || result.flops > 0);
        }
    }
    assert_int_equal(device_memory_info(device, &after), STATUS_OK);
    assert_int_equal(after.used, before.used);
}

/* One row with the `call`-th call of a kind failing. True when that call was made. */
static bool fails_cleanly(const struct bench *bench, const char *kind, int call)
{
    struct bench_settings settings = bench_settings_default();
    const struct device_options options = { .spin_ns = 0 };
    struct device *failing = NULL;
    struct bench_result result;
    struct memory_info info;
    enum status status;
    char fault[40];
    int count;

    settings.iterations = 1;
    settings.repetitions = 1;
    snprintf(fault, sizeof fault, "%s:%d", kind, call);
    setenv("CHOKEPOINT_FAIL", fault, 1);
    status = device_open(&failing, "cpu", &options);
    unsetenv("CHOKEPOINT_FAIL");
    assert_int_equal(status, STATUS_OK);
    status =
        bench_measure(&result, bench, bench_arguments(bench, device_properties(failing), &count)[0],
                      failing, &settings);
    if (status != STATUS_OK && strstr(status_last()->text, "injected") == NULL)
        fail_msg("%s with %s: %s", bench->name, fault, status_last()->text);
    if (device_memory_info(failing, &info) != STATUS_OK || info.used != 0)
        fail_msg("%s with %s: %lld bytes are left", bench->name, fault, (long long)info.used);
    assert_int_equal(result.count, status == STATUS_OK);
    device_close(failing);
    return status != STATUS_OK;
}

/* Cold rows are the same code with more data. */
static void whatever_call_fails_a_bench_says_so_and_gives_all_back(void **state)
{
    static const char *const kinds[] = { "alloc", "host_alloc", "stream", "event",
                                         "copy",  "memset",     "launch", "gemm",
                                         "graph", "sync",       "kernel" };
    enum { CALLS = 6 };
    int failed = 0;
    (void)state;

    for (int i = 0; i < bench_count; i++) {
        if (benches[i]->cold || is_lacking(benches[i]))
            continue;
        for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++)
            for (int call = 1; call <= CALLS && fails_cleanly(benches[i], kinds[kind], call);
                 call++)
                failed++;
    }
    assert_true(failed > 10 * bench_count);
}

static void names_are_different_and_those_of_cold_rows_say_so(void **state)
{
    (void)state;

    for (int i = 0; i < bench_count; i++) {
        assert_true((strstr(benches[i]->name, "_cold") != NULL) == benches[i]->cold);
        for (int j = 0; j < i; j++) assert_string_not_equal(benches[i]->name, benches[j]->name);
    }
}

static void a_check_lets_neither_a_wrong_value_nor_nan_pass(void **state)
{
    uint16_t bf16[] = { 0x3f80, 0x3f81 }; /* 1 and what comes next */
    const struct operand operand = { .dtype = DTYPE_BF16, .count = 2, .host = bf16 };
    (void)state;

    assert_int_equal(value_check("x", 3, 1.05, 1, 0.1), STATUS_OK);
    assert_int_equal(value_check("x", 3, 1.2, 1, 0.1), STATUS_INTERNAL);
    assert_string_equal(status_last()->text, "x computes wrongly: element 3 is 1.2, not 1");
    assert_int_equal(value_check("x", 3, NAN, 1, 0.1), STATUS_INTERNAL);
    assert_int_equal(value_check("x", 3, 1, NAN, 0.1), STATUS_INTERNAL);
    assert_int_equal(operand_check(&operand, "x", 1, 1.004, 0), STATUS_OK);
    assert_int_equal(operand_check(&operand, "x", 1, 1.02, 0), STATUS_INTERNAL);
    assert_int_equal(operand_check(&operand, "x", 0, -1, 0), STATUS_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_repetitions_have_as_many_iterations_as_take_long_enough, forget),
        cmocka_unit_test_setup(iterations_that_are_given_are_taken, forget),
        cmocka_unit_test_setup(repetitions_end_when_the_noise_is_low_or_the_time_is_over, forget),
        cmocka_unit_test_setup(a_wrong_result_is_not_timed, forget),
        cmocka_unit_test_setup(a_repetition_that_fails_leaves_nothing, forget),
        cmocka_unit_test_setup(each_round_visits_every_row_in_another_order, forget),
        cmocka_unit_test_setup(a_row_that_fails_or_cannot_be_is_visited_no_more, forget),
        cmocka_unit_test_setup(rounds_end_with_what_is_told_of_them, forget),
        cmocka_unit_test_setup(visits_go_on_until_the_noise_is_low_or_the_time_is_over, forget),
        cmocka_unit_test_setup(a_later_visit_keeps_the_iterations_and_warms_up, forget),
        cmocka_unit_test(rows_are_those_of_google_benchmark),
        cmocka_unit_test(a_unit_of_time_scales_times_but_no_ratio_and_no_rate),
        cmocka_unit_test(the_console_has_the_columns_of_google_benchmark),
        cmocka_unit_test(a_roof_is_what_takes_longer_bytes_or_flops),
        cmocka_unit_test(limits_are_measured_once_and_only_where_they_bound),
        cmocka_unit_test(only_what_a_bench_times_itself_counts_and_its_name_says_so),
        cmocka_unit_test(cold_rows_leave_out_what_is_small_and_other_devices_have_their_own),
        cmocka_unit_test(a_cold_row_comes_back_to_data_only_after_four_caches_of_other_data),
        cmocka_unit_test(operands_hold_random_values_that_are_exact_in_their_type),
        cmocka_unit_test(names_are_different_and_those_of_cold_rows_say_so),
        cmocka_unit_test(every_bench_passes_its_own_check_and_gives_all_back),
        cmocka_unit_test(whatever_call_fails_a_bench_says_so_and_gives_all_back),
        cmocka_unit_test(a_check_lets_neither_a_wrong_value_nor_nan_pass),
    };

    return cmocka_run_group_tests(tests, open_device, close_device);
}
