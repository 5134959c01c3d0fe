/* Reads the options of a command. argp reads the words; the table of a command is its list of
 * options. Two things are done beside it: words with a single dash are rewritten first, and a word
 * that argp refuses is explained, with the nearest option that there is.
 *
 * argp prints nothing and never exits (ARGP_NO_ERRS, ARGP_NO_EXIT): errors are statuses, as
 * everywhere. A row that has no `take` is --help. */
#include "harness/cli/line/options.h"

#include "harness/base/sort.h"
#include "harness/base/words/nearest.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/text/wrap.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The key of row 0. A key that is a character would make a short option. */
enum { FIRST_KEY = 0x100 };

struct parse {
    const struct command *command;
    struct flags *context;
    enum status status;
    bool helped;
};

/* As argp finds an option: by its whole name, or by a beginning that only one has. *prefixed: how
 * many begin so. */
static const struct option_row *find_option(const struct option_row *rows, const char *name,
                                            size_t length, int *prefixed)
{
    const struct option_row *found = NULL;

    *prefixed = 0;
    for (; rows->name != NULL; rows++) {
        if (strncmp(rows->name, name, length) != 0)
            continue;
        (*prefixed)++;
        if (rows->name[length] == '\0')
            return rows;
        found = rows;
    }
    return *prefixed == 1 ? found : NULL;
}

/* Whether `name` is one of the words "a|b|c". */
static bool is_word(const char *words, const char *name)
{
    size_t length = strlen(name);

    for (const char *word = words; word != NULL; word = strchr(word, '|')) {
        word += *word == '|';
        if (strncmp(word, name, length) == 0 && (word[length] == '|' || word[length] == '\0'))
            return length > 0;
    }
    return false;
}

/* Suggests what was probably meant: "; did you mean --quick?", or --format=json where --json was
 * given. */
static void advise(char text[NEAREST_ADVICE], const struct option_row *rows, const char *name)
{
    const char *names[OPTIONS_MAX], *nearest;
    int count = 0;

    text[0] = '\0';
    while (count < OPTIONS_MAX && rows[count].name != NULL) {
        names[count] = rows[count].name;
        count++;
    }
    nearest = nearest_name(name, names, count);
    if (nearest != NULL)
        snprintf(text, NEAREST_ADVICE, "; did you mean --%s?", nearest);
    for (; nearest == NULL && rows->name != NULL; rows++)
        if (rows->value != NULL && is_word(rows->value, name)) {
            nearest = name;
            snprintf(text, NEAREST_ADVICE, "; did you mean --%s=%s?", rows->name, name);
        }
}

static enum status no_such_option(const struct command *command, const char *word, const char *name,
                                  const char *note)
{
    char advice[NEAREST_ADVICE];

    advise(advice, command->options, name);
    FAIL(STATUS_BAD_USAGE, "there is no option %.60s%s%s (%s %s --help)", word, note, advice,
         program_invocation_name, command->name);
}

/* `word` is the option that argp stopped at. */
static enum status explain_bad_option(const struct command *command, const char *word)
{
    const char *name = word + strspn(word, "-");
    size_t length = strcspn(name, "=");
    const struct option_row *row;
    char bare[64];
    int prefixed;

    snprintf(bare, sizeof bare, "%.*s", (int)length, name);
    row = find_option(command->options, name, length, &prefixed);
    if (row != NULL && row->value != NULL)
        FAIL(STATUS_BAD_USAGE, "--%s needs a value: --%s=%s", row->name, row->name, row->value);
    if (row != NULL)
        FAIL(STATUS_BAD_USAGE, "--%s takes no value, but \"%s\" was given", row->name, word);
    if (prefixed > 1)
        FAIL(STATUS_BAD_USAGE, "--%s is short for several options; write it out", bare);
    return no_such_option(command, word, bare, "");
}

/* argp would take a word with one dash letter by letter. "-h" becomes "--help", and "-o" "--out"
 * where there is such an option; others are refused, except where they are the value of the option
 * before them. */
static enum status take_single_dashes(const struct command *command, int argc, char **argv)
{
    static char help[] = "--help", out_option[] = "--out";
    const struct option_row *row;
    int prefixed;

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = argv[i];
        char name[64];
        if (word[0] != '-' || word[1] == '\0')
            continue;
        if (strcmp(word, "-h") == 0) {
            argv[i] = help;
        } else if (strcmp(word, "-o") == 0 &&
                   find_option(command->options, "out", 3, &prefixed) != NULL) {
            argv[i++] = out_option;
        } else if (word[1] != '-') {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 1, "="), word + 1);
            row = find_option(command->options, name, strlen(name), &prefixed);
            TRY(no_such_option(command, word, row != NULL ? row->name : name,
                               ": options begin with two dashes"));
        } else if (strchr(word, '=') == NULL) {
            row = find_option(command->options, word + 2, strlen(word + 2), &prefixed);
            i += row != NULL && row->value != NULL && !row->optional;
        }
    }

    return STATUS_OK;
}

/* --- Help: argp's own breaks a line in the wrong place where its buffer ends --- */

/* Columns: of an option's name; of its text; and how far a name may reach into those of the text
 * before the text goes to the next line. */
enum { HELP_NAME = 6, HELP_TEXT = 29, HELP_OVER = 3 };

/* Negative groups come last. */
COMPARATOR_OF_POINTERS(by_group, struct option_row,
                       COMPARE((unsigned)a->group, (unsigned)b->group) ?: strcmp(a->name, b->name))

static void print_option(const struct option_row *row, int width)
{
    int column = printf("%*s--%s", HELP_NAME, "", row->name);

    if (row->value != NULL)
        column += printf(row->optional ? "[=%s]" : "=%s", row->value);
    if (column > HELP_TEXT + HELP_OVER)
        column = printf("\n%*s", HELP_TEXT, "") - 1;
    else
        column += printf("%*s", column < HELP_TEXT ? HELP_TEXT - column : HELP_OVER, "");
    wrap_print(stdout, column, HELP_TEXT, width, row->text);
}

/* An example is to be copied: if it is too wide, a backslash ends the line. A remark stands after
 * four blanks and says what the example is for. */
static void print_example(char *line, int width)
{
    int indent = (int)strspn(line, " ");
    char *remark = strstr(line + indent, "    ");

    if (wrap_columns(line) <= width) {
        puts(line);
        return;
    }
    if (remark != NULL)
        *remark++ = '\0';
    wrap_command(stdout, indent, width, line + indent);
    if (remark == NULL)
        return;
    printf("%*s", indent + 4, "");
    wrap_print(stdout, indent + 4, indent + 4, width, remark + strspn(remark, " "));
}

static void print_lines(const char *text, int width)
{
    for (size_t bytes; *text != '\0'; text += bytes + (text[bytes] == '\n')) {
        char *line = strndup(text, bytes = strcspn(text, "\n"));

        if (line != NULL && line[0] == ' ')
            print_example(line, width);
        else if (line != NULL)
            wrap_print(stdout, 0, 0, width, line);
        free(line);
    }
}

static void print_help(const struct command *command)
{
    const char *arguments = command->arguments != NULL ? command->arguments : "";
    const char *below = strchrnul(command->help, '\v');
    const struct option_row *rows[OPTIONS_MAX];
    int count = 0, width = wrap_width(stdout) - 1;
    char *above = strndup(command->help, (size_t)(below - command->help));

    for (const char *usage = "Usage:"; usage != NULL;
         usage = *arguments != '\0' ? "  or: " : NULL) {
        int bytes = (int)strcspn(arguments, "\n");
        int column = printf("%s chokepoint %s [OPTION...]", usage, command->name);
        if (bytes > 0)
            printf("%s%.*s", column + 1 + bytes > width ? "\n            " : " ", bytes, arguments);
        putchar('\n');
        arguments += bytes + (arguments[bytes] == '\n');
    }
    if (above != NULL)
        print_lines(above, width);
    free(above);
    putchar('\n');
    for (const struct option_row *row = command->options; row->name != NULL; row++)
        if (row->text != NULL && count < OPTIONS_MAX)
            rows[count++] = row;
    qsort(rows, (size_t)count, sizeof rows[0], by_group);
    for (int i = 0; i < count; i++) print_option(rows[i], width);
    if (*below == '\v') {
        putchar('\n');
        print_lines(below + 1, width);
    }
}

static error_t parse_key(int key, char *value, struct argp_state *state)
{
    struct parse *parse = state->input;

    if (key == ARGP_KEY_ARG) {
        parse->context->arguments[parse->context->argument_count++] = value;
        return 0;
    }
    if (key == ARGP_KEY_ERROR && parse->status == STATUS_OK)
        parse->status = explain_bad_option(parse->command, state->argv[state->next - 1]);
    /* Options are kept in their order too, since rounds and pages pass them on to other
     * programs. */
    if (key >= FIRST_KEY && key < FIRST_KEY + OPTIONS_MAX) {
        const struct option_row *row = &parse->command->options[key - FIRST_KEY];
        parse->context->given[parse->context->given_count++] = (struct given_option){ row, value };
        if (row->take == NULL) {
            print_help(parse->command);
            parse->helped = true;
            state->next = state->argc;
        } else {
            parse->status = row->take((char *)parse->context + row->offset, row, value);
        }
        return parse->status == STATUS_OK ? 0 : EINVAL;
    }
    return key == ARGP_KEY_ERROR ? 0 : ARGP_ERR_UNKNOWN;
}

enum status options_parse(const struct command *command, struct flags *context, int argc,
                          char **argv, bool *helped)
{
    enum status status = STATUS_OK;
    struct argp_option options[OPTIONS_MAX + 1] = { { .name = NULL } };
    struct argp argp = { options, parse_key, NULL, NULL, NULL, NULL, NULL };
    struct parse parse = { .command = command, .context = context };
    const struct option_row *row = command->options;
    error_t error;

    for (int i = 0; i < OPTIONS_MAX && row->name != NULL; i++, row++)
        options[i] = (struct argp_option){
            .name = row->name,
            .key = FIRST_KEY + i,
            .arg = row->value,
            .flags = row->optional ? OPTION_ARG_OPTIONAL : 0,
        };
    *helped = false;
    TRY_OUT(take_single_dashes(command, argc, argv));
    error = argp_parse(&argp, argc, argv,
                       ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_IN_ORDER, NULL, &parse);
    *helped = parse.helped;
    status = parse.status;
    if (status != STATUS_OK || parse.helped)
        goto out;
    if (error != 0)
        FAIL_OUT(STATUS_BAD_USAGE, "the command line: %s", strerror(error));
    if (command->arguments == NULL && context->argument_count > 0)
        FAIL_OUT(STATUS_BAD_USAGE, "%s takes options only; unexpected \"%.60s\"", command->name,
                 context->arguments[0]);

out:
    return status;
}
