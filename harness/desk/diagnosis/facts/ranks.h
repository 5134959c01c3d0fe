/* The ranks of a run beside each other, and the slow one.
 *
 * A collective begins on a rank when that rank enters it, and ends on all ranks together. So the
 * rank that enters last communicates least, and the others wait for it as much longer as they
 * communicate. Steps do not tell: collectives make them equally long, and a host that runs ahead
 * shifts its marks.
 *
 * A trace that is incomplete may lack communication, and a rank without any takes part in no
 * collective: such ranks are not compared. */
#pragma once

#include "harness/desk/analysis/summary.h"

/* Means per step; where no rank marks its steps, sums of the trace. NAN: unknown. */
struct rank_figures {
    bool is_compared;
    double step_ns;
    double busy_share; /* of the step: kernels, copies and memsets */
    double compute_ns, communication_ns;
    double exposed_ns;               /* communication while nothing is computed */
    double part_ns[STEP_PART_COUNT]; /* of the step (steps.h) */
    double waits_ns;                 /* for the rank that communicates least: the difference */
};

struct slow_rank {
    int64_t which;     /* among the ranks; -1: fewer than two can be compared */
    int64_t near;      /* others that are as slow: closer to it than to the median of the rest */
    double step_ns;    /* of the run: the median */
    double least_ns;   /* communication of the slow rank */
    double typical_ns; /* and of the others, the median */
    /* The gain of a step if the slow rank, and those near, were as fast as the next one: no more
     * than the others' exposed communication. */
    double lost_ns;
    /* The slow rank's activity while the others wait: the part of its steps that is longer than the
     * others' by half of their wait or more, its time, and the median of the others'.
     * STEP_PART_COUNT: no part is, or nothing marks steps. */
    enum step_part part;
    double part_ns, part_typical_ns;
};

/* Also sets the figures of all ranks. */
struct slow_rank slow_rank_of(struct arena *arena, struct rank_figures *figures,
                              const struct summary *ranks, int64_t count);

/* The same, kept for all ranks of a run: each of them asks for it. */
struct ranks_together {
    struct rank_figures *figures; /* [count] */
    struct slow_rank slow;
    double peer_wait_ns; /* least of the ranks that have some, per step (messages.h:
                            peer_exposed_ns); 0: none has */
};

struct ranks_together ranks_together(struct arena *arena, const struct summary *ranks,
                                     int64_t count);

/* Whether a rank is as slow as the slow one: it is that one, or near. */
bool rank_is_slow(const struct slow_rank *slow, const struct rank_figures *figures);

/* A clause on that part, to follow the rank's name: "loads data or waits for it"; NULL: not
 * known. */
const char *slow_rank_does(const struct slow_rank *slow);

/* A thing to look at on that rank; NULL: not known. */
const char *slow_rank_advice(const struct slow_rank *slow);

/* A loss below this share of a step is within the spread of ranks that are alike. */
#define SLOW_RANK_LEAST 0.1
bool slow_rank_matters(const struct slow_rank *slow);
