/* The device time of forward, backward and optimizer: events between them, on the compute stream.
 *
 * In a graph the events are nodes, so every launch records them. Queued op by op, only the last
 * step of a window does, and the others cost what they cost without. Either way the last step's
 * times are read. A phase includes the time that the device waits within it, for launches, say. */
#pragma once

#include "harness/device/device.h"

struct phase_times;

/* Sums over a step. Communication: how long the update waits for it after backward, and what
 * follows after the update; in a pipeline also the messages between passes, and of a mixture of
 * experts the exchanges of tokens. */
struct phase_ns {
    double forward, backward, communication, optimizer;
};

enum timed_phase {
    TIMED_NONE,
    TIMED_FORWARD,
    TIMED_BACKWARD,
    TIMED_COMMUNICATION,
    TIMED_OPTIMIZER
};

/* At most `most` events per step. */
enum status phase_times_open(struct phase_times **times, struct device *device, int most);

/* After any graph with its events; NULL is allowed. */
void phase_times_close(struct phase_times *times);

/* Forgets the events of the step before. */
void phase_times_restart(struct phase_times *times);

/* The next event, to be recorded where `ended` ends; the first one where the first phase begins. */
struct event *phase_times_next(struct phase_times *times, enum timed_phase ended);

/* The times of the step that recorded them last, whose work must be done. */
enum status phase_times_read(const struct phase_times *times, struct phase_ns *ns);
