/* Raises the clocks of a GPU before it is timed.
 *
 * An idle GPU runs at low clocks and leaves them only after some tens of milliseconds of work; a
 * step bound by launches may never get there. So products of large matrices keep it busy first. The
 * CPU device needs none of this: its clock is that of the host, which is busy anyway. */
#pragma once

#include "harness/device/device.h"

/* Keeps a device whose clocks rise with work busy with products for 0.2 s, and waits for their end.
 * Does nothing on others. */
enum status clocks_raise(struct device *device);
