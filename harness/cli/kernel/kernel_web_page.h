/* `kernel --out=FILE`: the page that scripts/kernel_page.py makes of what the command prints as JSON. */
#ifndef HARNESS_CLI_KERNEL_KERNEL_WEB_PAGE_H
#define HARNESS_CLI_KERNEL_KERNEL_WEB_PAGE_H

#include "harness/cli/line/flags.h"

/* Becomes python3, which runs this program again with the same options. Returns only if that fails: NO_LIBRARY, BAD_USAGE. */
enum status kernel_web_page(const struct flags *flags, const char *beside);

#endif
