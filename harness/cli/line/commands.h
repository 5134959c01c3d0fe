/* The commands of the program, a const row each. A command is a file of its own and a line in the
 * list of main.c; those of the desk also in desk_main.c. */
#pragma once

#include "harness/cli/line/options.h"

/* The context is what the options set. It begins with a struct flags, which is filled with
 * flags_default(); the rest is zero. */
struct command {
    const char *name;
    const char *text;      /* one line */
    const char *arguments; /* "[SCENARIO...]"; NULL: it takes none */
    const char *help;      /* what it does; after a \v: what --help prints below the options */
    const struct option_row *options; /* the last is OPTIONS_END */
    size_t context_size;

    /* Called before the options are read, to set what must not be zero. May be NULL. */
    void (*prepare)(void *context);

    /* Called next. Results go to standard output; an error comes back and main prints it.
     * *exit_code is 0 on entry; a value put there overrides the status's own code. */
    enum status (*run)(void *context, int *exit_code);

    /* Called last, also when the options are wrong. May be NULL. */
    void (*release)(void *context);
};

/* The last line of a command's help, and of the program's: the one place that says what exit codes
 * mean. docs/results.md has all of them as a table (test_docs.py). */
#define EXIT_CODES(passed, failed, untold)                                                         \
    "Exit codes: 0 " passed "; 1 " failed "; 2 bad usage or bad input; 3 " untold ", or a "        \
    "device, a library, memory or time is missing; 128 + n ended by signal n."

/* Reads the command line argv, whose first word is the command's name, and runs the command. */
enum status command_execute(const struct command *command, int argc, char **argv, int *exit_code);

/* Prints the last error as one line, for what does not end the command. */
void command_print_error(void);

extern const struct command command_list, command_explain, command_run, command_train,
    command_bench, command_diagnose, command_digest, command_job, command_record, command_report,
    command_try, command_compare, command_history, command_doctor, command_fleet, command_exec,
    command_kernel, command_quiz;
