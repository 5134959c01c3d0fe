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
 *   (run_noise_learn()), or, where rows are few or not in all files, as the row tells alone; but no
 * less than the best of so many repetitions can vary by itself;
 * - of one file against one file not known, since nobody saw two runs of one side. How far
 *   repetitions vary within a run says little about it: of 21 pairs of quick runs of one program on
 *   two busy cores, 9 had rows of the same work that differed 1.6 to 3.5 times, by more than
 *   repetitions explained. Only a count that is the same in all repetitions of each file, as of
 *   launches, is taken to have no noise; a time never is, since equal ones are rounded;
 * - at least what the caller says. If one file is against one, the noise that the
 *   repetitions of the row and the changes of all rows show counts in its place, if it is
 *   more. */
#pragma once

#include "harness/base/figures/student.h"
#include "harness/base/status.h"
#include "harness/desk/compare/file/benchmark_file.h"
#include "harness/desk/compare/location.h"
#include "harness/desk/compare/machines.h"

/* How runs of one side differ, learned from all rows of the files.
 *
 * Whatever moves a run (clock, neighbours, another day) moves its rows in part together and in part
 * each on its own: log time of row r in run j is the truth + c_j + e_rj. Both parts make two sides
 * differ by chance, so both count, but they are known unequally well:
 * - `common`, the variance of the c: a run's c is the median over the rows of its distances from
 *   the mean. There is one value per run, so it has the degrees of freedom of the runs, however
 *   many rows there are. For runs measured in turns it comes from the differences between
 *   neighbours (von Neumann and others, Ann. Math. Statist. 12, 1941, 153-162): a slow drift moves
 *   the two sides apart by its steps, not by its whole way.
 * - the variance of the e, row by row, moderated over the rows (student.h).
 *
 * The variance of a run in one row is their sum; its degrees of freedom are Satterthwaite's
 * (Biometrics Bulletin 2, 1946, 110-114). */

/* With fewer rows a row stands for itself: they would not tell what they have in common. */
enum { RUN_NOISE_ROWS_LEAST = 8 };

struct run_noise {
    int rows;       /* it was learned from these; 0: none, and the rest means nothing */
    double freedom; /* of the runs: those of each side less one, together */
    double common;
    struct student_prior prior; /* of the rows' own parts */
    double *centres;            /* [base + new]: the c of each file; its own */
    double shift;               /* new over base in the median of the rows, as a logarithm */
    double most;  /* most rows moved as far, as a logarithm; 0: as many the other way, or no row */
    double alone; /* of one file per side: what a run varies by at least, as a relative standard
                   * deviation, since the rows' changes differ by that; 0: not known */
};

/* `logs` is [rows][base + new], the logarithm of each run's location (location.h): first base's
 * files, then new's. `turns` is the order in which these base + new runs were measured, where they
 * were in turns: of the first two one was of each side, and so on. NULL: they were not. `rows` is 0
 * in the result where there are fewer than RUN_NOISE_ROWS_LEAST rows, or one run per side, when
 * only `most` and `alone` are learned: rows that did not change differ by noise alone, and half of
 * them are enough to tell it. */
enum status run_noise_learn(struct run_noise *noise, const double *logs, int rows, int base,
                            int after, const int *turns);
/* The way that the sides as a whole moved, by more than `limit` (a logarithm) and by more than what
 * runs vary by in common: 1, -1; 0: they did not, beyond a chance of RUN_NOISE_MOVED. Of
 * one run per side, all rows may move together by what runs are stated to vary by. */
#define RUN_NOISE_MOVED 0.002
int run_noise_moved(const struct run_noise *noise, int base, int after, double stated,
                    double limit);

void run_noise_release(struct run_noise *noise); /* all zero is allowed */

/* The variance of one run in the row whose logarithms are `logs`, and what it is known with.
 * `least` is what its own part is at least. */
double run_noise_variance(const struct run_noise *noise, const double *logs, int base, int after,
                          double least, double *freedom);

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
