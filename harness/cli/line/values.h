/* How the values of options are read: one function per type of what the option sets. Each is an
 * option_take; the rows' `least` and `most` bound numbers. */
#pragma once

#include "harness/cli/line/options.h"

#include <regex.h>

option_take value_text;     /* const char * */
option_take value_boolean;  /* bool: true, false, 1 or 0; true where no value is given */
option_take value_count;    /* int */
option_take value_unsigned; /* uint64_t */
option_take value_bytes;    /* int64_t: "512MiB" */
option_take value_seconds;  /* double: above 0, at most `most` */
option_take value_duration; /* double, seconds: "10m"; at most `most` */
option_take value_rate;     /* double: above 0, per second */
option_take value_real;     /* double: at least 0 */
option_take value_percent;  /* double: "5%" or "5" is 0.05; the bounds are percent */
option_take value_choice;   /* an enum: one of the words of the row's `value` */

/* --- A regular expression --- */

/* Rows of benchmarks by name: a regular expression, POSIX extended. */

/* All zero: every name matches. */
struct filter {
    regex_t pattern;
    bool given;
};

option_take filter_take; /* struct filter */
bool filter_matches(const struct filter *filter, const char *name);
void filter_release(struct filter *filter);
