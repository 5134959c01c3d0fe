/* The environment variables that change what is measured, a row for each that is set. */
#ifndef HARNESS_LAB_DOCTOR_HOST_ENVIRONMENT_CHECK_H
#define HARNESS_LAB_DOCTOR_HOST_ENVIRONMENT_CHECK_H

#include "harness/checks/checks.h"

/* `variables` is environ. A row is low where figures mislead; without any there is one row that
 * says so. */
void environment_check(struct checks *checks, char *const *variables);

#endif
