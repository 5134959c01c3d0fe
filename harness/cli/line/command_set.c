/* A program's words: the command that is asked for, its help, and the exit code that a status
 * becomes. Whatever a command prints is flushed before it counts as done.
 *
 * chokepoint and chokepoint-desk are two such sets. A command gets a context of its own size, which
 * begins with the flags that all share; it is zeroed, prepared, filled from the command line, run
 * and released, in this order, and released also if it never ran. */
#include "harness/cli/line/command_set.h"

#include "harness/base/rows.h"
#include "harness/base/words/nearest.h"
#include "harness/base/words/utf8.h"
#include "harness/cli/line/flags.h"
#include "harness/text/wrap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "  name      text" in two columns, the second of which begins at `column`. */
static void print_two(FILE *stream, int column, const char *name, const char *text)
{
    fprintf(stream, "  %-*s", text[0] != '\0' ? column - 2 : 0, name);
    wrap_print(stream, column, column, wrap_width(stream), text);
}

/* The column of the second of two, beside the longest first one that has a second. */
static int second_column(const struct command_word *words)
{
    int column = 0;

    for (; words->name != NULL; words++)
        if (words->text[0] != '\0' && (int)strlen(words->name) + 4 > column)
            column = (int)strlen(words->name) + 4;
    return column;
}

static void print_help(const struct command_set *set, FILE *stream)
{
    int width = wrap_width(stream), column = second_column(set->examples);

    fprintf(stream, "Usage: %s COMMAND [OPTION...]\n\n", set->name);
    wrap_print(stream, 0, 0, width, set->text);
    fputs("\nCommands:\n", stream);
    for (int i = 0; i < set->command_count; i++)
        print_two(stream, 12, set->commands[i]->name, set->commands[i]->text);
    fputs("\nExamples:\n", stream);
    for (const struct command_word *example = set->examples; example->name != NULL; example++)
        print_two(stream, column, example->name, example->text);
    fputs("\nEnvironment:\n", stream);
    for (const struct command_word *word = set->variables; word->name != NULL; word++)
        print_two(stream, 27, word->name, word->text);
    fputc('\n', stream);
    wrap_print(stream, 0, 0, width,
               "COMMAND --help says more about a command; --version names this program.");
    fputc('\n', stream);
    wrap_print(stream, 0, 0, width,
               EXIT_CODES("all is well", "the command found something wrong, as its --help says",
                          "it cannot tell: too few or too noisy"));
}

static const struct command *find_command(const struct command_set *set, const char *name)
{
    for (int i = 0; i < set->command_count; i++)
        if (strcmp(set->commands[i]->name, name) == 0)
            return set->commands[i];
    return NULL;
}

/* An option in the place of a command is told apart: it may be one of the program, misspelt, or
 * stand before the command by mistake. */
static enum status unknown_command(const struct command_set *set, const char *name)
{
    static const char *const options[] = { "--help", "--version" };
    const char *names[COMMANDS_MAX], *near;
    char advice[NEAREST_ADVICE];

    for (int i = 0; i < set->command_count; i++) names[i] = set->commands[i]->name;
    nearest_advice(advice, name, names, set->command_count);
    if (name[0] != '-')
        FAIL(STATUS_BAD_USAGE, "there is no command %.60s%s (%s --help)", name, advice,
             program_invocation_name);
    near = nearest_name(name, options, ARRAY_SIZE(options));
    if (near != NULL)
        FAIL(STATUS_BAD_USAGE, "there is no option %.60s; did you mean %s?", name, near);
    FAIL(STATUS_BAD_USAGE, "%.60s comes before a command: options follow it, as in %s run %.60s",
         name, program_invocation_name, name);
}

enum status command_execute(const struct command *command, int argc, char **argv, int *exit_code)
{
    enum status status = STATUS_OK;
    struct flags *context = NULL;
    const char **arguments = NULL;
    struct given_option *given = NULL;
    bool helped;

    TRY_OUT(rows_make_bytes(&context, 1, command->context_size));
    TRY_OUT(rows_make(&arguments, argc));
    TRY_OUT(rows_make(&given, argc));
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

out:
    if (context != NULL && command->release != NULL)
        command->release(context);
    free(context);
    free(arguments);
    free(given);
    return status;
}

enum status command_set_run(const struct command_set *set, int argc, char **argv, int *exit_code)
{
    enum status status = STATUS_OK;
    static char option_help[] = "--help";
    const struct command *command;

    if (argc < 2) {
        print_help(set, stderr);
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
        print_help(set, stdout);
        goto out;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("%s %s\n", set->name, CHOKEPOINT_VERSION);
        goto out;
    }
    if (strcmp(argv[1], "--completion") == 0) {
        TRY_OUT(shell_completion(set));
        goto out;
    }
    if (strcmp(argv[1], "--man") == 0) {
        TRY_OUT(shell_manual(set, CHOKEPOINT_VERSION));
        goto out;
    }
    command = find_command(set, argv[1]);
    if (command == NULL)
        TRY_OUT(unknown_command(set, argv[1]));
    status = command_execute(command, argc - 1, argv + 1, exit_code);
    if (status != STATUS_OK)
        status_context("%s", command->name);
    else if (fflush(stdout) != 0 || ferror(stdout)) /* the disk may be full */
        FAIL_OUT(STATUS_IO, "cannot write to standard output: %s",
                 strerror(errno != 0 ? errno : EIO));

out:
    return status;
}

int command_set_failed(enum status status, int exit_code)
{
    fflush(stdout);
    command_print_error();
    return exit_code != 0 ? exit_code : status_exit_code(status);
}

/* "chokepoint: run: the result file: cannot write ...", and under --verbose where it was
 * noticed. */
void command_print_error(void)
{
    const struct status_error *error = status_last();
    const char *verbose = getenv("CHOKEPOINT_VERBOSE");
    char sentence[sizeof error->context + sizeof error->text + 32];

    snprintf(sentence, sizeof sentence, "chokepoint: %s%s%s", error->context,
             error->context[0] != '\0' ? ": " : "",
             error->text[0] != '\0' ? error->text : status_text(error->status));
    /* Texts of errors hold names from files, which could hold escape sequences. */
    utf8_show(sentence);
    if (wrap_terminal(stderr) > 0)
        wrap_print(stderr, 0, 2, wrap_width(stderr), sentence);
    else /* for programs: one line, every blank of a path in it */
        fprintf(stderr, "%s\n", sentence);
    if (verbose != NULL && verbose[0] != '\0')
        fprintf(stderr, "  %s, noticed at %s:%d%s%s\n", status_name(error->status), error->file,
                error->line, error->expression[0] != '\0' ? " in " : "", error->expression);
}
