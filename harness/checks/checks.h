/* The rows of `doctor`: each is one thing that must be right for figures to mean something. */
#pragma once

#include "harness/base/status.h"
#include "harness/text/json.h"
#include "harness/text/members.h"
#include "harness/text/page.h"

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

    /* The value as a number, where it is one, and where it stops to be ok; else NaN and "". */
    double number, bound;
    double noise;  /* relative, by which the number may differ if it is measured again; NaN: not
                      known */
    char unit[16]; /* "B/s", "ns", "B", "Hz", "cores", "%" ... */
};

enum { CHECKS_MAX = 128 };

struct checks {
    struct check rows[CHECKS_MAX];
    int count;
    int counts[CHECK_STATUSES];
    const char *group;           /* of the rows that are added from now on */
    double number, bound, noise; /* of the next row, if `unit` is set */
    const char *unit;

    /* Called after each row, while the next one is measured; NULL: nobody is. */
    void (*added)(void *context);
    void *context;
};

/* The members of a row: the first five are text. Where the value is a number, it is there again in
 * `unit`, and `bound` is where it stops to be ok, null if that is not one number; all are null
 * otherwise. */
member_list check_members;

/* Reads the rows that doctor wrote. False: there are none. */
bool checks_read(struct checks *checks, const cJSON *root);

/* Adds a row. `format` makes the value; `expected` is what would be ok. `advice` is dropped where
 * the status is ok. Beyond CHECKS_MAX nothing is added. */
void checks_add(struct checks *checks, const char *name, enum check_status status,
                const char *expected, const char *advice, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* The number of the row that is added next: `bound` is where it stops to be ok, NaN if there is
 * none. */
void checks_number(struct checks *checks, double number, double bound, const char *unit);

/* The noise of that number, after checks_number(). */
void checks_noise(struct checks *checks, double noise);

/* A row without a value: NONE, and the advice is `why`. */
void checks_unknown(struct checks *checks, const char *name, const char *expected, const char *why);

bool check_is_bad(const struct check *row);   /* low, or it fails */
bool check_is_speed(const struct check *row); /* a rate, or a time */

/* Rows that fail; `strict`: those that are low too. */
int checks_bad(const struct checks *checks, bool strict);

/* NULL: there is none of that name. */
const struct check *checks_find(const struct checks *checks, const char *name);

/* Whether a machine is fit to measure: "yes" where no row is bad, "with care" where some are low,
 * "no" where one fails. `names` gets the rows in question, at most CHECKS_NAMED of them. */
enum { CHECKS_NAMED = 6 };
const char *checks_fitness(const struct checks *checks, char *names, size_t size);

/* The rows of `doctor`, for people and for programs. */

/* Prints rows as they are added. Rows of a group in turn that are not applicable for the same
 * reason become one line, so those wait for the row after them. */
struct checks_printer {
    struct page page;
    const struct checks *checks;
    int printed; /* how many rows are */
};
void checks_print_new(void *printer); /* a checks.added */

/* Prints the rows that are left, when there will be no more. */
void checks_print_rows(struct checks_printer *printer);

/* The same, then the counts, and whether the machine is fit to measure. */
void checks_print_end(struct checks_printer *printer);

/* Adds "fit": "yes" | "with care" | "no", and "checks": an array of check_members(). */
void checks_json(struct json *json, cJSON *root, const struct checks *checks);
