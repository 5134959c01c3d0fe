/* Finds the machines of a kind that stand out from the noise, and how small a difference would.
 *
 * A machine is judged by the others. Its deviation from their mean is measured in their standard
 * deviation, as Student's t has it for one more value of the same kind, so few machines need a
 * larger deviation than many. Machines that others hide are found by taking the most deviant away
 * one after the other: all up to the last that stands out are out (Rosner, "Percentage points for a
 * generalized ESD many-outlier procedure", Technometrics 25, 1983), at most half.
 *
 * Few machines tell little of the noise of a figure, but all figures together tell how noisy
 * figures are: their variances are moderated by that (student.h).
 *
 * Noise may have heavier tails than normal noise, and then healthy machines are far from the others
 * now and then. How heavy they are is seen in all figures of all other machines together: each
 * deviation as a normal score (Wallace, "Bounds on normal approximations to Student's and the
 * chi-square distributions", Ann. Math. Stat. 30, 1959), whose likelihood as Student's t weighs
 * degrees of freedom from 2 to 1,000. The bound is the deviation that one more healthy machine goes
 * beyond with the given probability, by these weights together: heavy tails count as much as they
 * are still likely. No figure has more degrees of freedom than its machines give it. */
#pragma once

#include "harness/base/system/arena.h"

#include <stdbool.h>

struct fleet_matrix {
    int nodes, figures;
    int alike; /* so many figures, the first ones, are of one kind; the others are sums of these */
    const double *slow; /* [figures * nodes], figure by figure: logarithm of the time of equal work;
                           NAN: none */
    const double *
        stated; /* the same: relative noise that the machine's file states of the figure; 0: none */
    /* [nodes] measured while others used the machine: no yardstick for the rest */
    const bool *doubtful;
    double chance; /* of a false alarm, for one figure of one machine */
    double least;  /* as a logarithm: smaller deviations never stand out */
};

/* A figure of the machines that are not out. */
struct fleet_noise {
    int count;
    double mean,
        deviation;   /* with what the other figures tell about it; NAN: fewer than two machines */
    double freedom;  /* degrees, with which the deviation is known */
    double bound;    /* of a deviation that stands out, in standard deviations; INFINITY: too few to
                        tell */
    double smallest; /* logarithm: so much slower a machine stands out in four of five cases;
                        INFINITY: none */
};

/* Two groups of machines that do not overlap, in one figure. */
struct fleet_split {
    double from;  /* the slower group begins there; INFINITY: there are no two groups */
    double apart; /* of the means of both */
};

/* The widest gap that leaves a quarter of the machines on either side tells two groups if it is
 * wider than the noise within them: than Student's t with their pooled deviation reaches by chance.
 * In made fleets of noise alone this is met in fewer than one of a hundred
 * (tests/fleet/test_fleet.c). */
struct fleet_split fleet_noise_split(struct arena *arena, const struct fleet_matrix *matrix,
                                     int figure);

/* `noise` has a row per figure, `out` one per machine. Within arena_run(). */
void fleet_noise_find(struct arena *arena, struct fleet_noise *noise, bool *out,
                      const struct fleet_matrix *matrix);

/* By how many standard deviations of the others a machine is slower, its own stated noise taken
 * into account. */
double fleet_noise_deviations(const struct fleet_noise *noise, double slow, double stated);
