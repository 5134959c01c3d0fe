/* The rows of doctor: what was found, what was expected, and what to do. Rows are kept in an array
 * of fixed size: whoever adds one never has to handle a failure.
 *
 * A figure goes with the row that is added next: checks_number() and checks_noise() come before
 * checks_add(), which takes and forgets them. */
#include "harness/checks/checks.h"

#include "harness/base/words/text.h"

#include <math.h>
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
    /* Nothing is to be done about a row that is ok. */
    snprintf(row->advice, sizeof row->advice, "%s", status == CHECK_OK ? "" : advice);
    va_start(values, format);
    vsnprintf(row->value, sizeof row->value, format, values);
    va_end(values);
    row->number = checks->unit != NULL ? checks->number : NAN;
    row->bound = checks->unit != NULL ? checks->bound : NAN;
    row->noise = checks->unit != NULL ? checks->noise : NAN;
    snprintf(row->unit, sizeof row->unit, "%s", checks->unit != NULL ? checks->unit : "");
    checks->unit = NULL;
    checks->count++;
    checks->counts[status]++;
    if (checks->added != NULL)
        checks->added(checks->context);
}

void checks_number(struct checks *checks, double number, double bound, const char *unit)
{
    checks->number = number;
    checks->bound = bound;
    checks->noise = NAN;
    checks->unit = unit;
}

void checks_noise(struct checks *checks, double noise)
{
    checks->noise = noise;
}

void checks_unknown(struct checks *checks, const char *name, const char *expected, const char *why)
{
    checks_add(checks, name, CHECK_NONE, expected, why, "unknown");
}

void check_members(struct members *members, void *object)
{
    struct check *row = object;
    const char *unit = row->unit[0] != '\0' ? row->unit : NULL;

    member_text(members, "name", row->name, sizeof row->name);
    MEMBER_WORD(members, "status", &row->status, enum check_status, CHECK_STATUSES,
                check_status_name);
    member_text(members, "value", row->value, sizeof row->value);
    member_text(members, "expected", row->expected, sizeof row->expected);
    member_text(members, "advice", row->advice, sizeof row->advice);
    member_number(members, "number", &row->number);
    member_number(members, "bound", &row->bound);
    /* Written as null if there is none, but read into the row itself. */
    if (members->reading)
        member_text(members, "unit", row->unit, sizeof row->unit);
    else
        member_string(members, "unit", &unit);
    member_number(members, "noise", &row->noise);
}

bool checks_read(struct checks *checks, const cJSON *root)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(root, "checks"), *row;

    *checks = (struct checks){ .group = "" };
    cJSON_ArrayForEach(row, rows)
    {
        struct check *check = &checks->rows[checks->count];
        if (checks->count == CHECKS_MAX)
            break;
        check->group = checks->group;
        members_read_leniently(row, NULL, check_members, check);
        checks->counts[check->status]++;
        checks->count++;
    }
    return checks->count > 0;
}

bool check_is_speed(const struct check *row)
{
    static const char *const speeds[] = { "B/s", "FLOP/s", "Hz", "ns" };

    for (size_t i = 0; i < ARRAY_SIZE(speeds); i++)
        if (strcmp(row->unit, speeds[i]) == 0)
            return true;
    return false;
}

bool check_is_bad(const struct check *row)
{
    return row->status == CHECK_LOW || row->status == CHECK_FAIL;
}

int checks_bad(const struct checks *checks, bool strict)
{
    return checks->counts[CHECK_FAIL] + (strict ? checks->counts[CHECK_LOW] : 0);
}

const struct check *checks_find(const struct checks *checks, const char *name)
{
    for (int i = 0; i < checks->count; i++)
        if (strcmp(checks->rows[i].name, name) == 0)
            return &checks->rows[i];
    return NULL;
}

/* The worst status decides, and the rows that have it are named. */
const char *checks_fitness(const struct checks *checks, char *names, size_t size)
{
    enum check_status worst = checks->counts[CHECK_FAIL] > 0  ? CHECK_FAIL
                              : checks->counts[CHECK_LOW] > 0 ? CHECK_LOW
                                                              : CHECK_OK;
    int named = 0;

    names[0] = '\0';
    for (int i = 0; i < checks->count && worst != CHECK_OK; i++)
        if (checks->rows[i].status == worst && named++ < CHECKS_NAMED)
            text_join(names, size, ", ", "%s", checks->rows[i].name);
    if (named > CHECKS_NAMED)
        text_append(names, size, " and %d more", named - CHECKS_NAMED);
    return worst == CHECK_OK ? "yes" : worst == CHECK_LOW ? "with care" : "no";
}
