/* A sweep: `train` with each value of a knob, or with each pair of values of two knobs. */
#pragma once

#include "harness/base/facts/cpu_times.h"
#include "harness/base/figures/statistics.h"
#include "harness/lab/search/measure.h"

#include <stdbool.h>

/* The knee of a sweep: the cheapest value that is enough.
 *
 * Every value was measured once in each round. A value's share is its throughput over that of the
 * best value in the same round, so that drift of the machine falls on both. The best value has the
 * highest median throughput. A value is enough if the median of its shares is at least 1 -
 * KNEE_LOSS_PERCENT / 100; the knee is the cheapest of those. */
enum { KNEE_LOSS_PERCENT = LEAST_EFFECT_PERCENT };

struct knee_value {
    const double *throughput; /* [rounds], borrowed; round i of all values ran one after another */
    int rounds;               /* finished; 0: the value takes no part */
    int cost;                 /* the lowest is the cheapest; of equals, the first one is */
};

struct knee {
    int best, enough; /* indices; they may be the same; -1: nothing was measured */
    double share;     /* of `enough`: the median */
    struct confidence_interval interval; /* of it; fewer than 6 rounds: the whole range */
    int rounds;                          /* that both of them have */
    /* The interval is above the bound, those of all cheaper values are below it, and no other value
     * may be better than the best by as much; of one round: false. */
    bool is_clear;
    bool is_best; /* `enough` is better than all others in every round that counts */
};

struct knee knee_find(const struct knee_value *values, int count);

enum { SWEEP_KNOBS = 2, SWEEP_VALUES = 32, SWEEP_ROWS = 256 };

/* A knob and its values, from the cheapest on. */
struct sweep_axis {
    char *text; /* "knob=a,b,c", cut up */
    const char *knob;
    const char *values[SWEEP_VALUES];
    int count;
};

/* One setting: what was measured with it, round by round, or why it could not run. */
struct sweep_row {
    int at[SWEEP_KNOBS];        /* its value on each axis */
    struct measurement *rounds; /* [count] */
    int count;
    char refusal[512]; /* "": it ran */
};

/* All zeros at first. */
struct knob_sweep {
    struct sweep_axis axes[SWEEP_KNOBS];
    int knobs; /* 0: there is no sweep */
    int rounds;
    struct sweep_row rows[SWEEP_ROWS]; /* those of the last axis are neighbours */
    int row_count;
    struct cpu_loss loss; /* what was taken away meanwhile */
    bool interrupted;
};

/* Reads "knob=a,b,c", once per knob. Each value is tried on the knob at once, so that a wrong one
 * is refused before anything runs. */
enum status sweep_take(struct knob_sweep *sweep, const char *text);

/* Whether each knob of the sweep acts in any of its rows. BAD_USAGE says with which settings one
 * would. */
enum status sweep_check_acts(const struct knob_sweep *sweep, const struct training_config *config,
                             const struct device_properties *device);

/* Measures all rows in rounds, each of which begins with another one, so that drift of the machine
 * falls on all. A row that the device refuses, or that has too little memory, keeps the reason; the
 * others run. `steps` as in struct measure. INTERRUPTED: the rows have what was finished before;
 * anything at all if sweep_has_measured(). */
enum status sweep_measure(struct knob_sweep *sweep, struct device *device,
                          const struct training_config *config, int steps, int rounds);
bool sweep_has_measured(const struct knob_sweep *sweep);

void sweep_release(struct knob_sweep *sweep);

/* "workers=2", or "workers=2 batch=8". */
enum { SWEEP_NAME = 160 };
void sweep_name(const struct knob_sweep *sweep, const struct sweep_row *row, char name[SWEEP_NAME]);

/* By samples per second. The cheapest row is the one with the fewest values before its own.
 * OUT_OF_MEMORY. */
enum status sweep_knee(const struct knob_sweep *sweep, struct knee *knee);
