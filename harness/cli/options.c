#include "harness/cli/options.h"

#include "harness/base/nearest.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The key of row 0. A key that is a character would make a short option. */
enum { FIRST_KEY = 0x100 };

struct parse {
    const struct command *command;
    struct flags *context;
    enum status status;
    bool helped;
};

static const struct option_row *find(const struct option_row *rows, const char *name, size_t length,
                                     int *prefixed)
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

static const char *nearest_option(const struct option_row *rows, const char *name)
{
    const char *names[OPTIONS_MAX];
    int count = 0;

    for (; count < OPTIONS_MAX && rows->name != NULL; rows++) names[count++] = rows->name;
    return nearest_name(name, names, count);
}

/* `word` is the option that argp stopped at. */
static enum status explain_bad_option(const struct command *command, const char *word)
{
    enum status status = STATUS_OK;
    const char *name = word + strspn(word, "-");
    size_t length = strcspn(name, "=");
    const struct option_row *row;
    char bare[64];
    int prefixed;

    snprintf(bare, sizeof bare, "%.*s", (int)length, name);
    row = find(command->options, name, length, &prefixed);
    if (row != NULL && row->value != NULL)
        FAIL(STATUS_BAD_USAGE, "--%s needs a value: --%s=%s", row->name, row->name, row->value);
    if (row != NULL)
        FAIL(STATUS_BAD_USAGE, "--%s takes no value, but \"%s\" was given", row->name, word);
    if (prefixed > 1)
        FAIL(STATUS_BAD_USAGE, "--%s is short for several options; write it out", bare);
    FAIL(STATUS_BAD_USAGE, "there is no option %.60s; did you mean --%s? (chokepoint %s --help)",
         word, nearest_option(command->options, bare), command->name);

out:
    return status;
}

static void print_help(struct parse *parse, struct argp_state *state)
{
    argp_help(state->root_argp, stdout,
              ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC,
              state->name);
    parse->helped = true;
    state->next = state->argc;
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
    if (key >= FIRST_KEY && key < FIRST_KEY + OPTIONS_MAX) {
        const struct option_row *row = &parse->command->options[key - FIRST_KEY];
        if (row->take == NULL)
            print_help(parse, state);
        else
            parse->status = row->take((char *)parse->context + row->offset, row, value);
        return parse->status == STATUS_OK ? 0 : EINVAL;
    }
    return key == ARGP_KEY_ERROR ? 0 : ARGP_ERR_UNKNOWN;
}

enum status options_parse(const struct command *command, struct flags *context, int argc,
                          char **argv, bool *helped)
{
    enum status status = STATUS_OK;
    struct argp_option options[OPTIONS_MAX + 1] = { { .name = NULL } };
    struct argp argp = { options, parse_key, command->arguments, command->help, NULL, NULL, NULL };
    struct parse parse = { .command = command, .context = context };
    const struct option_row *row = command->options;
    char name[64], *saved = argv[0];
    error_t error;

    for (int i = 0; i < OPTIONS_MAX && row->name != NULL; i++, row++)
        options[i] = (struct argp_option){
            .name = row->name,
            .key = FIRST_KEY + i,
            .arg = row->value,
            .flags =
                (row->optional ? OPTION_ARG_OPTIONAL : 0) | (row->text == NULL ? OPTION_HIDDEN : 0),
            .doc = row->text,
            .group = row->group,
        };
    snprintf(name, sizeof name, "chokepoint %s", command->name);
    argv[0] = name;
    error = argp_parse(&argp, argc, argv,
                       ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_IN_ORDER, NULL, &parse);
    argv[0] = saved;
    *helped = parse.helped;
    status = parse.status;
    if (status != STATUS_OK || parse.helped)
        goto out;
    if (error != 0)
        FAIL(STATUS_BAD_USAGE, "the command line: %s", strerror(error));
    if (command->arguments == NULL && context->argument_count > 0)
        FAIL(STATUS_BAD_USAGE, "unexpected \"%.60s\": %s takes options only", context->arguments[0],
             command->name);

out:
    return status;
}
