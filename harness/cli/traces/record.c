/* chokepoint record: runs a program that trains with PyTorch, records a few of its steps, and says
 * what they show.
 *
 * The recorder is Python (scripts/recorder), and user_program.h brings it into the program, which
 * needs no change. This process waits, passes signals on, and starts `diagnose` and `report` of the
 * same build once the program has ended. The program's exit code is its own. */
#include "harness/base/rows.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/record_folder.h"
#include "harness/cli/traces/user_program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum step_begin { BY_OPTIMIZER, BY_FORWARD };

struct record_options {
    struct flags flags;
    int wait, steps, stack_steps;
    const char *traces; /* the folder */
    enum step_begin step;
    bool stop;
    bool no_page;
};

/* --- The orders --- */

static enum status set_number(const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    return user_variable(name, text);
}

/* The variables by which the recorder gets into Python and knows what to do. */
static enum status set_environment(const struct record_options *options)
{
    char folder[PATH_MAX];

    if (realpath(options->traces, folder) == NULL)
        FAIL(STATUS_IO, "the folder %s cannot be read: %s", options->traces, strerror(errno));
    TRY(user_variable("CHOKEPOINT_RECORD", folder));
    TRY(set_number("CHOKEPOINT_RECORD_PID", (int)getpid()));
    TRY(set_number("CHOKEPOINT_RECORD_WAIT", options->wait));
    TRY(set_number("CHOKEPOINT_RECORD_STEPS", options->steps));
    TRY(set_number("CHOKEPOINT_RECORD_STACK_STEPS", options->stack_steps));
    TRY(set_number("CHOKEPOINT_RECORD_STOP", options->stop));
    TRY(set_number("CHOKEPOINT_RECORD_FORWARD", options->step == BY_FORWARD));
    /* Kineto would print lines of its own among those of the program. */
    if (getenv("KINETO_LOG_LEVEL") == NULL)
        TRY(user_variable("KINETO_LOG_LEVEL", "99"));
    return user_program_enter();
}

/* --- The page --- */

/* Standard output is the other program's. */
static enum status print_by(const char *const *words)
{
    int wait_status;

    return run_own_command(words, STDERR_FILENO, -1, &wait_status);
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
        TRY(print_by(page));
    if (options->flags.out == NULL)
        return STATUS_OK;
    if (snprintf(out, sizeof out, "--out=%s", options->flags.out) >= (int)sizeof out)
        FAIL(STATUS_BAD_USAGE, "--out: %.60s... is too long a path", options->flags.out);
    return print_by(report);
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
    const char **words = NULL;
    enum status status = STATUS_OK;
    pid_t pid;
    int lock = -1;

    TRY_OUT(rows_make(&words, flags->argument_count + 1));
    for (int i = 0; i < flags->argument_count; i++) words[i] = flags->arguments[i];
    TRY_OUT(user_program_check(words, "record -- python train.py"));
    TRY_OUT(record_folder_begin(options->traces, &lock));
    TRY_OUT(set_environment(options));
    TRY_OUT(user_program_start(&pid, words, -1, -1));
    TRY_OUT(user_program_wait(pid, &command.wait_status, 0, NULL));
    unsetenv("CHOKEPOINT_RECORD"); /* a Python of our own does not record */
    *exit_code = user_program_exit_code(command.wait_status);
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
