/* The clocks of a job's nodes, and the rank that each step waits for. */
#ifndef HARNESS_FLEET_JOB_JOB_CLOCKS_H
#define HARNESS_FLEET_JOB_JOB_CLOCKS_H

#include "harness/fleet/job/job_causes.h"
#include "harness/fleet/job/job_replay.h"

/* Sets offset and drift of each node's clock: the line through the ends of its first rank's
 * collectives, over those of the replay, which has one clock; beyond the median of all nodes. */
void job_clocks_find(struct arena *arena, struct job *job, const struct job_course *course);

/* Follows each step back from its last collective, from the rank that came last to the collective
 * before. The rank with the most time beyond the others' on that path is the critical one. */
void job_critical_find(struct arena *arena, const struct job *job, const struct job_course *course,
                       struct job_causes *causes);

#endif
