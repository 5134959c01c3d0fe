/* The log: which lines are in it, who forces them to disk, and how it ends on a full disk. */
#include "harness/engine/step/parts/line_log.h"

#include "harness/base/clock.h"
#include "harness/engine/step/parts/scratch_file.h"
#include "tests/fixtures/lab/scratch_disk.h"
#include "tests/fixtures/lab/training_fixture.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

/* The file's text; the caller frees it. */
static char *read_log(void)
{
    int file = open_file();
    off_t bytes = lseek(file, 0, SEEK_END);
    char *text = calloc(1, (size_t)bytes + 1);

    assert_true(file >= 0);
    assert_non_null(text);
    assert_int_equal(pread(file, text, (size_t)bytes, 0), bytes);
    close(file);
    return text;
}

static char *wanted_lines(const float *losses, int first, int count, int every)
{
    char *text = calloc(1, (size_t)count * 48 + 1), *end = text;

    for (int step = first; step < first + count; step++)
        if ((step + 1) % every == 0)
            end += sprintf(end, "step %d loss %.9g\n", step + 1, (double)losses[step - first]);
    return text;
}

enum { STEPS = 30 };

TEST(every_loss_that_is_read_is_a_line)
{
    static const struct {
        const char *settings;
        int every;
    } rows[] = {
        { "model=light loss_every=1 log=synced launch=eager", 1 },
        { "model=light loss_every=1 log=queued launch=graph", 1 },
        { "model=light loss_every=1 log=posted launch=graph", 1 },
        { "model=light loss_every=7 log=synced launch=graph", 7 },
        { "model=light loss_every=7 log=posted_queued launch=graph", 7 },
        { "model=light loss_every=7 log=queued launch=eager precision=bf16", 7 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct training *training = open_training(*state, rows[i].settings);
        float losses[STEPS];
        char *wanted, *got;

        assert_ok(training_run(training, STEPS));
        assert_ok(training_pause(training));
        assert_ok(training_log_status(training));
        got = read_log();
        assert_ok(training_losses(training, 0, STEPS, losses));
        wanted = wanted_lines(losses, 0, STEPS, rows[i].every);
        assert_string_equal(got, wanted);
        training_close(training);
        assert_int_equal(open_file(), -1);
        free(wanted);
        free(got);
    }
}

TEST(a_log_changes_no_bit_of_the_training)
{
    float plain[STEPS], logged[STEPS];

    run_losses(*state, "model=light launch=graph", STEPS, plain);
    run_losses(*state, "model=light launch=graph loss_every=1 log=synced", STEPS, logged);
    assert_memory_equal(plain, logged, sizeof plain);
    run_losses(*state, "model=light launch=graph loss_every=1 log=queued", STEPS, logged);
    assert_memory_equal(plain, logged, sizeof plain);
    run_losses(*state, "model=light launch=graph loss_every=1 log=posted", STEPS, logged);
    assert_memory_equal(plain, logged, sizeof plain);
    run_losses(*state, "model=light launch=graph loss_every=1 log=posted_queued", STEPS, logged);
    assert_memory_equal(plain, logged, sizeof plain);
}

static void check_window(struct device *device, const char *settings, int lines, int syncs)
{
    struct training *training = open_training(device, settings);
    struct training_window window = { 0 };

    assert_ok(training_window(training, STEPS, &window));
    assert_int_equal(window.counts.log_lines, lines);
    assert_int_equal(window.counts.log_syncs, syncs);
    assert_true(window.metric[METRIC_LOG_SYNCS_PER_STEP] == (double)syncs / STEPS);
    if (lines > 0)
        assert_true(window.metric[METRIC_LOG_PAUSE] == (double)window.counts.log_ns / lines / 1e3);
    else
        assert_true(isnan(window.metric[METRIC_LOG_PAUSE]));
    training_window_release(&window);
    training_close(training);
}

TEST(a_window_says_who_waits_for_lines)
{
    check_window(*state, "model=light loss_every=1 log=synced", STEPS, STEPS);
    check_window(*state, "model=light loss_every=1 log=queued", STEPS, 0);
    check_window(*state, "model=light loss_every=5 log=synced", STEPS / 5, STEPS / 5);
    check_window(*state, "model=light loss_every=5 log=posted", STEPS / 5, STEPS / 5);
    check_window(*state, "model=light loss_every=1 log=posted_queued", STEPS, 0);
    check_window(*state, "model=light loss_every=1", 0, 0);
}

/* More lines than the queue holds: none is lost, none is out of order. */
static void check_full_queue(enum logging_mode mode)
{
    enum { LINES = 40 * LOG_LINES };
    struct line_log *log;
    char *text, *at;

    assert_ok(line_log_open(&log, mode));
    for (int i = 0; i < LINES; i++) line_log_add(log, i, (float)i / 2);
    assert_ok(line_log_wait(log));
    at = text = read_log();
    for (int i = 0; i < LINES; i++) {
        char line[48];
        int length = snprintf(line, sizeof line, "step %d loss %.9g\n", i, i / 2.0);
        assert_memory_equal(at, line, (size_t)length);
        at += length;
    }
    assert_int_equal(*at, '\0');
    free(text);
    line_log_close(log);
}

/* The service answers after 3 ms: who waits for all lines after a window waits for that answer.
 * Other programs may disturb some of the windows. */
TEST(a_window_does_not_wait_for_the_answer_to_its_last_line)
{
    enum { WINDOWS = 40, EACH = 2 };
    struct training *training =
        open_training(*state, "model=light launch=graph loss_every=1 log=posted_queued");
    int waits = 0;

    for (int i = 0; i < WINDOWS; i++) {
        struct training_window window = { 0 };
        int64_t begin_ns;

        assert_ok(training_window(training, EACH, &window));
        training_window_release(&window);
        begin_ns = clock_ns();
        assert_ok(training_pause(training));
        waits += clock_ns() - begin_ns >= LOG_SERVER_ANSWERS_AFTER_US * INT64_C(1000) / 3;
    }
    assert_true(waits >= WINDOWS / 4);
    training_close(training);
}

TEST(a_queue_that_is_full_loses_nothing)
{
    check_full_queue(LOGGING_QUEUED);
    check_full_queue(LOGGING_POSTED_QUEUED);
}

/* Lines that are left in the queue are posted before the log is closed, and the service ends. */
TEST(a_service_answers_every_message_after_its_time)
{
    struct line_log *log;
    int64_t begin_ns;

    assert_ok(line_log_open(&log, LOGGING_POSTED));
    begin_ns = clock_ns();
    for (int i = 0; i < 3; i++) line_log_add(log, i, 1);
    assert_true(clock_ns() - begin_ns >= 3 * LOG_SERVER_ANSWERS_AFTER_US * INT64_C(1000));
    assert_ok(line_log_wait(log));
    line_log_close(log);
    assert_int_equal(open_file(), -1);

    assert_ok(line_log_open(&log, LOGGING_POSTED_QUEUED));
    for (int i = 0; i < LOG_LINES / 2; i++) line_log_add(log, i, 1);
    line_log_close(log);
    assert_int_equal(open_file(), -1);
}

/* A message is what fits one; what does not is refused, and no part of it is sent. */
TEST(a_message_has_a_longest_length)
{
    char lines[LOG_MESSAGE_BYTES], *text;
    struct log_server *server;
    int file;

    memset(lines, 'x', sizeof lines);
    lines[sizeof lines - 2] = '\n';
    assert_ok(scratch_file_open(&file, "the log", "log=none"));
    assert_ok(log_server_open(&server, file));
    assert_int_equal(log_server_send(server, lines, 0), EMSGSIZE);
    assert_int_equal(log_server_send(server, lines, sizeof lines), EMSGSIZE);
    assert_int_equal(log_server_send(server, lines, sizeof lines - 1), 0);
    text = read_log();
    assert_int_equal(strlen(text), sizeof lines - 1);
    assert_memory_equal(text, lines, sizeof lines - 1);
    free(text);
    log_server_close(server);
    log_server_close(NULL);
    close(file);
}

/* The log has the lines up to there, and says so; the training does not notice. */
TEST(a_full_disk_ends_the_log_and_not_the_training)
{
    static const char *const settings[] = { "model=light loss_every=1 log=synced",
                                            "model=light loss_every=1 log=queued",
                                            "model=light loss_every=1 log=posted",
                                            "model=light loss_every=1 log=posted_queued" };
    float plain[2 * STEPS], logged[2 * STEPS];

    run_losses(*state, "model=light", 2 * STEPS, plain);
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        struct training *training = open_training(*state, settings[i]);
        struct training_window window = { 0 };
        char *text, *wanted = wanted_lines(plain, 0, STEPS, 1);
        enum status ended;
        rlim_t before;

        assert_ok(training_run(training, STEPS));
        assert_ok(training_log_status(training));
        before = limit_files(strlen(wanted));
        assert_ok(training_window(training, STEPS, &window));
        ended = training_log_status(training);
        limit_files(before);
        assert_int_equal(ended, STATUS_IO);
        assert_non_null(
            strstr(status_last()->text, "ends before step 31: File too large; make room"));
        assert_int_equal(training_log_status(training), STATUS_IO);
        assert_ok(training_losses(training, 0, 2 * STEPS, logged));
        assert_memory_equal(plain, logged, sizeof plain);
        text = read_log();
        assert_string_equal(text, wanted);
        training_window_release(&window);
        training_close(training);
        free(text);
        free(wanted);
    }
}

/* Opens with $TMPDIR there. */
static enum status open_there(struct device *device, const char *settings, const char *folder)
{
    struct training_config config = config_of(device, settings);
    const char *before = getenv("TMPDIR");
    char *kept = before != NULL ? strdup(before) : NULL;
    struct training *training = NULL;
    struct status_error error;
    enum status status;

    setenv("TMPDIR", folder, 1);
    status = training_open(&training, device, &config);
    error = *status_last();
    training_close(training);
    if (kept != NULL)
        setenv("TMPDIR", kept, 1);
    else
        unsetenv("TMPDIR");
    free(kept);
    return status != STATUS_OK ? status_raise(&error) : STATUS_OK;
}

TEST(where_nothing_is_forced_to_disk_the_loop_is_not_held_up)
{
    if (access("/dev/shm", W_OK) != 0)
        skip();
    assert_int_equal(open_there(*state, "model=light log=synced", "/dev/shm"), STATUS_UNSUPPORTED);
    assert_non_null(strstr(status_last()->text, "/dev/shm is in memory"));
    assert_ok(open_there(*state, "model=light log=queued", "/dev/shm"));
    assert_ok(open_there(*state, "model=light log=posted", "/dev/shm"));
    assert_ok(open_there(*state, "model=light", "/dev/shm"));
}

TEST(a_folder_that_is_not_there_is_told_at_once)
{
    assert_int_equal(open_there(*state, "model=light log=queued", "/proc/nowhere"), STATUS_IO);
    assert_non_null(
        strstr(status_last()->text, "no file for the log can be made in /proc/nowhere"));
}

TESTS_WITH(open_device, close_device)
