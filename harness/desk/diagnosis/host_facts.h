/* Figures of a device that waits for its host, which rules of several tables look at. */
#ifndef HARNESS_DESK_DIAGNOSIS_HOST_FACTS_H
#define HARNESS_DESK_DIAGNOSIS_HOST_FACTS_H

#include "harness/desk/diagnosis/epoch_borders.h"
#include "harness/desk/diagnosis/rules.h"

enum {
    FACTS_STEPS_TO_REPEAT = 8, /* fewer do not show whether something comes again */
    FACTS_WAITS_TO_REPEAT = 3,
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

/* How often steps wait for long, with others between them: at least a quarter as long as the step that waits longest.
 * 0: all of these are within a quarter of the steps, as where other programs take the loader's cores for a moment.
 * `without`: steps at borders of epochs do not count; NULL: all do. */
int64_t facts_waits_apart(const struct facts *facts, const struct epoch_borders *without);

/* True if the wait is worth a finding in every third of the steps, or if it is long FACTS_WAITS_TO_REPEAT times. */
bool facts_loading_comes_again(const struct facts *facts);

/* True if most steps do not wait for data and some do, or if a quarter of the steps or fewer account for
 * most of the wait. The mean describes neither of them. Where workers are too slow, batches may come in groups, and the
 * device waits for the first of each, but the host for all. */
bool facts_loading_is_uneven(const struct facts *facts);

/* Whose fault it is that loading and device work add up where the host waits for the device: the wait's if
 * the loading would fit beside the device's work, else the loading's. A long load now and then is the
 * loading's as well: it would fit only beside the work of several steps. */
bool facts_loading_is_at_fault(const struct facts *facts);

/* Every other launch of a kernel or more is followed by a wait until the device has done all its work. */
bool facts_waits_for_launches(const struct facts *facts);

/* What the waits in logging, saves or releases of memory put off, per step. Where the loop loses too little time to
 * these themselves, that is 0: who only reads a loss in order to log it has a wait, and no slow log. */
double facts_put_off_ns(const struct facts *facts, enum host_doing reason);

/* Copies of saves that a device makes while it does nothing else, per step; 0 likewise. */
double facts_saved_copies_ns(const struct facts *facts);

/* Likewise for other work of the host: at fault is the wait if the device's work would cover it. */
bool facts_working_is_at_fault(const struct facts *facts);

#endif
