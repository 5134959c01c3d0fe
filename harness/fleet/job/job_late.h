/* Own times of ranks beyond those of the others at the same point, and the changes that would take
 * a cause away. */
#pragma once

#include "harness/fleet/job/job_causes.h"
#include "harness/fleet/job/job_replay.h"

struct job_late {
    const struct job *job;
    const struct job_times *times;
    double *slot_ns;  /* [slot_count], the median own time before meetings that are alike */
    float *beyond_ns; /* [rank_count][step_count], sums over a step */
    double *mean_ns;  /* [rank_count], per step */
    int64_t places;   /* entries of a step, at most */
};

struct job_late job_late_of(struct arena *arena, const struct job *job,
                            const struct job_times *times);

/* A cause, and what is taken from the times without it: from own times of its ranks by the entry's
 * place in the step, with a part that grows with the steps; or from transfers of its group; or from
 * every own time. */
struct job_change {
    struct job_cause cause;
    int64_t places;
    double *shift_ns, *slope_ns; /* [places]; slope_ns: per step */
    double transfer_ns;          /* of each meeting */
    double *all_ns;              /* [entries of all ranks] */
};

/* Takes it away, or with `sign` -1 puts it back. */
void job_change_make(const struct job *job, struct job_times *times,
                     const struct job_change *change, double sign);

/* Ranks, nodes, racks, places and links that are late beyond what chance makes of as many; returns
 * how many. */
int job_candidates(struct arena *arena, const struct job_late *late, struct job_change *candidates,
                   int most);

/* All own time that goes with tokens. False: tokens are not stated, or nothing goes with them. */
bool job_imbalance(struct arena *arena, const struct job_late *late, struct job_change *change);

/* All that differs between ranks. */
void job_evenness(struct arena *arena, const struct job_late *late, struct job_change *change);

/* Makes the `count` latest ranks like the others in `times`, a copy of the late ones. */
void job_without(struct arena *arena, const struct job_late *late, struct job_times *times,
                 int64_t count);
