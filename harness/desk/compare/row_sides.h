/* The runs of one row, side against side: where they are, how much they vary, whether they are
 * apart.
 *
 * The unit of observation is a run, that is a file: what the machine does between two runs (its
 * clock, its neighbours, the addresses of its memory) moves all repetitions of a run alike, so ten
 * repetitions are not ten observations. A run counts with its best repetition (location.h); a side
 * is the geometric mean of its runs.
 *
 * The noise of a run is its relative standard deviation
 * - between the runs of one side, where a side has several: as all rows tell together
 *   (run_noise.h), or, where rows are few or not in all files, as the row tells alone; but no less
 *   than the best of so many repetitions can vary by itself;
 * - of one file against one file not known, since nobody saw two runs of one side. How far
 *   repetitions vary within a run says little about it: of 21 pairs of quick runs of one program on
 *   two busy cores, 9 had rows of the same work that differed 1.6 to 3.5 times, by more than
 *   repetitions explained. Only a count that is the same in all repetitions of each file, as of
 *   launches, is taken to have no noise; a time never is, since equal ones are rounded;
 * - at least what the caller says. If one file is against one, the noise that the
 *   repetitions of the row and the changes of all rows show counts in its place, if it is
 *   more. */
#pragma once

#include "harness/desk/compare/file/benchmark_file.h"
#include "harness/desk/compare/location.h"
#include "harness/desk/compare/machines.h"
#include "harness/desk/compare/run_noise.h"

/* The place in the distribution of repetitions at which runs are compared. */
enum compare_place { PLACE_BEST, PLACE_MIDDLE, PLACES };

/* The runs of one side; all arrays are the caller's. */
struct side {
    const struct benchmark_row *const
        *runs; /* [count]: the row of each file that has a value of it */
    int count;
    struct location *locations; /* [count]; NULL: only the logarithms are wanted */
    double *logs;               /* [count], of the locations; those of new follow those of base */
    double mean;                /* of the logarithms */
};

/* Whether every value is above 0, so that there are logarithms; and whether every value is 0. */
bool side_is_positive(const struct side *side);
bool side_is_zero(const struct side *side);

/* Repetitions of the run that has the fewest; a run with one repetition, or whose file holds
 * aggregates only, counts as 1. */
int sides_fewest_repetitions(const struct side sides[SIDES]);

/* Fills locations, logs and mean of both sides, whose values are all above 0. At PLACE_BEST, all
 * runs are asked for what the best repetition is of the run with the fewest, and `largest` says
 * that the largest is the best; at PLACE_MIDDLE for their medians. OUT_OF_MEMORY. */
enum status sides_locate(struct side sides[SIDES], enum compare_place place, bool largest);

enum compare_noise { NOISE_UNKNOWN, NOISE_REPETITIONS, NOISE_RUNS, NOISE_ROWS, NOISE_STATED };
const char *compare_noise_name(enum compare_noise noise); /* "unknown", "repetitions" ... */

/* Relative standard deviations; NaN: not known. */
struct side_noise {
    double run;     /* of one run */
    double freedom; /* the degrees of freedom that it is known with; infinite where it was stated */
    double within;  /* between repetitions of one file */
    enum compare_noise source;
};

/* The sides are those that sides_locate() filled, with locations. `runs` was learned from all rows
 * of the same files at the same place; NULL, or of no rows: the row stands for itself. `stated` is
 * the least noise; NaN: unknown. `is_count`: equal numbers are exact. */
struct side_noise sides_noise(const struct side sides[SIDES], const struct run_noise *runs,
                              double stated, bool is_count);

/* All repetitions of a side; 0 where its files hold only aggregates. */
int side_repetitions(const struct side *side);

/* Whether the runs of the sides overlap, so that their means differ by outlying runs alone: more
 * than a quarter of all pairs of a base run and a new run are ordered the other way round than the
 * means; a tie counts half. The sides are those that sides_locate() filled. */
bool sides_overlap(const struct side sides[SIDES]);

/* Whether the difference rests on one of a side's several runs: without it, less than half of the
 * difference is left (the jackknife; Tukey, Ann. Math. Statist. 29, 1958, 614). */
bool sides_rest_on_one(const struct side sides[SIDES]);
