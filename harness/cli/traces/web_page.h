/* `kernel --out=FILE` and `job --out=FILE`: the page that scripts/command_page.py makes of what the
 * command prints as JSON. */
#ifndef HARNESS_CLI_TRACES_WEB_PAGE_H
#define HARNESS_CLI_TRACES_WEB_PAGE_H

#include "harness/cli/line/flags.h"

/* Becomes python3, which runs this program again with the same options. Returns only if that fails:
 * NO_LIBRARY, BAD_USAGE, also if a format was asked for. */
enum status web_page(const char *command, const struct flags *flags);

#endif
