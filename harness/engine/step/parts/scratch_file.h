/* Files that leave no trace: they have no name, and go when the program ends, however it ends. They
 * are in $TMPDIR, else in /var/tmp, which is a disk even where /tmp is memory. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>

const char *scratch_folder(void);

/* Whether the folder is in memory, so that nothing there is forced to a disk. */
bool scratch_is_in_memory(void);

/* `what` it is for ("the log"), and the setting without which it is not needed. */
enum status scratch_file_open(int *file, const char *what, const char *without);
