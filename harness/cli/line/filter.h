/* Rows of benchmarks by name: a regular expression, POSIX extended. */
#ifndef HARNESS_CLI_LINE_FILTER_H
#define HARNESS_CLI_LINE_FILTER_H

#include "harness/cli/line/options.h"

#include <regex.h>

/* All zero: every name matches. */
struct filter {
    regex_t pattern;
    bool given;
};

option_take filter_take; /* struct filter */
bool filter_matches(const struct filter *filter, const char *name);
void filter_release(struct filter *filter);

#endif
