/* Files that come with the program: its Python scripts. */
#pragma once

#include "harness/base/status.h"

#include <limits.h>

/* The path of this program. IO. */
enum status program_path(char path[PATH_MAX]);

/* The path of "recorder/sitecustomize.py" or the like, where the program was built, or where it is
 * installed. IO; NO_LIBRARY: it is in neither. */
enum status program_file_find(char path[PATH_MAX], const char *name);
