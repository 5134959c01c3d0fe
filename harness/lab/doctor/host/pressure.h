/* How long programs waited for a disk, or for memory that had to be freed first, while figures were
 * measured: the kernel's pressure stall information (Linux, "Documentation/accounting/psi.rst"),
 * which counts the time in which at least one program waited. A disk that others keep busy and
 * memory that is short show there whoever uses them. */
#ifndef HARNESS_LAB_DOCTOR_HOST_PRESSURE_H
#define HARNESS_LAB_DOCTOR_HOST_PRESSURE_H

#include "harness/checks/checks.h"

/* In seconds. */
struct pressure {
    double io, memory; /* since boot; NAN: the kernel does not say */
    double now;        /* of the clock */
};

/* `root` as of system_file_line. */
void pressure_read(struct pressure *pressure, const char *root);

/* Rows disk_waits and memory_waits, from two readings. */
void pressure_check(struct checks *checks, const struct pressure *first,
                    const struct pressure *second);

#endif
