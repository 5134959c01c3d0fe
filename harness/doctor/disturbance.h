/* What took the processors away while figures were measured: the kernel's own account of it. */
#ifndef HARNESS_DOCTOR_DISTURBANCE_H
#define HARNESS_DOCTOR_DISTURBANCE_H

#include "harness/doctor/checks.h"

/* Processor time of all programs since boot, and of this process, in seconds; NAN: not known. */
struct cpu_times {
    double busy, stolen, own;
    double now; /* of the clock */
};

void cpu_times_read(struct cpu_times *times, const char *root);

/* Rows cpu_steal and other_programs, of what happened between the two readings. */
void disturbance_check(struct checks *checks, const struct cpu_times *first,
                       const struct cpu_times *second, int cores);

#endif
