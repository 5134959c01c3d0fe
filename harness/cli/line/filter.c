#include "harness/cli/line/filter.h"

enum status filter_take(void *member, const struct option_row *row, const char *value)
{
    struct filter *filter = member;
    char text[160];
    int error;

    if (value[0] == '\0')
        FAIL(STATUS_BAD_USAGE, "--%s is empty: give a regular expression, as in --%s=gemm",
             row->name, row->name);
    filter_release(filter);
    error = regcomp(&filter->pattern, value, REG_EXTENDED | REG_NOSUB);
    filter->given = error == 0;
    if (error != 0) {
        regerror(error, &filter->pattern, text, sizeof text);
        FAIL(STATUS_BAD_USAGE, "--%s=%.100s is not a regular expression: %s", row->name, value,
             text);
    }

    return STATUS_OK;
}

bool filter_matches(const struct filter *filter, const char *name)
{
    return !filter->given || regexec(&filter->pattern, name, 0, NULL, 0) == 0;
}

void filter_release(struct filter *filter)
{
    if (filter->given)
        regfree(&filter->pattern);
    filter->given = false;
}
