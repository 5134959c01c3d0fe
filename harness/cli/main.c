/* chokepoint: reproduces the bottlenecks of training on GPUs, one at a time, as experiments.
 *
 * This file finds the command and is the one place that prints errors and ends the process. */
#include "harness/base/words/nearest.h"
#include "harness/cli/job/interrupt.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/lab/device/many_ranks.h"
#include "harness/text/wrap.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* In the order of the help text. */
static const struct command *const commands[] = {
    &command_list,   &command_explain,  &command_quiz,   &command_run,     &command_train,
    &command_bench,  &command_diagnose, &command_report, &command_compare, &command_history,
    &command_doctor, &command_fleet,    &command_corpus, &command_exec,
};

/* docs/environment.md has more about them. */
static const struct {
    const char *name, *text;
} variables[] = {
    { "CHOKEPOINT_CACHE", "folder of generated images and resized copies of your own; otherwise "
                          "XDG_CACHE_HOME/chokepoint, or "
                          ".cache/chokepoint in HOME" },
    { "CHOKEPOINT_PLUGINS", "folder of the devices' libraries, instead of the program's own" },
    { "CHOKEPOINT_RANK_TIMEOUT", "seconds that a rank waits for another; 60 if not set" },
    { "CHOKEPOINT_VERBOSE", "not empty: as --verbose" },
    { "CHOKEPOINT_FAIL", "device calls that shall fail, for tests of the program" },
    { "CUDA_HOME, CUDA_PATH", "where CUDA's libraries are" },
    { "CUDA_VISIBLE_DEVICES", "the GPUs that CUDA shows" },
    { "NO_COLOR", "not empty: no colours, as with TERM=dumb" },
    { "TMPDIR", "folder for the files that train --save-every writes; otherwise /var/tmp" },
};

/* "  name      text" in two columns, the second of which begins at `column`. */
static void print_two(FILE *stream, int column, const char *name, const char *text)
{
    fprintf(stream, "  %-*s", text[0] != '\0' ? column - 2 : 0, name);
    wrap_print(stream, column, column, wrap_width(stream), text);
}

static void print_help(FILE *stream)
{
    static const struct {
        const char *command, *text;
    } examples[] = {
        { "chokepoint run --quick", "the core scenarios, in a hurry" },
        { "chokepoint explain item_sync", "what it teaches and how to try it by hand" },
        { "chokepoint train --model=balanced --sweep workers=0,1,2", "" },
        { "chokepoint diagnose trace.json.gz", "where its time went, and what is wrong" },
    };
    int width = wrap_width(stream);

    fputs("Usage: chokepoint COMMAND [OPTION...]\n\n", stream);
    wrap_print(stream, 0, 0, width,
               "Reproduces what slows down training on GPUs, one bottleneck at a time: the same "
               "training step with one thing wrong (before) and with it fixed (after).");
    fputs("\nCommands:\n", stream);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        print_two(stream, 12, commands[i]->name, commands[i]->text);
    fputs("\nExamples:\n", stream);
    for (size_t i = 0; i < ARRAY_SIZE(examples); i++)
        print_two(stream, 37, examples[i].command, examples[i].text);
    fputs("\nEnvironment:\n", stream);
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        print_two(stream, 27, variables[i].name, variables[i].text);
    fputc('\n', stream);
    wrap_print(stream, 0, 0, width,
               "COMMAND --help says more about a command; --version names this program.");
    fputc('\n', stream);
    wrap_print(stream, 0, 0, width,
               EXIT_CODES("all is well", "the command found something wrong, as its --help says"));
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static enum status unknown_command(const char *name)
{
    enum status status = STATUS_OK;
    static const char *const options[] = { "--help", "--version" };
    const char *names[ARRAY_SIZE(commands)], *near;
    char advice[NEAREST_ADVICE];

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) names[i] = commands[i]->name;
    nearest_advice(advice, name, names, ARRAY_SIZE(names));
    if (name[0] != '-')
        FAIL(STATUS_BAD_USAGE, "there is no command %.60s%s (%s --help)", name, advice,
             program_invocation_name);
    near = nearest_name(name, options, ARRAY_SIZE(options));
    if (near != NULL)
        FAIL(STATUS_BAD_USAGE, "there is no option %.60s; did you mean %s?", name, near);
    FAIL(STATUS_BAD_USAGE, "%.60s comes before a command: options follow it, as in %s run %.60s",
         name, program_invocation_name, name);

out:
    return status;
}

enum status command_execute(const struct command *command, int argc, char **argv, int *exit_code)
{
    enum status status = STATUS_OK;
    struct flags *context = calloc(1, command->context_size);
    const char **arguments = calloc((size_t)argc, sizeof *arguments);
    struct given_option *given = calloc((size_t)argc, sizeof *given);
    bool helped;

    if (context == NULL || arguments == NULL || given == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for the command line");
    *context = flags_default();
    context->arguments = arguments;
    context->given = given;
    if (command->prepare != NULL)
        command->prepare(context);
    status = options_parse(command, context, argc, argv, &helped);
    /* Through the environment, so that child processes know it too. */
    if (context->verbose)
        setenv("CHOKEPOINT_VERBOSE", "1", 1);
    if (status == STATUS_OK && !helped)
        status = command->run(context, exit_code);
    if (status == STATUS_INTERRUPTED && interrupt_signal() != 0)
        *exit_code = 128 + interrupt_signal();

out:
    if (context != NULL && command->release != NULL)
        command->release(context);
    free(context);
    free(arguments);
    free(given);
    return status;
}

static enum status run(int argc, char **argv, int *exit_code)
{
    enum status status = STATUS_OK;
    static char option_help[] = "--help";
    const struct command *command;

    if (argc < 2) {
        print_help(stderr);
        *exit_code = 2;
        goto out;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2) { /* "help train" is "train --help" */
        argv[1] = argv[2];
        argv[2] = option_help;
        argc = 3;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        goto out;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("chokepoint " CHOKEPOINT_VERSION);
        goto out;
    }
    command = find_command(argv[1]);
    if (command == NULL)
        TRY(unknown_command(argv[1]));
    status = command_execute(command, argc - 1, argv + 1, exit_code);
    if (status != STATUS_OK)
        status_context("%s", command->name);

out:
    return status;
}

/* "chokepoint: run: the result file: cannot write ...", and under --verbose where it was noticed. */
void command_print_error(void)
{
    const struct status_error *error = status_last();
    const char *verbose = getenv("CHOKEPOINT_VERBOSE");
    char sentence[sizeof error->context + sizeof error->text + 32];

    snprintf(sentence, sizeof sentence, "chokepoint: %s%s%s", error->context,
             error->context[0] != '\0' ? ": " : "",
             error->text[0] != '\0' ? error->text : status_text(error->status));
    if (wrap_terminal(stderr) > 0)
        wrap_print(stderr, 0, 2, wrap_width(stderr), sentence);
    else /* for programs: one line, every blank of a path in it */
        fprintf(stderr, "%s\n", sentence);
    if (verbose != NULL && verbose[0] != '\0')
        fprintf(stderr, "  %s, noticed at %s:%d%s%s\n", status_name(error->status), error->file,
                error->line, error->expression[0] != '\0' ? " in " : "", error->expression);
}

/* Output that could not be written is a failure like others: the disk may be full. */
static enum status flush_output(void)
{
    enum status status = STATUS_OK;

    if (fflush(stdout) != 0 || ferror(stdout))
        FAIL(STATUS_IO, "cannot write to standard output: %s", strerror(errno != 0 ? errno : EIO));

out:
    return status;
}

int main(int argc, char **argv)
{
    int exit_code = 0;
    enum status status;

    /* A child is started as /proc/self/exe: without this, top would show it as "exe". */
    prctl(PR_SET_NAME, program_invocation_short_name);
    /* Beyond `ulimit -f`, a write shall fail with a sentence instead of ending the process. */
    signal(SIGXFSZ, SIG_IGN);
    status = run(argc, argv, &exit_code);
    if (status == STATUS_OK)
        status = flush_output();
    if (status == STATUS_OK)
        status = ranks_leave();
    if (status == STATUS_OK)
        return exit_code;
    if (ranks_count() > 1)
        status_context("rank %d", ranks_rank());
    fflush(stdout);
    command_print_error();
    if (exit_code == 0)
        exit_code = status_exit_code(status);
    ranks_abort(exit_code);
    return exit_code;
}
