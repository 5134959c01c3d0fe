/* Whether the host lets figures be taken: its processors, its memory, and who else uses them.
 *
 * Facts come from /proc and /sys below `root`: "" is this machine, a test gives a folder. A fact
 * that is not there is n/a: nothing fails. */
#ifndef HARNESS_LAB_DOCTOR_HOST_HOST_H
#define HARNESS_LAB_DOCTOR_HOST_HOST_H

#include "harness/base/system/machine.h"
#include "harness/checks/checks.h"

/* `machine` is what machine_read() found under the same root. */
void host_check_processors(struct checks *checks, const char *root, const struct machine *machine);
void host_check_memory(struct checks *checks, const char *root);

#endif
