/* The device's limits (roofs.h), measured in a child: a device that hangs, or memory that is short, costs the limits and
 * not the run. */
#ifndef HARNESS_LAB_EXPERIMENT_PARENT_MEASURED_ROOFS_H
#define HARNESS_LAB_EXPERIMENT_PARENT_MEASURED_ROOFS_H

#include "benches/roofs.h"

#include <signal.h>

/* Measures copies, and products of type `peak`, by `program bench --ceilings` on the device of this name. While other programs use
 * the cores it measures again, three times at most, and the fastest counts: others make a device slower, never faster.
 * What is known already only grows. TIMEOUT, CHILD: they are not known; the sentence says why. INTERRUPTED: *stop. */
enum status measured_roofs(struct roofs *roofs, int peak, const char *program, const char *device,
                           const volatile sig_atomic_t *stop);

#endif
