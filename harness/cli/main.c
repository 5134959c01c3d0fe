/* chokepoint: reproduces the bottlenecks of training on GPUs, one at a time, as experiments.
 *
 * This file finds the command and is the one place that prints errors and ends the process. */
#include "harness/base/nearest.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/text/wrap.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the help text. */
static const struct command *const commands[] = {
    &command_list,     &command_explain, &command_run,    &command_train, &command_bench,
    &command_diagnose, &command_compare, &command_doctor, &command_exec,
};

static void print_help(void)
{
    puts("Usage: chokepoint COMMAND [OPTION...]\n"
         "\n"
         "Reproduces what slows down training on GPUs, one bottleneck at a time: the same\n"
         "training step with one thing wrong (before) and with it fixed (after).\n"
         "\n"
         "Commands:");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        printf("  %-10s%s\n", commands[i]->name, commands[i]->text);
    puts("\n"
         "Examples:\n"
         "  chokepoint run --quick             the core scenarios, in a hurry\n"
         "  chokepoint explain item_sync       what it teaches and how to try it by hand\n"
         "  chokepoint train --model=balanced --sweep workers=0,1,2\n"
         "  chokepoint diagnose trace.json.gz  where its time went, and what is wrong\n"
         "\n"
         "COMMAND --help says more about a command; --version names this program.\n");
    wrap_print(stdout, 0, 0, wrap_width(stdout),
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
    const char *names[ARRAY_SIZE(commands) + 2] = { "--help", "--version" };

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) names[i + 2] = commands[i]->name;
    FAIL(STATUS_BAD_USAGE, "there is no %s %.60s; did you mean %s? (chokepoint --help)",
         name[0] == '-' ? "option" : "command", name,
         nearest_name(name, names, (int)ARRAY_SIZE(names)));

out:
    return status;
}

static enum status run_command(const struct command *command, int argc, char **argv, int *exit_code)
{
    enum status status = STATUS_OK;
    struct flags *context = calloc(1, command->context_size);
    const char **arguments = calloc((size_t)argc, sizeof *arguments);
    bool helped;

    if (context == NULL || arguments == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for the command line");
    *context = flags_default();
    context->arguments = arguments;
    if (command->prepare != NULL)
        command->prepare(context);
    status = options_parse(command, context, argc, argv, &helped);
    /* Through the environment, so that child processes know it too. */
    if (context->verbose)
        setenv("CHOKEPOINT_VERBOSE", "1", 1);
    if (status == STATUS_OK && !helped)
        status = command->run(context, exit_code);

out:
    if (context != NULL && command->release != NULL)
        command->release(context);
    free(context);
    free(arguments);
    return status;
}

static enum status run(int argc, char **argv, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct command *command;

    if (argc < 2)
        FAIL(STATUS_BAD_USAGE, "a command is missing; chokepoint --help lists them");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help();
        goto out;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("chokepoint " CHOKEPOINT_VERSION);
        goto out;
    }
    command = find_command(argv[1]);
    if (command == NULL)
        TRY(unknown_command(argv[1]));
    status = run_command(command, argc - 1, argv + 1, exit_code);
    if (status != STATUS_OK)
        status_context("%s", command->name);

out:
    return status;
}

/* "chokepoint: run: the result file: cannot write ...", and under --verbose where it was noticed. */
static void print_error(void)
{
    const struct status_error *error = status_last();
    const char *verbose = getenv("CHOKEPOINT_VERBOSE");

    fprintf(stderr, "chokepoint: %s%s%s\n", error->context, error->context[0] != '\0' ? ": " : "",
            error->text[0] != '\0' ? error->text : status_text(error->status));
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

    /* Beyond `ulimit -f`, a write shall fail with a sentence instead of ending the process. */
    signal(SIGXFSZ, SIG_IGN);
    status = run(argc, argv, &exit_code);
    if (status == STATUS_OK)
        status = flush_output();
    if (status == STATUS_OK)
        return exit_code;
    fflush(stdout);
    print_error();
    return exit_code != 0 ? exit_code : status_exit_code(status);
}
