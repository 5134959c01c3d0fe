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
#pragma once

#include "harness/base/figures/student.h"
#include "harness/base/status.h"

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
