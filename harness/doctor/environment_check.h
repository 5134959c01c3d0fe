/* The environment variables that change what is measured, a row for each that is set. */
#ifndef HARNESS_DOCTOR_ENVIRONMENT_CHECK_H
#define HARNESS_DOCTOR_ENVIRONMENT_CHECK_H

#include "harness/doctor/checks.h"

/* `variables` is environ. A row is low where figures mislead; without any there is one row that says so. */
void environment_check(struct checks *checks, char *const *variables);

#endif
