/* The parent's side: what it makes of what a child sends, whole or not. The stand-in plays a
 * file. */
#include "harness/lab/experiment/parent/arguments.h"
#include "harness/lab/experiment/parent/experiment.h"
#include "harness/lab/experiment/records.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <fcntl.h>
#include <unistd.h>

enum { PAIRS = 6 };

static char program[4096], play_path[] = "/tmp/chokepoint-test-XXXXXX";

static const struct scenario scenario = {
    .name = "test",
    .expect = { { METRIC_STEP_TIME, SHRINKS, .at_least = 1.25 } },
};

/* --- Writing what the child will send --- */

static int play;

static void play_text(const char *text)
{
    assert_int_equal(write(play, text, strlen(text)), (int)strlen(text));
}

static void play_scenario(void)
{
    struct record record = { .type = RECORD_SCENARIO,
                             .device = { .kind = "cpu", .name = "CPU device (test)" },
                             .settings = { "loss_every=1", "loss_every=20" },
                             .fp32 = { true, false },
                             .balance = { true, 1, 2, 0.5, 96 },
                             .window_seconds = 0.3 };

    assert_ok(record_write(play, &record));
}

static void play_repetition(enum variant variant, int index)
{
    double step_ns[] = { 1000, 2000 };
    struct record record = { .type = RECORD_REPETITION, .variant = variant, .index = index };

    record.repetition.metric[METRIC_STEP_TIME] = variant == VARIANT_BEFORE ? 150 + index : 100;
    record.repetition.step_ns = step_ns;
    record.repetition.step_count = 2;
    for (int i = 0; i < LOSS_STEPS; i++) record.repetition.losses[i] = 1;
    assert_ok(record_write(play, &record));
}

static void play_pairs(int count)
{
    for (int i = 0; i < count; i++) {
        play_repetition(i % 2 == 0 ? VARIANT_BEFORE : VARIANT_AFTER, i);
        play_repetition(i % 2 == 0 ? VARIANT_AFTER : VARIANT_BEFORE, i);
    }
}

static void play_last(enum record_type type, const char *text)
{
    struct record record = { .type = type };

    strcpy(record.text, text);
    assert_ok(record_write(play, &record));
}

/* --- Running it --- */

struct seen {
    int calls, pairs, traces;
    struct experiment_state last;
    volatile sig_atomic_t stop;
    int stop_at; /* this pair */
};

/* Progress never goes back while no pairs are added, and there is time left until all is done. */
static void progress(void *context, const struct scenario *of, const struct experiment_state *state)
{
    struct seen *seen = context;
    bool is_trace = strcmp(state->part, "trace") == 0;

    assert_ptr_equal(of, &scenario);
    assert_in_range(state->number, 1, state->total);
    if (state->total == seen->last.total && !is_trace)
        assert_true(state->share >= seen->last.share && state->number >= seen->last.number);
    assert_true(state->share >= 0 && state->share <= 1);
    seen->calls++;
    *(is_trace ? &seen->traces : &seen->pairs) += 1;
    seen->last = *state;
    if (seen->stop_at > 0 && state->number >= seen->stop_at)
        seen->stop = 1;
}

/* Set anew for each test. */
static struct protocol how;
static struct seen seen;
static struct scenario_result result;

static int begin(void **state)
{
    scenario_result_release(&result);
    how = protocol_default(true);
    how.repetitions = PAIRS;
    how.extra = 0;
    how.timeout_seconds = 60;
    seen = (struct seen){ .calls = 0 };
    result = (struct scenario_result){ .pairs = 0 };
    play = open(play_path, O_WRONLY | O_TRUNC);
    unsetenv("STAND_IN_CRASHES");
    unsetenv("STAND_IN_HANGS");
    unsetenv("STAND_IN_PAUSES");
    return play >= 0 ? 0 : -1;
}

static enum status run(void)
{
    close(play);
    return experiment_run(&result, program, &scenario, &how, progress, &seen, &seen.stop);
}

TEST(a_whole_child_gives_a_verdict)
{
    play_scenario();
    play_pairs(PAIRS);
    play_last(RECORD_END, "");
    assert_ok(run());
    assert_int_equal(result.verdict, VERDICT_REPRODUCED);
    assert_string_equal(result.reason, "");
    assert_int_equal(result.pairs, PAIRS);
    assert_float_equal(result.step_time.factor, 1.525, 1e-9);
    assert_string_equal(result.device.name, "CPU device (test)");
    assert_string_equal(result.settings[VARIANT_AFTER], "loss_every=20");
    assert_true(result.fp32[VARIANT_BEFORE] && !result.fp32[VARIANT_AFTER]);
    assert_int_equal(result.balance.jpeg_pixels, 96);
    assert_true(result.protocol.window_seconds == 0.3);
    assert_int_equal(seen.calls, 1 + 2 * PAIRS);
    assert_int_equal(seen.last.number, PAIRS);
    assert_int_equal(seen.last.total, PAIRS);
    assert_true(seen.last.share == 1);
    for (int i = 0; i < PAIRS; i++) {
        assert_true(result.repetitions[VARIANT_BEFORE][i].metric[METRIC_STEP_TIME] == 150 + i);
        assert_true(result.repetitions[VARIANT_AFTER][i].step_ns[1] == 2000);
    }
}

/* Three more while nothing is decided: they are announced once the first of them has begun. */
TEST(pairs_that_are_added_count_as_time_left)
{
    how.extra = 2 * EXTRA_PAIRS;
    play_scenario();
    play_pairs(PAIRS + 1);
    play_last(RECORD_END, "");
    assert_ok(run());
    assert_int_equal(result.pairs, PAIRS + 1);
    assert_int_equal(seen.last.number, PAIRS + 2);
    assert_int_equal(seen.last.total, PAIRS + EXTRA_PAIRS);
    assert_true(seen.last.share < 1);
}

TEST(garbage_between_records_changes_nothing)
{
    play_text("\n\xff\xfe garbage\n{\"type\":\"repetition\",\"index\":0}\n");
    play_scenario();
    play_pairs(PAIRS);
    play_repetition(VARIANT_BEFORE, 2);         /* for the second time */
    play_repetition(VARIANT_AFTER, PAIRS);      /* never asked for */
    play_repetition(VARIANT_AFTER, 2000000000); /* nor that */
    play_text("{\"type\":\"scena\n");
    play_last(RECORD_END, "");
    assert_ok(run());
    assert_int_equal(result.verdict, VERDICT_REPRODUCED);
    assert_int_equal(result.pairs, PAIRS);
}

TEST(a_crash_fails_the_scenario_and_keeps_whole_pairs)
{
    setenv("STAND_IN_CRASHES", "1", 1);
    play_scenario();
    play_pairs(2);
    play_repetition(VARIANT_AFTER, 3);
    play_repetition(VARIANT_BEFORE, 4);
    play_repetition(VARIANT_AFTER, 4);
    assert_ok(run());
    assert_int_equal(result.verdict, VERDICT_FAILED);
    assert_string_equal(result.reason,
                        "its process ended by signal 6 (Aborted) after 3 of 6 pairs; its last "
                        "words: something is wrong");
    assert_int_equal(result.pairs, 3);
    assert_true(result.repetitions[VARIANT_BEFORE][2].metric[METRIC_STEP_TIME] == 154);
}

TEST(a_crash_after_the_last_record_is_still_a_failure)
{
    setenv("STAND_IN_CRASHES", "1", 1);
    play_scenario();
    play_pairs(PAIRS);
    play_last(RECORD_END, "");
    assert_ok(run());
    assert_int_equal(result.verdict, VERDICT_FAILED);
}

TEST(a_child_that_ends_early_has_failed)
{
    play_scenario();
    play_pairs(3);
    assert_ok(run());
    assert_int_equal(result.verdict, VERDICT_FAILED);
    assert_string_equal(result.reason, "its process ended before it was done after 3 of 6 pairs");
}

TEST(the_childs_own_word_is_the_reason)
{
    static const struct {
        enum record_type type;
        enum verdict verdict;
        const char *text;
    } cases[] = {
        { RECORD_SKIPPED, VERDICT_SKIPPED, "host work is 3 us" },
        { RECORD_ERROR, VERDICT_FAILED, "the device reported an error" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin(state);
        play_scenario();
        play_last(cases[i].type, cases[i].text);
        assert_ok(run());
        /* On a busy machine a skip tells nothing. */
        assert_int_equal(result.verdict,
                         cases[i].verdict == VERDICT_SKIPPED && cpu_loss_is_large(&result.cpu_loss)
                             ? VERDICT_UNDECIDED
                             : cases[i].verdict);
        assert_non_null(strstr(result.reason, cases[i].text));
        assert_int_equal(result.pairs, 0);
    }
}

TEST(a_child_that_hangs_fails_when_its_time_is_up)
{
    how.timeout_seconds = 1;
    setenv("STAND_IN_HANGS", "1", 1);
    play_scenario();
    assert_ok(run());
    assert_true(result.unmeasured);
    /* On a busy machine that is no verdict. */
    assert_int_equal(result.verdict,
                     cpu_loss_is_large(&result.cpu_loss) ? VERDICT_UNDECIDED : VERDICT_FAILED);
    assert_non_null(strstr(result.reason, "took too long"));
}

/* Its records take 3 s in all, and none takes 2. */
/* It does not know what others took, and that may leave undecided what it took for decided. */
TEST(a_child_that_ends_early_is_not_called_slow)
{
    how.repetitions = 3;
    how.extra = EXTRA_PAIRS;
    play_scenario();
    play_pairs(3);
    play_last(RECORD_END, "");
    assert_int_equal(run(), STATUS_OK);
    assert_int_equal(result.verdict, VERDICT_UNDECIDED);
    assert_null(strstr(result.reason, "no more than"));
}

TEST(a_slow_child_has_its_time_for_each_repetition_and_no_more_pairs)
{
    how.timeout_seconds = 2;
    how.repetitions = 3;
    how.extra = EXTRA_PAIRS;
    setenv("STAND_IN_PAUSES", "1", 1);
    play_scenario();
    play_pairs(3);
    play_last(RECORD_END, "");
    assert_ok(run());
    assert_false(result.unmeasured);
    assert_int_equal(result.verdict, VERDICT_UNDECIDED);
    assert_non_null(strstr(result.reason, "no more than 3 pairs, since these took more than 2 s"));
    begin(state);
    how.timeout_seconds = how.most_seconds = 2;
    setenv("STAND_IN_PAUSES", "1", 1);
    play_scenario();
    play_pairs(3);
    play_last(RECORD_END, "");
    assert_ok(run());
    assert_non_null(strstr(result.reason, "took too long"));
}

TEST(an_interruption_is_an_error_of_the_run)
{
    setenv("STAND_IN_HANGS", "1", 1);
    play_scenario();
    play_pairs(2);
    seen.stop_at = 2;
    assert_int_equal(run(), STATUS_INTERRUPTED);
    assert_int_equal(result.pairs, 0);
}

TEST(what_cannot_be_started_is_an_error_of_the_run)
{
    assert_int_equal(experiment_run(&result, "/no/such/program", &scenario, &how, NULL, NULL, NULL),
                     STATUS_IO);
    scenario_result_release(&result);
    how.repetitions = 0;
    assert_int_equal(run(), STATUS_BAD_USAGE);
}

TEST(what_the_device_cannot_show_is_skipped_before_anything_starts)
{
    const struct device_properties one = { .name = "CPU device (test, 1 core)",
                                           .shares_host_cores = true,
                                           .host_cores = 1 },
                                   two = { .shares_host_cores = true, .host_cores = 2 };
    struct scenario overlapping = scenario;

    overlapping.needs = WHERE_TWO_CORES;
    assert_false(experiment_skips(&result, &overlapping, &how, &two));
    assert_false(experiment_skips(&result, &scenario, &how, &one));
    assert_true(experiment_skips(&result, &overlapping, &how, &one));
    assert_int_equal(result.verdict, VERDICT_SKIPPED);
    assert_ptr_equal(result.scenario, &overlapping);
    assert_string_equal(result.device.name, one.name);
    assert_string_equal(result.reason,
                        "the bottleneck shows only on a GPU, or on a host with at least two cores; "
                        "this is the CPU device (test, 1 core)");
}

TEST(ranks_need_a_gpu_each)
{
    const struct device_properties gpu = { .is_gpu = true, .peers = 1 };
    struct scenario ranks = scenario;

    ranks.base = "ranks=3";
    ranks.knob = "allreduce";
    ranks.before = "after_backward";
    ranks.after = "overlap";
    assert_true(experiment_skips(&result, &ranks, &how, &gpu));
    assert_string_equal(result.reason, "3 ranks need a GPU each, and this process sees 2");
}

static void assert_arguments(const struct arguments *arguments, const char *expected)
{
    char joined[512] = "";

    for (int i = 0; arguments->list[i] != NULL; i++) {
        assert_true(i < ARGUMENTS_MOST);
        strcat(strcat(joined, i > 0 ? " " : ""), arguments->list[i]);
    }
    assert_string_equal(joined, expected);
}

TEST(the_childs_command_line_says_all_of_the_protocol)
{
    struct arguments arguments;

    how = protocol_default(false);
    arguments_exec(&arguments, &scenario, &how);
    assert_arguments(&arguments, "exec test --device auto --repetitions 6 --window 0.2 --extra 9 "
                                 "--shortest 0.05 --seed 1 --record-fd 3");
    how.device = "cuda:1";
    how.device_memory = 5000000000;
    how.data = "/data/my images";
    how.jpeg_pixels = 112;
    how.repetitions = 4;
    how.window_seconds = 1.0 / 3;
    how.seed = UINT64_MAX;
    arguments_exec(&arguments, &scenario, &how);
    assert_arguments(&arguments, "exec test --device cuda:1 --device-memory 5000000000 --data "
                                 "/data/my images --repetitions 4 --window 0.333333333 --extra 9 "
                                 "--shortest 0.05 --jpeg-pixels 112 --seed 18446744073709551615 "
                                 "--record-fd 3");
    how = protocol_default(false);
    how.aa = true;
    arguments_exec(&arguments, &scenario, &how);
    assert_arguments(&arguments, "exec test --device auto --repetitions 6 --window 0.2 --extra 9 "
                                 "--shortest 0.05 --aa --seed 1 --record-fd 3");
}

TEST(the_tracing_childs_command_line_says_which_and_where)
{
    struct arguments arguments;

    how = protocol_default(false);
    how.jpeg_pixels = 96;
    how.ceilings[VARIANT_AFTER] = (struct ceilings){ 1.25e12, 3e11 };
    arguments_trace(&arguments, &scenario, &how, VARIANT_AFTER, "out/x.json.gz", 1234.5);
    assert_arguments(
        &arguments,
        "exec test --variant after --trace out/x.json.gz --step-time 0.0012345 "
        "--peak-flops 1.25e+12 --copy-bandwidth 3e+11 --device auto --repetitions "
        "6 --window 0.2 --extra 9 --shortest 0.05 --jpeg-pixels 96 --seed 1 --record-fd 3");
}

/* --- Traces --- */

/* Plays a child that measures well, and `traced` as what a tracing child sends. */
static void run_with_traces(const char *traced)
{
    char trace_path[] = "/tmp/chokepoint-test-trace-XXXXXX";
    void *none = NULL;
    int descriptor = mkstemp(trace_path);

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, traced, strlen(traced)), (int)strlen(traced));
    close(descriptor);
    begin(&none);
    play_scenario();
    play_pairs(PAIRS);
    play_last(RECORD_END, "");
    how.traces = "/out/traces";
    setenv("STAND_IN_TRACE_RECORDS", trace_path, 1);
    assert_ok(run());
    unsetenv("STAND_IN_TRACE_RECORDS");
    unlink(trace_path);
    assert_int_equal(result.verdict, VERDICT_REPRODUCED); /* whatever became of the traces */
    assert_int_equal(result.pairs, PAIRS);
    /* While traces are made, there is time left. */
    assert_int_equal(seen.pairs, 1 + 2 * PAIRS);
    assert_int_equal(seen.traces, VARIANT_COUNT);
    assert_int_equal(seen.last.number, VARIANT_COUNT);
    assert_true(seen.last.share > 0.5 && seen.last.share < 1);
}

TEST(each_variant_is_traced_by_a_child_of_its_own)
{
    run_with_traces("{\"type\":\"tracing\",\"steps\":40,\"windows\":3,"
                    "\"step_time_us\":100.5,\"traced_step_time_us\":101,"
                    "\"spread\":null,\"rows\":4000,\"dropped\":0}\n");
    assert_string_equal(result.tracing[VARIANT_BEFORE].file, "test.before.json.gz");
    assert_string_equal(result.tracing[VARIANT_AFTER].file, "test.after.json.gz");
    assert_string_equal(result.tracing[VARIANT_AFTER].reason, "");
    assert_int_equal(result.tracing[VARIANT_AFTER].steps, 40);
    assert_float_equal(result.tracing[VARIANT_AFTER].step_time_us, 100.5, 0);
    assert_float_equal(result.tracing[VARIANT_AFTER].traced_step_time_us, 101, 0);
}

TEST(a_tracing_child_that_fails_costs_its_trace_only)
{
    static const char *const reasons[][2] = {
        { "{\"type\":\"error\",\"text\":\"tracing: the disk is full\"}\n",
          "tracing: the disk is full" },
        { "", "its process ended before the trace was written" },
        { "{\"type\":\"tracing\",\"steps\":0}\nnonsense\n",
          "its process ended before the trace was written" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
        run_with_traces(reasons[i][0]);
        for (int v = 0; v < VARIANT_COUNT; v++) {
            assert_string_equal(result.tracing[v].file, "");
            assert_string_equal(result.tracing[v].reason, reasons[i][1]);
        }
    }
    setenv("STAND_IN_TRACE_CRASHES", "1", 1);
    run_with_traces("{\"type\":\"tracing\",\"steps\":40}\n"); /* sent, then it crashed */
    unsetenv("STAND_IN_TRACE_CRASHES");
    assert_string_equal(result.tracing[VARIANT_BEFORE].file, "");
    assert_non_null(strstr(result.tracing[VARIANT_BEFORE].reason, "Aborted"));
    assert_non_null(strstr(result.tracing[VARIANT_BEFORE].reason, "something is wrong"));
}

TEST(what_was_not_measured_is_not_traced)
{
    play_scenario();
    play_last(RECORD_SKIPPED, "not here");
    how.traces = "/out/traces";
    assert_ok(run());
    assert_true(result.unmeasured);
    for (int v = 0; v < VARIANT_COUNT; v++) {
        assert_string_equal(result.tracing[v].file, "");
        assert_string_equal(result.tracing[v].reason, "");
    }
}

static int find_stand_in(void **state)
{
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 32);
    int descriptor = mkstemp(play_path);

    if (length < 0 || descriptor < 0)
        return -1;
    close(descriptor);
    program[length] = '\0';
    snprintf(strrchr(program, '/') + 1, 32, "child_stand_in");
    return setenv("STAND_IN_RECORDS", play_path, 1);
}

static int remove_play(void **state)
{
    scenario_result_release(&result);
    return unlink(play_path);
}

TESTS_OF(find_stand_in, remove_play, begin, NULL)
