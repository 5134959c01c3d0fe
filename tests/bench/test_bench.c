/* How a bench is measured: iterations, repetitions, rounds of several rows, what happens when it
 * fails. */
#include "harness/base/clock.h"
#include "harness/bench/bench_measure.h"
#include "harness/bench/rounds.h"
#include "tests/fixtures/lab/training_fixture.h"

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
    calls.visited[calls.set_ups++ % 200] = work->argument;
    work->bytes = 24;
    work->items = 2;
    if (fails_to_set_up)
        FAIL(STATUS_INTERNAL, "adding computes wrongly");

    return STATUS_OK;
}

static enum status count_run(struct bench_work *work, int64_t iterations)
{
    volatile double sum = 0;

    (void)work;
    calls.iterations[calls.runs++ % 200] = iterations;
    if (calls.runs == fails_in_run)
        FAIL(STATUS_DEVICE_ERROR, "the device is gone");
    for (int64_t i = 0; i < iterations; i++) sum = sum + (double)i;
    calls.sum = sum;

    return STATUS_OK;
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

static enum status take_too_much(struct bench_work *work)
{
    void *memory;

    for (int i = 0; i <= BENCH_BLOCKS; i++)
        TRY(bench_alloc(work, (enum bench_memory)(i % 3), 4096, &memory));

    return STATUS_OK;
}

static int forget(void **state)
{
    calls = (struct calls){ 0 };
    fails_to_set_up = false;
    fails_in_run = 0;
    return 0;
}

TEST(all_repetitions_have_as_many_iterations_as_take_long_enough)
{
    struct device *device = *state;
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;

    settings.min_seconds = 0.002;
    settings.repetitions = 5;
    assert_ok(bench_measure(&result, &counting, 0, device, &settings));
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

TEST(iterations_that_are_given_are_taken)
{
    struct device *device = *state;
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;

    settings.iterations = 17;
    settings.repetitions = 3;
    assert_ok(bench_measure(&result, &counting, 5, device, &settings));
    assert_string_equal(result.name, "counting/5");
    assert_int_equal(calls.runs, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(calls.iterations[i], 17);
}

TEST(repetitions_end_when_the_noise_is_low_or_the_time_is_over)
{
    struct device *device = *state;
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;

    settings.iterations = 1000;
    settings.noise = 1000; /* low enough at once */
    assert_ok(bench_measure(&result, &counting, 0, device, &settings));
    assert_int_equal(result.count, 6);
    settings.noise = -1; /* never */
    assert_ok(bench_measure(&result, &counting, 0, device, &settings));
    assert_in_range(result.count, 7, 30);
    settings.max_seconds = 1e-9;
    assert_ok(bench_measure(&result, &counting, 0, device, &settings));
    assert_int_equal(result.count, 6);
}

TEST(a_wrong_result_is_not_timed)
{
    struct device *device = *state;
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;

    fails_to_set_up = true;
    assert_int_equal(bench_measure(&result, &counting, 0, device, &settings), STATUS_INTERNAL);
    assert_string_equal(status_last()->text, "adding computes wrongly");
    assert_int_equal(result.count, 0);
    assert_int_equal(calls.runs, 0);
    assert_int_equal(calls.tear_downs, 1);
}

TEST(a_repetition_that_fails_leaves_nothing)
{
    struct device *device = *state;
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;

    settings.iterations = 10;
    fails_in_run = 3;
    assert_int_equal(bench_measure(&result, &counting, 0, device, &settings), STATUS_DEVICE_ERROR);
    assert_int_equal(result.count, 0);
    assert_int_equal(calls.tear_downs, 1);
}

/* The visits of a row, and how the rounds went on. */
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

TEST(each_round_visits_every_row_in_another_order)
{
    enum { ROWS = 8, ROUNDS = 4 };
    struct device *device = *state;
    struct bench_row rows[ROWS];
    struct bench_settings settings = settings_of_rounds(2 * ROUNDS - 1, 2);
    struct followed followed = { 0 };
    int moved = 0;

    for (int i = 0; i < ROWS; i++)
        rows[i] = (struct bench_row){ .bench = &counting, .argument = i + 1 };
    assert_ok(bench_rounds(rows, ROWS, device, &settings, follow, &followed));
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

TEST(a_row_that_fails_or_cannot_be_is_visited_no_more)
{
    struct device *device = *state;
    struct bench_row rows[] = {
        { .bench = &counting, .argument = 1 },
        { .bench = &counting, .argument = 2, .lack = "the device lacks it" },
        { .bench = &counting, .argument = 3 },
    };
    struct bench_settings settings = settings_of_rounds(3, 1);
    struct followed followed = { 0 };

    fails_in_run = 1;
    assert_ok(bench_rounds(rows, 3, device, &settings, follow, &followed));
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
    (void)context, (void)share, (void)round_ended;
    FAIL(STATUS_IO, "the disk is full");
}

TEST(rounds_end_with_what_is_told_of_them)
{
    struct device *device = *state;
    struct bench_row rows[] = { { .bench = &counting, .argument = 1 },
                                { .bench = &counting, .argument = 2 } };
    struct bench_settings settings = settings_of_rounds(3, 1);

    assert_int_equal(bench_rounds(rows, 2, device, &settings, refuse, NULL), STATUS_IO);
    assert_int_equal(calls.set_ups, 1);
    assert_int_equal(calls.tear_downs, 1);
}

TEST(visits_go_on_until_the_noise_is_low_or_the_time_is_over)
{
    static const struct {
        double noise, max_seconds;
        int least, most;
    } cases[] = { { 1000, 1000, 18, 18 }, { -1, 1e-9, 18, 18 }, { -1, 1000, 36, 36 } };
    struct device *device = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bench_row row = { .bench = &counting };
        struct bench_settings settings = settings_of_rounds(0, 3);
        struct followed followed = { 0 };

        settings.iterations = 1000;
        settings.noise = cases[i].noise;
        settings.max_seconds = cases[i].max_seconds;
        assert_ok(bench_rounds(&row, 1, device, &settings, follow, &followed));
        assert_in_range(row.result.count, cases[i].least, cases[i].most);
        assert_int_equal(followed.visits, (row.result.count + 2) / 3);
    }
}

TEST(a_later_visit_keeps_the_iterations_and_warms_up)
{
    struct device *device = *state;
    struct bench_row row = { .bench = &counting };
    struct bench_settings settings = settings_of_rounds(2, 1);
    struct followed followed = { 0 };

    settings.iterations = 0;
    settings.min_seconds = 0.001;
    assert_ok(bench_rounds(&row, 1, device, &settings, follow, &followed));
    assert_int_equal(calls.iterations[calls.runs - 1], row.result.iterations);
    assert_int_equal(calls.iterations[calls.runs - 2], (row.result.iterations + 3) / 4);
    assert_int_equal(calls.iterations[calls.runs - 3], row.result.iterations);
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

TEST(only_what_a_bench_times_itself_counts_and_its_name_says_so)
{
    struct device *device = *state;
    const struct bench manual = {
        .name = "manual", .manual_time = true, .set_up = set_nothing_up, .run = run_manually
    };
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;

    settings.min_seconds = 1e-3;
    settings.repetitions = 3;
    assert_ok(bench_measure(&result, &manual, 4, device, &settings));
    assert_string_equal(result.name, "manual/4/manual_time");
    for (int i = 0; i < 3; i++) assert_true(result.real_ns[i] == 7);
    /* At 7 ns per iteration a millisecond would take for ever: the time that really passes ends
     * it. */
    assert_true((double)result.iterations * 7 < settings.min_seconds * 1e9);
    assert_true((double)manual_passed_ns > settings.min_seconds * 1e9);
}

TEST(cold_rows_leave_out_what_is_small_and_other_devices_have_their_own)
{
    const struct device_properties cpu = { .kind = "cpu" }, gpu = { .is_large = true };
    struct bench bench = { .name = "x", .arguments = { 1, 2, 3 }, .arguments_large = { 10, 20 } };
    int count;

    assert_int_equal(bench_arguments(&bench, &cpu, &count)[0], 1);
    assert_int_equal(count, 3);
    assert_int_equal(bench_arguments(&bench, &gpu, &count)[0], 10);
    assert_int_equal(count, 2);
    bench.cold = true;
    assert_int_equal(bench_arguments(&bench, &cpu, &count)[0], 2);
    assert_int_equal(count, 2);
    bench.arguments_large[1] = 0;
    assert_int_equal(bench_arguments(&bench, &gpu, &count)[0], 10);
    assert_int_equal(count, 1);
    bench.arguments[0] = 0;
    assert_int_equal(bench_arguments(&bench, &cpu, &count)[0], 0);
    assert_int_equal(count, 1);
}

TEST(a_bench_that_takes_too_much_memory_fails_and_gives_all_back)
{
    const struct bench greedy = { .name = "greedy", .set_up = take_too_much, .run = count_run };
    struct device *device = *state;
    struct bench_settings settings = bench_settings_default();
    struct memory_info before, after;
    struct bench_result result;

    assert_ok(device_memory_info(device, &before));
    assert_int_equal(bench_measure(&result, &greedy, 0, device, &settings), STATUS_INTERNAL);
    assert_ok(device_memory_info(device, &after));
    assert_int_equal(after.used, before.used);
    assert_int_equal(calls.runs, 0);
}

TESTS_OF(open_device, close_device, forget, NULL)
