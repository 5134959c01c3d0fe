#include "harness/cli/options.h"

#include "harness/base/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 128 };

struct parse {
    const struct options *options;
    enum status status;
    bool helped;
};

static const struct argp_option *find(const struct argp_option *rows, const char *name,
                                      size_t length, int *prefixed)
{
    const struct argp_option *found = NULL;

    *prefixed = 0;
    for (; rows->name != NULL || rows->doc != NULL; rows++) {
        if (rows->name == NULL || strncmp(rows->name, name, length) != 0)
            continue;
        (*prefixed)++;
        if (rows->name[length] == '\0')
            return rows;
        found = rows;
    }
    return *prefixed == 1 ? found : NULL;
}

static const char *nearest_option(const struct argp_option *rows, const char *name)
{
    const char *names[NAMES_MAX];
    int count = 0;

    for (; count < NAMES_MAX && (rows->name != NULL || rows->doc != NULL); rows++)
        if (rows->name != NULL)
            names[count++] = rows->name;
    return nearest_name(name, names, count);
}

/* `word` is the option that argp stopped at. */
static enum status explain_bad_option(const struct options *options, const char *word)
{
    enum status status = STATUS_OK;
    const char *name = word + strspn(word, "-"), *nearest;
    size_t length = strcspn(name, "=");
    const struct argp_option *row;
    char bare[64];
    int prefixed;

    snprintf(bare, sizeof bare, "%.*s", (int)length, name);
    row = find(options->rows, name, length, &prefixed);
    if (row != NULL && row->arg != NULL)
        FAIL(STATUS_BAD_USAGE, "--%s needs a value: --%s=%s", row->name, row->name, row->arg);
    if (row != NULL)
        FAIL(STATUS_BAD_USAGE, "--%s takes no value, but \"%s\" was given", row->name, word);
    if (prefixed > 1)
        FAIL(STATUS_BAD_USAGE, "--%s is short for several options; write it out", bare);
    nearest = nearest_option(options->rows, bare);
    FAIL(STATUS_BAD_USAGE, "there is no option %.60s; did you mean --%s? (chokepoint %s --help)",
         word, nearest != NULL ? nearest : "help", options->command);

out:
    return status;
}

static error_t parse_key(int key, char *value, struct argp_state *state)
{
    struct parse *parse = state->input;
    const struct options *options = parse->options;

    switch (key) {
    case OPTION_HELP:
        argp_help(state->root_argp, stdout,
                  ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC,
                  state->name);
        parse->helped = true;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_ARG:
        if (parse->helped)
            return 0;
        if (options->argument == NULL) {
            parse->status =
                status_fail(STATUS_BAD_USAGE, __FILE__, __LINE__,
                            "unexpected \"%.60s\": %s takes options only", value, options->command);
            return EINVAL;
        }
        parse->status = options->argument(options->context, value);
        return parse->status == STATUS_OK ? 0 : EINVAL;
    case ARGP_KEY_ERROR:
        if (parse->status == STATUS_OK)
            parse->status = explain_bad_option(options, state->argv[state->next - 1]);
        return 0;
    case ARGP_KEY_INIT:
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_ARGS:
    case ARGP_KEY_END:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_FINI:
        return ARGP_ERR_UNKNOWN;
    default:
        parse->status = options->option(options->context, key, value);
        return parse->status == STATUS_OK ? 0 : EINVAL;
    }
}

enum status options_parse(const struct options *options, int argc, char **argv, bool *helped)
{
    struct argp argp = { options->rows, parse_key, options->arguments, options->text, NULL,
                         NULL,          NULL };
    struct parse parse = { .options = options };
    char name[64], *saved = argv[0];
    error_t error;

    snprintf(name, sizeof name, "chokepoint %s", options->command);
    argv[0] = name;
    error = argp_parse(&argp, argc, argv,
                       ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT |
                           (options->in_order ? ARGP_IN_ORDER : 0),
                       NULL, &parse);
    argv[0] = saved;
    *helped = parse.helped;
    if (error != 0 && parse.status == STATUS_OK)
        return status_fail(STATUS_BAD_USAGE, __FILE__, __LINE__, "the command line: %s",
                           strerror(error));
    return parse.status;
}
