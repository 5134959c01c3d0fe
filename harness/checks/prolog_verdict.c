/* The one line that a job scheduler reads: whether a machine is fit to measure. Rows are sorted
 * into faults of the machine, traces of others, and doubts: the first kind that has a row decides.
 *
 * A row that takes time may fail because others use the machine, so it is no fault while rows show
 * others. With two looks a fault must be in both; a wrong result is no matter of luck and needs no
 * second look. */
#include "harness/checks/prolog_verdict.h"

#include "harness/base/status.h"
#include "harness/base/system/machine.h"
#include "harness/base/words/text.h"
#include "harness/base/words/utf8.h"

#include <stdio.h>
#include <string.h>

/* Rows about what others do on the machine. */
static const char *const of_others[] = { "load",           "memory",    "swap",
                                         "other_programs", "cpu_steal", "disk_waits",
                                         "memory_waits",   "gpu_others" };

/* Rows that take time, besides those with a speed: others may be the reason if one fails. */
static const char *const timed[] = { "tracing", "peer_links" };

static bool is_listed(const char *const *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static bool is_of_others(const struct check *row)
{
    return is_listed(of_others, ARRAY_SIZE(of_others), row->name);
}

static bool is_timed(const struct check *row)
{
    return is_listed(timed, ARRAY_SIZE(timed), row->name) || check_is_speed(row);
}

static bool is_wrong_result(const struct check *row)
{
    return strncmp(row->name, "numerics_", 9) == 0 || strstr(row->name, "_bits") != NULL ||
           strstr(row->name, "_ecc") != NULL;
}

static bool others_are_there(const struct checks *checks)
{
    for (int i = 0; i < checks->count; i++)
        if (is_of_others(&checks->rows[i]) && check_is_bad(&checks->rows[i]))
            return true;
    return false;
}

/* Whether the row, which fails, is a fault of the machine itself. */
static bool is_fault(const struct check *row, bool others)
{
    return row->status == CHECK_FAIL && !is_of_others(row) && !(others && is_timed(row));
}

static bool fails(const struct checks *checks, const char *name, bool others)
{
    const struct check *row = checks_find(checks, name);

    return row != NULL && is_fault(row, others);
}

/* `also`: another look, which a fault must be in too; NULL: none. */
static enum prolog_verdict judge_looks(const struct checks *checks, const struct checks *also,
                                       char *names, size_t size)
{
    static const enum prolog_verdict order[] = { PROLOG_UNFIT, PROLOG_BUSY, PROLOG_CARE };
    bool others = others_are_there(checks), others_also = also != NULL && others_are_there(also);
    int named = 0;

    names[0] = '\0';
    for (size_t v = 0; v < ARRAY_SIZE(order); v++) {
        for (int i = 0; i < checks->count; i++) {
            const struct check *row = &checks->rows[i];
            bool fault = is_fault(row, others);
            if (also != NULL && fault && !fails(also, row->name, others_also))
                fault = false;
            if (order[v] == PROLOG_UNFIT  ? !fault
                : order[v] == PROLOG_BUSY ? row->status != CHECK_FAIL || is_fault(row, others)
                                          : !check_is_bad(row))
                continue;
            if (named++ < CHECKS_NAMED)
                text_join(names, size, ", ", "%s: %.60s", row->name, row->value);
        }
        if (named > CHECKS_NAMED)
            text_append(names, size, " and %d more", named - CHECKS_NAMED);
        if (named > 0)
            return order[v];
    }
    return PROLOG_FIT;
}

enum prolog_verdict prolog_judge(const struct checks *checks, char *names, size_t size)
{
    return judge_looks(checks, NULL, names, size);
}

bool prolog_wants_second_look(const struct checks *checks)
{
    bool others = others_are_there(checks), fault = false;

    for (int i = 0; i < checks->count; i++) {
        if (!is_fault(&checks->rows[i], others))
            continue;
        if (is_wrong_result(&checks->rows[i]))
            return false;
        fault = true;
    }
    return fault;
}

enum prolog_verdict prolog_judge_both(const struct checks *first, const struct checks *second,
                                      char *names, size_t size)
{
    return judge_looks(second, first, names, size);
}

void prolog_line(char *text, size_t size, enum prolog_verdict verdict, const char *names)
{
    static const char *const words[] = { "yes", "with care", "busy", "no" };

    snprintf(text, size, "Fit to measure: %s%s%s%s", words[verdict], names[0] != '\0' ? " (" : "",
             names, names[0] != '\0' ? ")" : "");
}

int prolog_print(enum prolog_verdict verdict, const char *names, bool strict)
{
    struct machine machine;
    char line[1200];

    machine_read(&machine, "");
    prolog_line(line, sizeof line, verdict, names);
    utf8_show(line);
    printf("%s: %s\n", machine.host_name, line);
    return verdict == PROLOG_BUSY                                          ? PROLOG_BUSY_EXIT
           : verdict == PROLOG_UNFIT || (verdict == PROLOG_CARE && strict) ? 1
                                                                           : 0;
}
