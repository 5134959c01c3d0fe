/* Files that come with the program: its Python scripts. */
#pragma once

#include "harness/base/status.h"
#include "harness/cli/line/flags.h"

#include <limits.h>

/* The path of this program. IO. */
enum status program_path(char path[PATH_MAX]);

/* The path of "report.py" or the like, where the program was built, or where it is installed. IO;
 * NO_LIBRARY: it is in neither. */
enum status program_file_find(char path[PATH_MAX], const char *name);

/* --- The page of a command --- */

/* The page that scripts/report.py makes at `flags->out`, of what `command` prints as JSON, or of
 * the files that `report` is given. `beside`: the JSON of another run, which the page of `kernel`
 * shows as before; NULL: none.
 *
 * Becomes python3, which runs this program again with the same options. Returns only if that fails:
 * NO_LIBRARY, BAD_USAGE, also if a format was asked for. */
enum status web_page(const char *command, const struct flags *flags, const char *beside);
