/* Ctrl-C and requests to terminate, for commands that keep what they measured: such a command asks
 * between two pieces of work whether it shall stop, prints what it has, and returns INTERRUPTED.
 * main then ends with 128 + the signal's number. */
#pragma once

#include <signal.h>

/* From now on SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup) only set the flag.
 * Before that they end the process at once, as is right while there is nothing to keep. A signal
 * that comes a second or more after the first ends it too: what should stop may hang. (timeout(1)
 * sends one to the process and one to its group.) After a signal, a wait for the device that does
 * not return for three seconds is abandoned: the program says so and ends at once, with 128 + the
 * signal's number. Nothing for one of several ranks, which end at once: they would not all stop at
 * the same step. */
void interrupt_catch(void);

/* Not 0 once a signal came: its number. */
const volatile sig_atomic_t *interrupt_flag(void);
int interrupt_signal(void);

/* "an interrupt", "a request to terminate", "the end of its terminal". */
const char *interrupt_name(void);
