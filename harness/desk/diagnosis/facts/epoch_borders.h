/* Whether waits for data come at the borders of epochs, where a loader begins anew.
 *
 * A loop asks its loader once more at the end of an epoch, and hears that there is no batch left.
 * PyTorch (2.15) records that call like any other, so the step in which an epoch begins has one
 * call more than the others: the border is marked. The waits are the borders' if the steps there
 * wait longer than others do, by a rank-sum test (Wilcoxon, "Individual comparisons by ranking
 * methods", 1945), and if two thirds of all waiting are in the first halves of the epochs, in which
 * the loader gets ahead again.
 *
 * If nothing is marked, as with shards that a loader reads one after the other, borders are told by
 * their distances: epochs are equally long, so all long waits, which add up to two thirds, come at
 * equal distances, and none that would be in the trace is missing. The chance is the part of all
 * ways to place as many waits that look like this. It is a third for two waits, so those prove
 * nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The rate of false alarms where waits come at random steps is at most this. */
#define EPOCH_CHANCE_MOST 0.02

/* The steps of a trace. All arrays have `count` items. */
struct step_waits {
    const double *wait_ns; /* for data, by step */
    const double *sorted;  /* the same, ascending */
    const double *calls;   /* of the loader, by step */
    double usual_calls;    /* their median */
    int64_t count;
    double step_ns; /* the median */
};

struct epoch_borders {
    bool found;    /* the chance is EPOCH_CHANCE_MOST or less */
    int64_t count; /* of borders in the trace */
    int64_t first; /* the step of one of them */
    int64_t steps; /* of an epoch */
    /* that waits at random steps look like borders as much as these; 1: they do not */
    double chance;
};

struct epoch_borders epoch_borders_find(const struct step_waits *waits);

/* Whether idle time that begins in a step is that of a border that was found: the step ends an
 * epoch, or is one of the next few, which wait for the first batches of new workers. */
bool epoch_borders_have(const struct epoch_borders *borders, int64_t step);
