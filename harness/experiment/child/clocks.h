/* Raising the clocks of a GPU before it is timed.
 *
 * A GPU that was idle runs at low clocks and takes some tens of milliseconds of work to leave them; a
 * step bound by launches may never make it. So products of large matrices keep it busy first. The CPU
 * device has nothing of the kind: its clock is the host's, which is busy anyway. */
#ifndef HARNESS_EXPERIMENT_CHILD_CLOCKS_H
#define HARNESS_EXPERIMENT_CHILD_CLOCKS_H

#include "harness/device/device.h"

/* Keeps the device busy with products for about `seconds` and waits for them. */
enum status clocks_raise_for(struct device *device, double seconds);

/* Does so for 0.2 s on a device whose clocks rise with work, and nothing on others. */
enum status clocks_raise(struct device *device);

#endif
