/* Simulated jobs whose truth is known: ranks in nodes of eight, that compute and reduce in their
 * node (tensor parallelism), and at the end of a step over all nodes (data parallelism), with
 * faults that are planted. */
#pragma once

#include "harness/fleet/job/job_causes.h"

enum { MADE_RACK = 4 }; /* nodes of a rack, one after the other */

struct made_job {
    int64_t rank_count; /* a multiple of 8 */
    int64_t steps;
    uint64_t seed;
    bool healthy;
    enum job_cause_kind fault;
    /* the rank, node, rack or place; of a slow link the place of its group's ranks */
    int64_t which;
    double strength; /* of a step's own time; of imbalance the deviation of tokens */
    double skew_ns;  /* of clocks between nodes, at most */
    double drift;    /* of these clocks, at most: 50e-6 */
    double lost;     /* part of the ranks that there is no digest of */
};

struct made_ranks {
    struct job_rank *ranks;
    int64_t *worlds;
    int64_t count;
    double step_ns,
        lost_ns; /* the truth: a step, and how much shorter it would be without the fault */
};

/* Lies in the arena. */
struct made_ranks made_job(struct arena *arena, const struct made_job *job);

/* Writes the digest of each rank: FOLDER/rank3.digest. IO, OUT_OF_MEMORY. */
enum status made_job_write(const char *folder, const struct made_ranks *made);
