/* chokepoint record: runs a program that trains with PyTorch, records a few of its steps, and says
 * what they show.
 *
 * The recorder is Python (scripts/recorder) and gets into the program by PYTHONPATH and
 * sitecustomize.py, so the program itself needs no change. Its orders stand in the
 * environment, which processes that the program starts inherit: so every rank records itself. This
 * process waits, passes signals on, and starts `diagnose` and `report` of the same build once the
 * program has ended. The program's exit code is its own. */
#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/program_file.h"
#include "harness/cli/traces/record_folder.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum step_begin { BY_OPTIMIZER, BY_FORWARD };

struct record_options {
    struct flags flags;
    int wait, steps, stack_steps;
    const char *traces; /* the folder */
    enum step_begin step;
    bool stop;
    bool no_page;
};

/* --- The command --- */

/* Options of Python that leave out the folders of PYTHONPATH, or sitecustomize.py. An option that
 * takes letters may hold several; "-c", "-m" and "-" end Python's own options. */
static const char *isolating(const char *const *words)
{
    const char *slash = strrchr(words[0], '/'), *name = slash != NULL ? slash + 1 : words[0];

    if (strncmp(name, "python", 6) != 0)
        return NULL;
    for (int i = 1; words[i] != NULL && words[i][0] == '-' && words[i][1] != '-'; i++) {
        const char *letters = words[i] + 1;
        if (letters[0] == 'c' || letters[0] == 'm' || letters[0] == '\0')
            return NULL;
        if (letters[strspn(letters, "bBdhiOPqsuvx")] != '\0' &&
            strchr("IES", letters[strspn(letters, "bBdhiOPqsuvx")]) != NULL)
            return words[i];
        if ((letters[0] == 'W' || letters[0] == 'X') && letters[1] == '\0')
            i += words[i + 1] != NULL;
    }
    return NULL;
}

static enum status set_variable(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        FAIL(STATUS_OUT_OF_MEMORY, "out of memory for the environment");
    return STATUS_OK;
}

static enum status set_number(const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    return set_variable(name, text);
}

/* The variables by which the recorder gets into Python and knows what to do. */
static enum status set_environment(const struct record_options *options)
{
    const char *before = getenv("PYTHONPATH");
    char file[PATH_MAX], folder[PATH_MAX], *path = NULL;
    enum status status;

    TRY(program_file_find(file, "recorder/sitecustomize.py"));
    *strrchr(file, '/') = '\0';
    if (realpath(options->traces, folder) == NULL)
        FAIL(STATUS_IO, "the folder %s cannot be read: %s", options->traces, strerror(errno));
    TRY(set_variable("CHOKEPOINT_RECORD", folder));
    TRY(set_number("CHOKEPOINT_RECORD_PID", (int)getpid()));
    TRY(set_number("CHOKEPOINT_RECORD_WAIT", options->wait));
    TRY(set_number("CHOKEPOINT_RECORD_STEPS", options->steps));
    TRY(set_number("CHOKEPOINT_RECORD_STACK_STEPS", options->stack_steps));
    TRY(set_number("CHOKEPOINT_RECORD_STOP", options->stop));
    TRY(set_number("CHOKEPOINT_RECORD_FORWARD", options->step == BY_FORWARD));
    /* Kineto would print lines of its own among those of the program. */
    if (getenv("KINETO_LOG_LEVEL") == NULL)
        TRY(set_variable("KINETO_LOG_LEVEL", "99"));
    /* The recorder comes first, so that its sitecustomize.py is the one that Python runs. */
    if (before == NULL || before[0] == '\0')
        return set_variable("PYTHONPATH", file);
    TRY(text_make(&path, "%s:%s", file, before));
    status = set_variable("PYTHONPATH", path);
    free(path);
    return status;
}

/* --- The child --- */

/* The program under way, for the handler; 0: none. */
static volatile sig_atomic_t child;

/* A terminal sends its signals to the child as well; those that somebody sends to this process
 * alone go on to it. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (child > 0 && info->si_code <= 0)
        kill((pid_t)child, signal);
}

static void catch_signals(void)
{
    static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
    struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        struct sigaction before;
        sigaction(signals[i], NULL, &before);
        /* A signal that is ignored, as under nohup, stays ignored. */
        if (before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

/* Starts the words as a shell would, with the signals that this process has changed as they
 * were. */
static enum status start(pid_t *pid, const char *file, const char *const *words,
                         const posix_spawn_file_actions_t *actions)
{
    posix_spawnattr_t attributes;
    sigset_t changed;
    int error;

    sigemptyset(&changed);
    sigaddset(&changed, SIGXFSZ);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &changed);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    error = posix_spawnp(pid, file, actions, &attributes, (char *const *)words, environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0)
        FAIL(STATUS_BAD_USAGE, "%s cannot be started: %s", file, strerror(error));
    return STATUS_OK;
}

static enum status wait_for(pid_t pid, int *wait_status)
{
    while (waitpid(pid, wait_status, 0) < 0)
        if (errno != EINTR)
            FAIL(STATUS_IO, "the program cannot be waited for: %s", strerror(errno));
    return STATUS_OK;
}

/* Runs another command of this program, which prints to standard error: standard output is the
 * other program's. */
static enum status run_self(const char *const *words)
{
    char program[PATH_MAX];
    const char *named[8] = { program_invocation_name }; /* in the commands that it prints */
    posix_spawn_file_actions_t actions;
    enum status status;
    pid_t pid;
    int wait_status;

    TRY(program_path(program));
    for (int i = 0; words[i] != NULL && i < 6; i++) named[i + 1] = words[i];
    fflush(stdout);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    status = start(&pid, program, named, &actions);
    posix_spawn_file_actions_destroy(&actions);
    TRY(status);
    return wait_for(pid, &wait_status);
}

static enum status show_diagnosis(const struct record_options *options)
{
    static const char *const colors[] = { [COLOR_AUTO] = "--color=auto",
                                          [COLOR_ALWAYS] = "--color=always",
                                          [COLOR_NEVER] = "--color=never" };
    /* After "--", so that a folder whose name begins with a dash is no option. */
    const char *page[] = { "diagnose", colors[options->flags.color], "--", options->traces, NULL };
    char out[PATH_MAX + 8];
    const char *report[] = { "report", out, "--", options->traces, NULL };

    if (!options->no_page)
        TRY(run_self(page));
    if (options->flags.out == NULL)
        return STATUS_OK;
    if (snprintf(out, sizeof out, "--out=%s", options->flags.out) >= (int)sizeof out)
        FAIL(STATUS_BAD_USAGE, "--out: %.60s... is too long a path", options->flags.out);
    return run_self(report);
}

/* --- All --- */

/* After the program has ended: notes, sentence, page. If they fail, the exit code is the program's
 * all the same. */
static void conclude(const struct record_options *options, int lock,
                     const struct recorded_program *command)
{
    int traces = 0;
    enum status status = record_folder_end(options->traces, lock, command, stderr, &traces);

    if (status == STATUS_OK && traces > 0)
        status = show_diagnosis(options);
    if (status == STATUS_OK)
        return;
    status_context("record");
    command_print_error();
}

static enum status run_record(void *context, int *exit_code)
{
    const struct record_options *options = context;
    const struct flags *flags = &options->flags;
    struct recorded_program command = { .words = NULL };
    const char **words = NULL, *isolated;
    enum status status = STATUS_OK;
    pid_t pid;
    int lock = -1;

    if (flags->argument_count == 0)
        FAIL_OUT(STATUS_BAD_USAGE, "the program is missing: record -- python train.py");
    TRY_OUT(rows_make(&words, flags->argument_count + 1));
    for (int i = 0; i < flags->argument_count; i++) words[i] = flags->arguments[i];
    isolated = isolating(words);
    if (isolated != NULL)
        FAIL_OUT(STATUS_BAD_USAGE,
                 "%s %s keeps the recorder out, which comes in by PYTHONPATH and "
                 "sitecustomize.py: leave the option out",
                 words[0], isolated);
    TRY_OUT(record_folder_begin(options->traces, &lock));
    TRY_OUT(set_environment(options));
    TRY_OUT(start(&pid, words[0], words, NULL));
    child = (sig_atomic_t)pid;
    catch_signals();
    TRY_OUT(wait_for(pid, &command.wait_status));
    child = 0;
    unsetenv("CHOKEPOINT_RECORD"); /* a Python of our own does not record */
    *exit_code = WIFSIGNALED(command.wait_status) ? 128 + WTERMSIG(command.wait_status)
                                                  : WEXITSTATUS(command.wait_status);
    command.words = words;
    conclude(options, lock, &command);

out:
    free(words);
    return status;
}

static void prepare_record(void *context)
{
    struct record_options *options = context;

    options->wait = 10;
    options->steps = 8;
    options->stack_steps = 2;
    options->traces = "chokepoint-record";
    options->flags.out = NULL;
}

#define NUMBER(name, text, member, from, to)                                                       \
    {                                                                                              \
        name, "N", text, 1, value_count, .offset = offsetof(struct record_options, member),        \
                                         .least = from, .most = to                                 \
    }

static const struct option_row options[] = {
    NUMBER("wait", "steps before the recording, which warm up and are timed: 10", wait, 1, 1000000),
    NUMBER("steps", "steps that are recorded plainly: 8", steps, 1, 1000),
    NUMBER("stack-steps", "steps that are recorded with stacks, for the lines: 2", stack_steps, 0,
           100),
    { "step", "optimizer|forward",
      "optimizer: a step ends when an optimizer has stepped; forward: each call of the model "
      "begins one",
      1, value_choice, .offset = offsetof(struct record_options, step) },
    { "stop", NULL, "end the program once its steps are recorded", 2, value_boolean,
      .offset = offsetof(struct record_options, stop) },
    { "traces", "DIR",
      "folder for the traces; a recording that is in it is replaced; "
      "chokepoint-record if not given",
      3, value_text, .offset = offsetof(struct record_options, traces) },
    FLAG("out", "FILE", "a report as well, as `report` writes it; -o FILE does the same", 3,
         value_text, out),
    { "no-page", NULL, "record only; diagnose DIR prints the page", 3, value_boolean,
      .offset = offsetof(struct record_options, no_page) },
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_record = {
    .name = "record",
    .text = "run your PyTorch program, and say what slows it down",
    .arguments = "-- PROGRAM [ARGUMENT...]",
    .help =
        "Runs the program as it is, records a few of its training steps with PyTorch's profiler, "
        "and prints what `diagnose` says of them to standard error. The program needs no change: "
        "a step ends when the optimizer has stepped, and begins when a DataLoader is asked for the "
        "next batch. For programs that have neither, --step=forward takes each call of the model "
        "for a step. First some steps are only timed, then some are recorded plainly, which "
        "tells times, and some with stacks, which tells lines. Before and after that the "
        "program is only timed. Its output, exit code and results are its own.\v"
        "Examples:\n"
        "  chokepoint record -- python train.py --epochs=1\n"
        "  chokepoint record -o report.html -- torchrun --nproc-per-node=2 train.py\n"
        "  chokepoint record --stop --traces=slow -- python -m package.train\n"
        "  chokepoint diagnose chokepoint-record\n"
        "\n"
        "Every process that trains is recorded, each rank with a trace of its own; workers of "
        "loaders are not. A program that profiles itself is left alone. PyTorch 2.0 or later, "
        "Python 3.8 or later.\n"
        "\n"
        "The exit code is the program's, 128 + n if signal n ended it; 2 if it could not be "
        "started.",
    .options = options,
    .context_size = sizeof(struct record_options),
    .prepare = prepare_record,
    .run = run_record,
};
