/* Figures of a device that waits for its host, which rules of several tables look at. */
#ifndef HARNESS_DIAGNOSIS_HOST_FACTS_H
#define HARNESS_DIAGNOSIS_HOST_FACTS_H

#include "harness/diagnosis/rules.h"

enum {
    FACTS_STEPS_TO_REPEAT = 8, /* fewer do not show whether something comes again */
    FACTS_LAUNCHES_LEAST = 10, /* per step: fewer cannot hold a device back */
};

/* Idle time of the window, and per step that in which the host did something, had it waited or not. */
const struct idle_time *facts_idle(const struct facts *facts);
double facts_doing_ns(const struct facts *facts, enum host_doing doing);

/* What a step would be shorter by, beside the idle time of these doings, without what the host does there: it
 * sets the pace (idle.h), so the time counts too in which the device still had work. */
double facts_paced_ns(const struct facts *facts, const enum host_doing *doings, size_t count);

/* Exposed loading of a step, and of the step at the middle; without steps the mean. */
double facts_loading_ns(const struct facts *facts, int64_t step);
double facts_typical_loading_ns(const struct facts *facts);

/* How many steps, the longest wait for data first, add up to two thirds of all waiting. */
int64_t facts_steps_that_wait(const struct facts *facts);

/* True if the wait is worth a finding in every third of the steps. If other programs take the loader's
 * cores for a moment, only a few steps in a row wait. */
bool facts_loading_comes_again(const struct facts *facts);

/* True if most steps do not wait for data and some do, or if a quarter of the steps or fewer account for
 * most of the wait. The mean describes neither of them. */
bool facts_loading_is_uneven(const struct facts *facts);

/* Whose fault it is that loading and device work add up where the host waits for the device: the wait's if
 * the loading would fit beside the device's work, else the loading's. A long load now and then is the
 * loading's as well: it would fit only beside the work of several steps. */
bool facts_loading_is_at_fault(const struct facts *facts);

/* Every other launch or more is followed by a wait until the device has done all its work. */
bool facts_waits_for_launches(const struct facts *facts);

/* Likewise for other work of the host: at fault is the wait if the device's work would cover it. */
bool facts_working_is_at_fault(const struct facts *facts);

#endif
