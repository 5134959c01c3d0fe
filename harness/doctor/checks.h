/* The rows of `doctor`: each is one thing that must be right for figures to mean something. */
#ifndef HARNESS_DOCTOR_CHECKS_H
#define HARNESS_DOCTOR_CHECKS_H

#include <stdbool.h>

/* LOW: figures can be taken, with the doubt that the row names. FAIL: they would mislead. NONE: not
 * known or not applicable here; the advice says why. */
enum check_status { CHECK_OK, CHECK_LOW, CHECK_FAIL, CHECK_NONE, CHECK_STATUSES };
const char *check_status_name(enum check_status status); /* "ok", "low", "fail", "n/a" */

struct check {
    const char *group; /* "host": the heading that it stands under */
    char name[40];     /* "cpu_governor" */
    enum check_status status;
    char value[160], expected[160];
    char advice[400]; /* what to do; "" if it is ok */
};

enum { CHECKS_MAX = 128 };

struct checks {
    struct check rows[CHECKS_MAX];
    int count;
    int counts[CHECK_STATUSES];
    const char *group; /* of the rows that are added from now on */
};

/* Adds a row. `format` makes the value; `expected` is what would be ok. `advice` is dropped where the
 * status is ok. Beyond CHECKS_MAX nothing is added. */
void checks_add(struct checks *checks, const char *name, enum check_status status,
                const char *expected, const char *advice, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* A row without a value: NONE, and the advice is `why`. */
void checks_unknown(struct checks *checks, const char *name, const char *expected, const char *why);

/* NULL: there is none of that name. */
const struct check *checks_find(const struct checks *checks, const char *name);

#endif
