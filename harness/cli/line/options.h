/* The command line of one command: a table of options, a row per option. A row says how its value
 * is read and where it goes; argp splits the command line, and its errors come back as a status
 * that names the option that was probably meant. Options begin with two dashes; only -h is short
 * for --help, and -o for --out. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct command;
struct flags;
struct option_row;

/* Reads `value` into the member at the row's offset; values.h has one per common type. `value` is
 * NULL where none was given. BAD_USAGE names the option, the value and what is wanted. */
typedef enum status option_take(void *member, const struct option_row *row, const char *value);

struct option_row {
    const char *name;
    const char *value; /* its name in --help; a choice's words: "before|after"; NULL: takes none */
    const char *text;  /* NULL: --help leaves the option out */
    int group; /* orders the rows in --help: 1 what is measured, 2 how, 3 what comes of it, 4
                  rounds_of.h */
    option_take *take;  /* NULL: --help itself */
    bool optional;      /* the value may be left out */
    size_t offset;      /* in the command's context; 0: all of it */
    double least, most; /* bounds of a number; `least` of a choice: the number of its first word */
};

enum { OPTIONS_MAX = 128 };

/* An option of the command line. */
struct given_option {
    const struct option_row *row;
    const char *value; /* NULL: none */
};

/* The last rows of every table. */
#define OPTIONS_END                                                                                \
    { "help", NULL, "this text; -h does the same", -1, .take = NULL },                             \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* Reads argv into `context`, which begins with the flags. *helped: --help was given and answered,
 * and nothing is left to do. BAD_USAGE names what is wrong, and an option that is near. A "-h"
 * among argv is replaced. */
enum status options_parse(const struct command *command, struct flags *context, int argc,
                          char **argv, bool *helped);
