/* Whether a thread waits for the device, and since when: a device that hangs lets no wait return,
 * and whoever wants to end the program has to know. Both functions may be called in a signal
 * handler. */
#pragma once

#include <stdint.h>

/* Around each call that returns once the device has done something; in pairs. */
void device_wait_begin(void);
void device_wait_end(void);

/* How many threads wait now. */
int device_waits(void);

/* Grows with each wait that begins or ends: the same number later, with a wait going on, is the
 * same wait. */
int64_t device_wait_progress(void);
