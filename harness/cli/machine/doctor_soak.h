/* doctor --soak: the device under load, with a line of progress, until the time is over or
 * Ctrl-C. */
#ifndef HARNESS_CLI_MACHINE_DOCTOR_SOAK_H
#define HARNESS_CLI_MACHINE_DOCTOR_SOAK_H

#include "harness/checks/checks.h"
#include "harness/device/device.h"

/* Soaks and adds the rows. From now on signals are caught (interrupt.h). OUT_OF_MEMORY. */
enum status doctor_soak(struct checks *checks, struct device *device, double seconds);

#endif
