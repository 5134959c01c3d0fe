/* A job's collectives gone through in order: each begins when its last member comes, and takes as
 * long as that one was in it. So the step without a cause can be told, by other own times. */
#pragma once

#include "harness/fleet/job/job.h"

struct job_times {
    int64_t *first;      /* [rank_count + 1], of a rank's entries in the next */
    double *own_ns;      /* [entries of all ranks] */
    double *transfer_ns; /* [meeting_count] */
};

struct job_times job_times_of(struct arena *arena, const struct job *job);

/* Where members are missing, who came last may be one of them, and what the others waited is no
 * transfer: these meetings take as long as the shortest that is like them. False: no member is
 * missing. */
bool job_times_complete(struct arena *arena, const struct job *job, struct job_times *times);

/* [meeting_count]; NULL: not wanted. */
struct job_course {
    double *end_ns;
    int32_t *last_rank; /* who comes last, and the number of the meeting among its entries */
    int64_t *last_entry;
};

/* The time of a step. `course` may be NULL. NAN: the ranks' orders do not fit together. */
double job_replay(struct arena *arena, const struct job *job, const struct job_times *times,
                  const struct job_course *course);
