/* Child processes: their lines, their ends, and that none is left. */
#include "harness/base/clock.h"
#include "harness/lab/experiment/parent/process.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char program[4096];

struct received {
    int count;
    char lines[64][128];
    size_t longest;
    volatile sig_atomic_t *stop; /* set by the first line */
    int kept;                    /* a descriptor for the child; 0: none */
};

static void receive(void *context, const char *line)
{
    struct received *received = context;

    if (received->count < 64)
        snprintf(received->lines[received->count], sizeof received->lines[0], "%s", line);
    if (strlen(line) > received->longest)
        received->longest = strlen(line);
    received->count++;
    if (received->stop != NULL)
        *received->stop = 1;
}

static enum status run(const char *what, double timeout_seconds, struct received *received,
                       struct process_report *report)
{
    const char *arguments[] = { "exec", what, NULL };
    struct process child = { .program = program,
                             .arguments = arguments,
                             .timeout_seconds = timeout_seconds,
                             .stop = received->stop,
                             .kept = received->kept,
                             .line = receive,
                             .context = received };

    return process_run(&child, report);
}

/* Whether a process has ended: it no longer exists, or is a zombie that nobody collected yet. */
static bool is_gone(pid_t pid)
{
    char path[64], line[512] = "";
    FILE *file;
    bool gone;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file == NULL)
        return true;
    gone = fgets(line, sizeof line, file) == NULL || strstr(line, ") Z") != NULL;
    fclose(file);
    return gone;
}

/* SIGKILL takes effect soon, not at once. */
static bool is_gone_soon(pid_t pid)
{
    for (int i = 0; i < 2000; i++) {
        if (is_gone(pid))
            return true;
        usleep(5000);
    }
    return false;
}

static void no_child_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

TEST(arguments_arrive_in_order)
{
    struct received received = { 0 };
    struct process_report report;

    assert_ok(run("print", 60, &received, &report));
    assert_int_equal(received.count, 2);
    assert_string_equal(received.lines[0], "exec");
    assert_string_equal(received.lines[1], "print");
    assert_int_equal(report.end, PROCESS_EXITED);
    assert_int_equal(report.code, 0);
    assert_string_equal(report.last_words, "");
    no_child_is_left();
}

TEST(a_child_goes_by_the_name_of_its_parent)
{
    struct received received = { 0 };
    struct process_report report;

    assert_ok(run("name", 60, &received, &report));
    assert_int_equal(received.count, 1);
    assert_string_equal(received.lines[0], program_invocation_name);
}

/* A child often ends between two of our looks at it. */
TEST(what_it_sends_just_before_its_end_arrives)
{
    for (int i = 0; i < 300; i++) {
        struct received received = { 0 };
        struct process_report report;
        assert_ok(run("print", 60, &received, &report));
        assert_int_equal(received.count, 2);
    }
}

TEST(many_lines_and_words_do_not_block_each_other)
{
    struct received received = { 0 };
    struct process_report report;

    assert_ok(run("talk", 60, &received, &report));
    assert_int_equal(received.count, 20000);
    assert_string_equal(received.lines[63], "line 63 of many");
    assert_non_null(strstr(report.last_words, "progress 19998 of many | progress 19999 of many"));
    assert_memory_equal(report.last_words, "progress ", strlen("progress "));
}

TEST(long_lines_arrive_whole_or_not_at_all)
{
    struct received received = { 0 };
    struct process_report report;

    assert_ok(run("long_lines", 60, &received, &report));
    assert_int_equal(received.count, 2);
    assert_int_equal(received.longest, 3 << 20);
    assert_string_equal(received.lines[1], "xxxxx");
}

TEST(a_crash_is_reported_with_signal_and_last_words)
{
    struct received received = { 0 };
    struct process_report report;
    char text[128];

    assert_ok(run("crash", 60, &received, &report));
    assert_int_equal(received.count, 1); /* The half line is dropped. */
    assert_string_equal(received.lines[0], "whole");
    assert_int_equal(report.end, PROCESS_SIGNALLED);
    assert_int_equal(report.code, SIGABRT);
    assert_string_equal(report.last_words, "something is wrong");
    process_describe(&report, text, sizeof text);
    assert_string_equal(text, "ended by signal 6 (Aborted)");
    no_child_is_left();
}

/* However much comes after it. */
TEST(what_a_rank_says_is_its_last_word)
{
    static const char *const ends[] = { "rank", "rank_and_launcher" };

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        struct received received = { 0 };
        struct process_report report;
        assert_ok(run(ends[i], 60, &received, &report));
        assert_int_equal(report.code, 1);
        assert_string_equal(report.last_words, "chokepoint: rank 1: the copy failed");
    }
}

TEST(an_exit_code_is_reported)
{
    struct received received = { 0 };
    struct process_report report;
    char text[128];

    assert_ok(run("exit", 60, &received, &report));
    assert_int_equal(report.end, PROCESS_EXITED);
    assert_int_equal(report.code, 7);
    process_describe(&report, text, sizeof text);
    assert_string_equal(text, "ended with exit code 7");
}

TEST(a_program_that_is_not_there_is_an_error)
{
    const char *arguments[] = { NULL };
    struct process child = { .program = "/no/such/program", .arguments = arguments };
    struct process_report report;

    assert_int_equal(process_run(&child, &report), STATUS_IO);
    assert_non_null(strstr(status_last()->text, "/no/such/program"));
    no_child_is_left();
}

TEST(a_child_that_hangs_is_ended_when_its_time_is_up)
{
    static const char *const kinds[] = { "hang", "close_and_hang", "flood" };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        struct received received = { 0 };
        struct process_report report;
        assert_ok(run(kinds[i], 0.5, &received, &report));
        assert_int_equal(report.end, PROCESS_TIMED_OUT);
        no_child_is_left();
    }
}

TEST(a_stop_request_ends_a_child_that_ignores_signals)
{
    volatile sig_atomic_t stop = 0;
    struct received received = { .stop = &stop };
    struct process_report report;

    assert_ok(run("hang", 0, &received, &report));
    assert_int_equal(report.end, PROCESS_INTERRUPTED);
    assert_true(is_gone(atoi(received.lines[0])));
    no_child_is_left();
}

TEST(what_a_child_leaves_behind_is_ended_too)
{
    struct received received = { 0 };
    struct process_report report;

    assert_ok(run("leave_one_behind", 60, &received, &report));
    assert_int_equal(report.end, PROCESS_EXITED);
    assert_true(is_gone_soon(atoi(received.lines[0])));
}

TEST(a_child_inherits_nothing_but_its_descriptors)
{
    struct received received = { 0 };
    struct process_report report;
    int extra = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */

    assert_true(extra >= 0);
    assert_ok(run("look_around", 60, &received, &report));
    close(extra);
    assert_int_equal(received.count, 2);
    assert_string_equal(received.lines[0], "stdin 0");
    assert_string_equal(received.lines[1], "group 1");
}

/* So that what it locks stays locked until the child has gone too. */
TEST(a_child_keeps_the_descriptor_that_it_is_to_keep)
{
    struct received received = { 0 };
    struct process_report report;
    int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 20);

    assert_true(kept >= 20);
    received.kept = kept;
    assert_ok(run("look_around", 60, &received, &report));
    close(kept);
    assert_int_equal(received.count, 3);
    assert_string_equal(received.lines[1], "open 4");
}

TEST(it_works_with_standard_descriptors_closed)
{
    struct received received = { 0 };
    struct process_report report;
    int saved = dup(STDIN_FILENO);

    close(STDIN_FILENO);
    assert_ok(run("look_around", 60, &received, &report));
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
    assert_int_equal(received.count, 2);
    assert_string_equal(received.lines[0], "stdin 0");
}

static int pid_pipe[2];

static void pass_pid_on(void *context, const char *line)
{
    (void)context;
    if (write(pid_pipe[1], line, strlen(line)) < 0)
        _exit(1);
}

/* The parent in the middle is killed without a chance to clean up; its child must not live on. */
TEST(a_child_dies_with_its_parent)
{
    char text[32] = "";
    pid_t middle, orphan;

    assert_int_equal(pipe(pid_pipe), 0);
    middle = fork();
    if (middle == 0) {
        const char *arguments[] = { "exec", "hang", NULL };
        struct process child = { .program = program, .arguments = arguments, .line = pass_pid_on };
        struct process_report report;
        process_run(&child, &report);
        _exit(0);
    }
    assert_true(read(pid_pipe[0], text, sizeof text - 1) > 0);
    orphan = atoi(text);
    assert_true(orphan > 1 && !is_gone(orphan));
    kill(middle, SIGKILL);
    assert_int_equal(waitpid(middle, NULL, 0), middle);
    assert_true(is_gone_soon(orphan));
    close(pid_pipe[0]);
    close(pid_pipe[1]);
}

/* Beside this program. */
static int find_stand_in(void **state)
{
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 32);
    char *slash;

    if (length < 0)
        return -1;
    program[length] = '\0';
    slash = strrchr(program, '/');
    snprintf(slash + 1, 32, "child_stand_in");
    return 0;
}

TESTS_WITH(find_stand_in, NULL)
