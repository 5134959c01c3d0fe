/* Saving the training state: what is in the file, when it is written, what it costs, how it
 * fails. */
#include "harness/engine/step/state.h"
#include "tests/fixtures/lab/scratch_disk.h"
#include "tests/fixtures/lab/training_fixture.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* The bytes of the tensors, which stand behind the header. */
static size_t bytes_of(const struct training *training)
{
    return 3 * (size_t)encoder_parameters(training->encoder) * sizeof(float) +
           sizeof(struct step_state);
}

static char *append(struct training *training, char *to, const void *from, size_t bytes)
{
    assert_ok(device_copy(training->compute, COPY_DEVICE_TO_HOST, to, from, bytes));
    return to + bytes;
}

/* The state as it is on the device now, in the order of the file; the caller frees it. */
static char *state_of(struct training *training)
{
    char *state = malloc(bytes_of(training)), *to = state;

    assert_non_null(state);
    for (int i = 0; i < training->encoder->parameter_count; i++) {
        const struct parameter *p = &training->encoder->parameters[i];
        struct moments moments = optimizer_moments(training->optimizer, i);
        size_t bytes = (size_t)p->value->elements * sizeof(float);

        to = append(training, to, p->master, bytes);
        to = append(training, to, moments.m, bytes);
        to = append(training, to, moments.v, bytes);
    }
    append(training, to, optimizer_state(training->optimizer), sizeof(struct step_state));
    return state;
}

static bool file_holds(struct training *training, const char *state)
{
    size_t bytes = bytes_of(training);
    int file = open_file();
    char *read = malloc(bytes + 1);
    bool holds;

    assert_true(file >= 0);
    assert_non_null(read);
    assert_ok(training_pause(training));
    holds = pread(file, read, bytes + 1, STATE_HEADER) == (ssize_t)bytes &&
            memcmp(read, state, bytes) == 0;
    free(read);
    close(file);
    return holds;
}

TEST(what_is_saved_is_the_state_bit_for_bit)
{
    static const char *const settings[] = {
        "model=light launch=eager save_every=3 save_mode=blocking precision=fp32",
        "model=light launch=graph save_every=3 save_mode=blocking precision=bf16",
        "model=balanced optimizer=unfused save_every=3 save_mode=blocking allocation=direct",
        "model=light launch=eager save_every=3 save_mode=asynchronous precision=bf16",
        "model=light launch=graph save_every=1 save_mode=asynchronous precision=fp32",
        "model=light launch=graph save_every=3 save_mode=asynchronous precision=fp16",
    };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        struct training *training = open_training(*state, settings[i]);
        char *early, *saved;

        assert_ok(training_run(training, 3));
        early = state_of(training);
        assert_true(file_holds(training, early));
        assert_ok(training_run(training, 3));
        saved = state_of(training);
        assert_true(file_holds(training, saved));
        assert_false(file_holds(training, early));
        training_close(training);
        assert_int_equal(open_file(), -1);
        free(early);
        free(saved);
    }
}

/* Steps that are queued behind the copies change the device's state and not what is saved. */
TEST(what_is_saved_stays_while_training_goes_on)
{
    static const char *const settings[] = {
        "model=light launch=eager save_every=4 save_mode=blocking",
        "model=light launch=graph save_every=4 save_mode=asynchronous",
    };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        struct training *straight = open_training(*state, settings[i]), *training;
        char *saved, *later;

        assert_ok(training_run(straight, 4));
        saved = state_of(straight);
        training_close(straight);
        training = open_training(*state, settings[i]);
        assert_ok(training_run(training, 7));
        later = state_of(training);
        assert_true(file_holds(training, saved));
        assert_false(file_holds(training, later));
        training_close(training);
        free(saved);
        free(later);
    }
}

/* Three saves. A blocking one waits for each of its copies; otherwise only the writer waits,
 * once. */
static void check_waits(struct device *device, const char *settings, bool blocking)
{
    struct training *training = open_training(device, settings);
    int64_t copies = 3 * training->encoder->parameter_count + 1;
    struct device_counters before, after;

    assert_ok(training_run(training, 4));
    assert_ok(training_pause(training));
    before = device_counters(training->device);
    assert_ok(training_run(training, 15));
    assert_ok(training_pause(training));
    after = device_counters(training->device);
    assert_int_equal(after.synchronizations - before.synchronizations,
                     1 + (blocking ? 3 * copies : 3)); /* 1: the pause */
    assert_int_equal(after.copy_bytes_d2h - before.copy_bytes_d2h, 3 * bytes_of(training));
    training_close(training);
}

TEST(only_a_blocking_save_waits_for_its_copies)
{
    check_waits(*state, "model=light launch=graph loss_every=1024 save_every=4 save_mode=blocking",
                true);
    check_waits(*state, "model=light launch=graph loss_every=1024 save_every=4", false);
}

/* Every eighth step of a window saves; another window has none. */
TEST(a_window_says_how_long_its_saves_hold_the_loop_up)
{
    static const char *const settings[] = { "model=light save_every=8 save_mode=blocking",
                                            "model=light save_every=8" };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        struct training *training = open_training(*state, settings[i]);
        struct training_window window = { 0 }, without = { 0 };
        const double *pause = &window.metric[METRIC_SAVE_PAUSE];

        assert_ok(training_window(training, 16, &window));
        assert_int_equal(window.counts.saves, 2);
        assert_true(window.counts.save_ns > 0 && window.counts.save_ns < window.wall_ns);
        assert_true(*pause == (double)window.counts.save_ns / 2 / 1e3);
        assert_ok(training_window(training, 7, &without));
        assert_int_equal(without.counts.saves, 0);
        assert_true(isnan(without.metric[METRIC_SAVE_PAUSE]));
        training_window_release(&window);
        training_window_release(&without);
        training_close(training);
    }
}

TEST(nothing_is_saved_and_no_file_made_unless_asked_for)
{
    struct training *training = open_training(*state, "model=light loss_every=1024");
    struct device_counters before = device_counters(training->device), after;

    assert_int_equal(open_file(), -1);
    assert_ok(training_run(training, 10));
    after = device_counters(training->device);
    assert_int_equal(after.copy_bytes_d2h - before.copy_bytes_d2h, 0);
    training_close(training);
}

TEST(saving_changes_no_bit_of_the_training)
{
    enum { STEPS = 12 };
    float plain[STEPS], saving[STEPS];

    run_losses(*state, "model=light launch=graph", STEPS, plain);
    run_losses(*state, "model=light launch=graph save_every=2 save_mode=blocking", STEPS, saving);
    assert_memory_equal(plain, saving, sizeof plain);
    run_losses(*state, "model=light launch=graph save_every=2", STEPS, saving);
    assert_memory_equal(plain, saving, sizeof plain);
}

TEST(a_window_holds_whole_rounds_of_saves_and_reads)
{
    struct training_config config = { .logging.loss_every = 20, .saving.save_every = 6 };

    assert_int_equal(training_period(&config, 1), 60);
    config.saving.save_every = 0;
    assert_int_equal(training_period(&config, 1), 20);
}

static void check_failed_write(enum status status)
{
    assert_int_equal(status, STATUS_IO);
    assert_non_null(strstr(status_last()->text, "bytes of training state cannot be written in "));
    assert_non_null(strstr(status_last()->text, "File too large; make room there, set TMPDIR"));
}

TEST(a_write_that_fails_is_told_with_what_to_do)
{
    struct training *training =
        open_training(*state, "model=light save_every=2 save_mode=blocking");
    enum status status;
    rlim_t before;

    assert_ok(training_run(training, 1));
    before = limit_files(4096);
    status = training_run(training, 1);
    limit_files(before);
    check_failed_write(status);
    training_close(training);
}

TEST(a_writer_that_fails_is_told_at_the_next_save_and_pause)
{
    struct training *training = open_training(*state, "model=light save_every=2");
    rlim_t before = limit_files(4096);
    enum status saved, paused;

    assert_ok(training_run(training, 3));
    saved = training_run(training, 1);
    check_failed_write(saved);
    paused = training_pause(training);
    limit_files(before);
    check_failed_write(paused);
    training_close(training);
}

/* Nothing but the end of the window looks at the write of its last step. */
TEST(a_timed_window_waits_for_its_own_writes)
{
    struct training *training = open_training(*state, "model=light save_every=2");
    struct training_window window = { 0 };
    rlim_t before;
    enum status status;

    assert_ok(training_run(training, 2));
    assert_ok(training_pause(training));
    before = limit_files(4096);
    status = training_window(training, 2, &window);
    limit_files(before);
    check_failed_write(status);
    assert_null(window.step_ns);
    training_window_release(&window);
    training_close(training);
}

TEST(a_folder_that_is_not_there_is_told_at_once)
{
    struct training_config config = config_of(*state, "model=light save_every=2");
    const char *before = getenv("TMPDIR");
    char *kept = before != NULL ? strdup(before) : NULL;
    struct training *training = NULL;

    setenv("TMPDIR", "/proc/nowhere", 1);
    assert_int_equal(training_open(&training, *state, &config), STATUS_IO);
    assert_non_null(strstr(status_last()->text, "/proc/nowhere: No such file or directory"));
    assert_null(training);
    if (kept != NULL)
        setenv("TMPDIR", kept, 1);
    else
        unsetenv("TMPDIR");
    free(kept);
}

TESTS_WITH(open_device, close_device)
