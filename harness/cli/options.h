/* The command line of one command: argp does the work, this gives its errors back as a status and
 * names the option that was probably meant. */
#ifndef HARNESS_CLI_OPTIONS_H
#define HARNESS_CLI_OPTIONS_H

#include "harness/base/status.h"

#include <argp.h>
#include <stdbool.h>

struct options {
    const char *command;   /* "run" */
    const char *arguments; /* "[SCENARIO...]"; "": it takes none */
    const char *text;      /* what it does; after a \v: examples, printed below the options */
    const struct argp_option *rows; /* the last is OPTIONS_END */

    /* An option by its key, and an argument. Either may fail; the second may be NULL. */
    enum status (*option)(void *context, int key, const char *value);
    enum status (*argument)(void *context, const char *value);
    bool in_order; /* options and arguments are taken as they come; else the options first */
    void *context;
};

/* The last rows of every table: --help, which options_parse answers, and the end. */
enum { OPTION_HELP = 0x7f00 };
#define OPTIONS_END                                                                                \
    { "help", OPTION_HELP, NULL, 0, "this text", -1 },                                             \
    {                                                                                              \
        NULL, 0, NULL, 0, NULL, 0                                                                  \
    }

/* The last line of a command's text, and of the program's: the one place that says what exit codes mean. */
#define EXIT_CODES(none, found)                                                                    \
    "Exit codes: 0 " none "; 1 " found "; 2 bad usage or bad input; 3 the device or a library is " \
    "missing; 128 + n ended by signal n."

/* Takes argv apart. *helped: --help was given and answered, and nothing is left to do. BAD_USAGE names
 * what is wrong and the nearest option. */
enum status options_parse(const struct options *options, int argc, char **argv, bool *helped);

#endif
