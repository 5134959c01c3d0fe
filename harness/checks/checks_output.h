/* The rows of `doctor`, for people and for programs. */
#pragma once

#include "harness/base/status.h"
#include "harness/checks/checks.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

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
