/* The commands of the program, a const row each. A command is a file of its own and a line in the list
 * of main.c. */
#ifndef HARNESS_CLI_COMMANDS_H
#define HARNESS_CLI_COMMANDS_H

#include "harness/base/status.h"

struct command {
    const char *name;
    const char *text; /* one line */

    /* argv[0] is the command's name. Results go to standard output; an error comes back and main prints
     * it. *exit_code is 0 on entry; what is put there counts more than the status's own code. */
    enum status (*run)(int argc, char **argv, int *exit_code);
};

extern const struct command command_list, command_explain, command_run, command_train,
    command_bench, command_diagnose, command_compare, command_doctor, command_exec;

#endif
