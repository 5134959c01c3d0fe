/* Causes that hold a job back and that only its ranks together show: who or what is late, and what
 * that costs.
 *
 * A rank is late by its own time beyond that of the others at the same point of the step (the
 * median). Its peers in a small group wait for it and so come late to the next collective
 * themselves, but their own time is like the others'. A cause costs what a replay without it gains
 * (job_replay.h). Causes are found one after the other, the dearest first, each in the job without
 * those before it. */
#pragma once

#include "harness/fleet/job/job_replay.h"

enum job_cause_kind {
    JOB_LATE_RANK,
    JOB_LATE_NODE,
    JOB_LATE_RACK,
    JOB_DRIFTING_NODE, /* later from step to step */
    JOB_LATE_PLACE,    /* the ranks at one place of all nodes */
    JOB_SLOW_LINK,     /* a group's transfers take longer than those of groups like it */
    JOB_IMBALANCE,     /* own time goes with the tokens of rank and step */
    JOB_WANDERING,     /* another rank is late in each step */
    JOB_CAUSE_COUNT
};

struct job_cause {
    enum job_cause_kind kind;
    int64_t which;  /* in ranks, nodes, racks or groups, or the place; -1: none */
    double lost_ns; /* per step */
    double late_ns; /* per step: how much later than the others, or longer; of a drifting node in
                       the last step */
};

enum { JOB_CAUSES = 8, JOB_WITHOUT = 3 };

/* A share of a step below which nothing is named. */
#define JOB_CAUSE_LEAST 0.02

/* The rank that holds each step up, and what it does longer than the others then. */
struct job_critical {
    int32_t rank;
    double own_ns, beyond_ns; /* on the step's longest path; beyond the others' */
    int part; /* enum step_part, the one that is longest beyond the others'; -1: none */
};

struct job_causes {
    struct job_cause items[JOB_CAUSES];
    int count;
    bool holds;       /* a replay gives back the step within 5%; if not, nothing is named */
    float *beyond_ns; /* [rank_count][step_count], own time beyond the others' */
    struct job_critical *critical;  /* [step_count] */
    int64_t without[JOB_WITHOUT];   /* so many of the latest ranks, */
    double without_ns[JOB_WITHOUT]; /* and the step if they were like the others */
};

/* Also sets late_ns of the ranks, the clocks of the nodes and replayed_ns. Within arena_run(). */
struct job_causes job_causes_of(struct arena *arena, struct job *job);

/* For job_causes_of(), in job_clocks.c: sets offset and drift of each node's clock: the line
 * through the ends of its first rank's collectives, over those of the replay, which has one clock;
 * beyond the median of all nodes. */
void job_clocks_find(struct arena *arena, struct job *job, const struct job_course *course);

/* Follows each step back from its last collective, from the rank that came last to the collective
 * before. The rank with the most time beyond the others' on that path is the critical one. */
void job_critical_find(struct arena *arena, const struct job *job, const struct job_course *course,
                       struct job_causes *causes);

const char *job_cause_name(enum job_cause_kind kind); /* "late_rank" */

/* Own times of ranks beyond those of the others at the same point, and the changes that would take
 * a cause away. */
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
