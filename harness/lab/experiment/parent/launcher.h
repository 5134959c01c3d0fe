/* MPI's launcher, and the command that starts a program as several ranks with it. */
#pragma once

#include "harness/base/status.h"

#include <limits.h>

enum { LAUNCHER_OPTIONS = 19 };

struct launcher {
    char path[PATH_MAX]; /* of mpirun or mpiexec */
    char ranks[16];
    const char *words[LAUNCHER_OPTIONS +
                      1]; /* its name, its options and the number of ranks; ends with NULL */
};

/* Whether ranks can be started: the plugin that connects them loads, there is a launcher, and this
 * process is not itself one of a job. NO_LIBRARY and BAD_USAGE say what is missing or wrong. The
 * words point into `launcher`. */
enum status launcher_find(struct launcher *launcher, int ranks);
