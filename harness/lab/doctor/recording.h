/* Whether the device's activity can be recorded: the rights, and on a GPU a CUPTI that fits. */
#pragma once

#include "harness/checks/checks.h"

/* Opens the device called `name` once more, with a sink, launches some kernels and counts their
 * records. It must be the last check, because the recording library may stay loaded. */
void recording_check(struct checks *checks, const char *name);
