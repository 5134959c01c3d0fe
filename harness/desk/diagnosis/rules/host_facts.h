/* Figures of a device that waits for its host, which rules of several tables look at. */
#pragma once

#include "harness/desk/diagnosis/facts/epoch_borders.h"
#include "harness/desk/diagnosis/rules/rules.h"

enum {
    FACTS_STEPS_TO_REPEAT = 8, /* fewer do not show whether something comes again */
    FACTS_WAITS_TO_REPEAT = 3,
    FACTS_LAUNCHES_LEAST = 10, /* per step: fewer cannot hold a device back */
};

/* Whether a node of the graph is a copy in that direction, as "HtoD"; "": in any. */
bool facts_copies_to(const struct facts *facts, const struct graph_node *node,
                     const char *direction);

/* Idle time of the window. */
const struct idle_time *facts_idle(const struct facts *facts);

/* Idle time per step in which the host did this, whether or not it had waited for the device
 * before. */
double facts_host_ns(const struct facts *facts, enum host_kind activity);

/* The least time of a step if its host never waits for its device and both share the cores: all of
 * their work, on all cores; the recording states how much that is, or else the trace's events do.
 * 0: they do not share them, or there is no telling how many there are. */
double facts_least_of_cores_ns(const struct facts *facts);

/* Idle time for loading in a step. */
double facts_loading_ns(const struct facts *facts, int64_t step);

/* The median of all steps; without steps the mean. */
double facts_typical_loading_ns(const struct facts *facts);

/* The smallest number of steps whose loading adds up to two thirds of all. */
int64_t facts_steps_that_wait(const struct facts *facts);

/* How many groups of neighbouring steps load for long: each of these steps for at least a quarter
 * of the longest loading. 0 if all of them are within a quarter of the trace, as happens if another
 * program takes the loader's cores for a moment. `without`: steps at these borders of epochs do not
 * count; NULL: all count. */
int64_t facts_waits_apart(const struct facts *facts, const struct epoch_borders *without);

/* True if loading is worth a finding in each third of the steps, or is long FACTS_WAITS_TO_REPEAT
 * times. */
bool facts_loading_comes_again(const struct facts *facts);

/* True if some steps load and most do not, or if a quarter of the steps has most of the loading:
 * then the mean describes neither kind. False if the loop itself waits evenly: workers that are too
 * slow may send batches in groups, and the device is idle before the first of each only. */
bool facts_loading_is_uneven(const struct facts *facts);

/* True if most steps copy a batch from pageable memory to the device: CUDA waits for the stream
 * before such a copy begins (runtime's documentation, API synchronization behavior; 64 KiB and less
 * are staged at once), so whatever the host saves before the copy while the device still works, it
 * then waits for. */
bool facts_batches_are_pageable(const struct facts *facts);

/* True if the loop's thread loses its core in a tenth of a step or more, once a step at least,
 * while the program's own threads want a tenth more cores than it has. */
bool facts_are_oversubscribed(const struct facts *facts);

/* True if every second kernel, or more, is followed by a wait for all of the device's work. */
bool facts_waits_for_launches(const struct facts *facts);

/* Copies of saves per step, while the device does nothing else. 0 if saves cost less than
 * RULE_SHARE_LEAST of a step. */
double facts_saved_copies_ns(const struct facts *facts);
