/* The device's limits (roofs.h), measured in a child: a device that hangs, or memory that is short,
 * costs the limits and not the run. */
#pragma once

#include "benches/roofs.h"

#include <signal.h>

/* Tries on a busy machine. Each takes half a second: a quick run has one. */
enum { ROOF_TRIES = 3, ROOF_TRIES_QUICK = 1 };

/* Measures copies, and products of type `peak`, by `bench --ceilings` on the same device. While
 * other programs use the cores it measures again, `tries` times at most, and the fastest counts:
 * others make a device slower, never faster. Known limits only grow. A child that computes on the
 * host may take no more memory than the control group leaves. TIMEOUT, CHILD: they are not known;
 * the sentence says why. INTERRUPTED: *stop. */
enum status measured_roofs(struct roofs *roofs, int peak, const struct device_properties *device,
                           int tries, const volatile sig_atomic_t *stop);

/* The same; if they cannot be known, says so once, and the products are marked as such
 * (roofs.h). */
void measured_roofs_if_possible(struct roofs *roofs, int peak,
                                const struct device_properties *device, int tries,
                                const volatile sig_atomic_t *stop);
