/* The trace that --trace asks a command to write. */
#pragma once

#include "harness/cli/line/options.h"

#include <stdio.h>

option_take written_trace_take; /* const char *: a name that ends in .json or .json.gz */

/* IO if the file cannot be written. Call it before measuring. */
enum status written_trace_try(const char *path);

/* "wrote FILE: open it at ui.perfetto.dev, or with chokepoint diagnose FILE" */
void written_trace_print(FILE *stream, const char *path);
