/* The rows of `doctor`, for people and for programs. */
#ifndef HARNESS_DOCTOR_CHECKS_OUTPUT_H
#define HARNESS_DOCTOR_CHECKS_OUTPUT_H

#include "harness/base/status.h"
#include "harness/doctor/checks.h"
#include "harness/text/page.h"

void checks_page(const struct page *page, const struct checks *checks);

/* {"schema": 1, "checks": [{"name", "status", "value", "expected", "advice"}]}, all of them text.
 * *text is malloc'd. */
enum status checks_json(const struct checks *checks, char **text);

#endif
