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

/* `kernel --out=FILE` and `job --out=FILE`: the page that scripts/command_page.py makes of what the
 * command prints as JSON. */

/* Becomes python3, which runs this program again with the same options. Returns only if that fails:
 * NO_LIBRARY, BAD_USAGE, also if a format was asked for. */
enum status web_page(const char *command, const struct flags *flags);
