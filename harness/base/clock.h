/* The host's clocks, in nanoseconds. */
#pragma once

#include <stdint.h>

/* The one that traces, windows and phases all read, so that their times compare: CLOCK_MONOTONIC. A
 * read costs about 25 ns. */
int64_t clock_ns(void);

/* Wall time since 1970, for what leaves the process: CLOCK_REALTIME. It can be set, also back. */
int64_t clock_real_ns(void);

/* Processor time of all threads of this process, and of this thread: system calls, of about 200
 * ns. */
int64_t clock_process_cpu_ns(void);
int64_t clock_thread_cpu_ns(void);
