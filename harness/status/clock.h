/* The one host clock: CLOCK_MONOTONIC, in nanoseconds. Traces, windows and phases all read it, so
 * their times compare. A read costs about 25 ns. */
#ifndef HARNESS_STATUS_CLOCK_H
#define HARNESS_STATUS_CLOCK_H

#include <stdint.h>

int64_t clock_ns(void);

#endif
