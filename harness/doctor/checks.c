#include "harness/doctor/checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *check_status_name(enum check_status status)
{
    static const char *const names[] = { "ok", "low", "fail", "n/a" };

    return names[status];
}

void checks_add(struct checks *checks, const char *name, enum check_status status,
                const char *expected, const char *advice, const char *format, ...)
{
    struct check *row = &checks->rows[checks->count];
    va_list values;

    if (checks->count == CHECKS_MAX)
        return;
    row->group = checks->group;
    row->status = status;
    snprintf(row->name, sizeof row->name, "%s", name);
    snprintf(row->expected, sizeof row->expected, "%s", expected);
    snprintf(row->advice, sizeof row->advice, "%s", status == CHECK_OK ? "" : advice);
    va_start(values, format);
    vsnprintf(row->value, sizeof row->value, format, values);
    va_end(values);
    checks->count++;
    checks->counts[status]++;
}

void checks_unknown(struct checks *checks, const char *name, const char *expected, const char *why)
{
    checks_add(checks, name, CHECK_NONE, expected, why, "unknown");
}

const struct check *checks_find(const struct checks *checks, const char *name)
{
    for (int i = 0; i < checks->count; i++)
        if (strcmp(checks->rows[i].name, name) == 0)
            return &checks->rows[i];
    return NULL;
}
