/* Phases: named intervals of a host thread, kept as a stack per thread while a sink records. */
#pragma once

#include "harness/device/types/activity.h"

/* Neither does anything for a sink that records nothing. */
void phase_stack_push(const struct activity_sink *sink, const char *name);
void phase_stack_pop(const struct activity_sink *sink);

/* The calling thread's number, gettid(), which is asked for once per thread. */
uint32_t phase_stack_thread(void);
