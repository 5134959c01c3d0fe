/* Devices whose rows the reader does not keep, and profilers whose rows have no category at all: a
 * trace of these seems to show a host that works alone. */
#pragma once

#include "harness/desk/read/kineto/event_parser.h"

/* Takes an event that is not kept. *device becomes what it tells of, a constant such as "an MTIA",
 * unless an event before told more. */
void unread_device_note(const char **device, const struct event_fields *fields);
