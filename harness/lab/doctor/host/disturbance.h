/* The programs and neighbours that took processors away while figures were measured. */
#ifndef HARNESS_LAB_DOCTOR_HOST_DISTURBANCE_H
#define HARNESS_LAB_DOCTOR_HOST_DISTURBANCE_H

#include "harness/base/facts/cpu_times.h"
#include "harness/checks/checks.h"

/* Whether a figure that was taken meanwhile may be low for that reason alone: other programs used
 * more than a tenth of the cores, or a virtual machine's host kept more than 1% of them. Unknown:
 * no. */
bool disturbance_matters(const struct cpu_loss *loss);

/* Rows cpu_steal and other_programs, from the two readings. */
void disturbance_check(struct checks *checks, const struct cpu_times *first,
                       const struct cpu_times *second, int cores);

#endif
