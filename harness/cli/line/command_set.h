/* A program of several commands: finds the command, prints the help of all, and prints errors. */
#pragma once

#include "harness/cli/line/commands.h"

enum { COMMANDS_MAX = 32 }; /* at most */

/* A name and what it means, for the help; the last of a list has no name. */
struct command_word {
    const char *name, *text;
};

struct command_set {
    const char *name;                      /* the program\'s */
    const char *text;                      /* what it does */
    const struct command *const *commands; /* [command_count], in the order of the help */
    int command_count;
    const struct command_word *examples, *variables; /* of the environment */
};

/* Runs the command that argv names and flushes standard output. *exit_code as command_execute() has
 * it. */
enum status command_set_run(const struct command_set *set, int argc, char **argv, int *exit_code);

/* Prints the error of a command that failed, behind what it printed before. Returns the code to
 * exit with: `exit_code`, or if that is 0, the code that `status` stands for. */
int command_set_failed(enum status status, int exit_code);

/* The words that a shell completes, and the page of the manual, on standard output. */
enum status
shell_completion(const struct command_set *set); /* for bash, and zsh with bashcompinit */
enum status shell_manual(const struct command_set *set, const char *version);
