/* The programs and neighbours that took processors away while figures were measured. */
#ifndef HARNESS_DOCTOR_DISTURBANCE_H
#define HARNESS_DOCTOR_DISTURBANCE_H

#include "harness/base/cpu_times.h"
#include "harness/doctor/checks.h"

/* Rows cpu_steal and other_programs, from the two readings. */
void disturbance_check(struct checks *checks, const struct cpu_times *first,
                       const struct cpu_times *second, int cores);

#endif
