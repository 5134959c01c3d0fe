/* Change points of a series of runs: where it passes from one state to another, with a stated error
 * rate.
 *
 * Everything is by rank, so that the error rate holds for any distribution of the noise: a run
 * counts with the normal score of its rank (van der Waerden; Hajek, Sidak and Sen, "Theory of rank
 * tests", 1999, 4.1), which is as good as its value where noise is normal and keeps an outlier from
 * counting for more. Four tests share the error rate:
 *
 * - The last CHANGE_WINDOW runs against those of their state before them. If nothing changed, every
 *   choice of so many runs is as likely to be the last, so the probability is counted, not
 *   approximated. It gets three quarters: it is the test that sees a fresh change. The power behind
 *   that: a step of d standard deviations after n runs is seen with z = d sqrt(5 n / (n + 5)),
 *   which for 5% at 3% noise is 3.3 for 20 runs, 3.6 for 50 and 3.7 for many; 1% on one side takes
 *   2.3 of it and leaves 1.0, 1.2 and 1.4, which is a power of 84%, 89% and 92% for noise that is
 *   normal and known. Ranks, and noise that is not known, take some of that; a scan over windows of
 *   several lengths would take another 0.3. Between the window and what it is compared with, up to
 *   CHANGE_WINDOW runs are left out, so that a change stays plain when it is older than the window
 *   and the scan does not see it yet.
 * - Every split of the series that leaves CHANGE_WINDOW runs on either side, and then of its parts
 *   (binary segmentation; Vostrikova, "Detecting disorder in multidimensional random processes",
 *   Soviet Math. Dokl. 24, 1981, 55-59). The probability is that of the largest of all splits, by
 *   Worsley's bound ("An improved Bonferroni inequality and applications", Biometrika 69, 1982,
 *   297-302), with Owen's T ("Tables for computing bivariate normal probabilities", Ann. Math.
 *   Statist. 27, 1956, 1075-1090). It gets one tenth.
 * - A trend of the last state: the correlation of the ranks with time (Spearman). It gets one tenth
 *   as well. A slow drift has no step that stands out, and moves the ranks all the same.
 * - Any number of last runs that are farther away than twice any run before them: by Student's t
 *   of 3 degrees, as heavy-tailed noise has it, in deviations of the runs before. It gets one
 *   twentieth. Only a large change is seen so, and only while no run was as odd before; any later
 *   run decides. Ranks cannot tell such a step from a smaller one: among 30 runs none has a rank
 *   beyond 30.
 *
 * Runs that resemble their neighbours (autocorrelation) look like changes. So n runs count as the
 * n (1 - r) / (1 + r) that autoregressive noise makes of them, where neighbours correlate by r in
 * what a trend or steps leave of the series. The first three tests pay for it. This is an
 * approximation: docs/history.md has the rates that were measured. */
#pragma once

enum {
    CHANGE_WINDOW = 5,
    CHANGE_RUNS_LEAST = 2 * CHANGE_WINDOW, /* shorter series have no change */
    CHANGE_BASELINE_MOST = 500, /* runs before the window; any more would add 0.5% to z */
};

/* Where `values` change, oldest first: at[i] is the first run of a new state. `at` has room for
 * count / CHANGE_WINDOW + 2. In a series that does not change, the last state is taken for a higher
 * one with a probability of at most `error`, and for a lower one with as much. Returns how many;
 * -1: no memory is left. The values are finite. */
int change_points_find(const double *values, int count, double error, int *at);

/* The probability that the sum of `chosen` of `count` scores, drawn at random, is at least that of
 * the last `chosen` ones. It is exact for scores rounded to sixteenths. NaN: no memory is left. */
double change_chance(const double *scores, int count, int chosen);

/* The probability that the largest of the standardised differences over all splits of `count`
 * exchangeable values, `least` on either side at least, reaches `z` > 0, at most. */
double change_scan_chance(double z, int count, int least);

/* Whether the ranks of `values` rise (1), fall (-1), or do neither (0) over the series, where noise
 * alone does as much with a probability of at most a tenth of `error`; 2: no memory is left. */
int change_trend(const double *values, int count, double error);

/* How many of the last runs are far beyond all before them, and the chance of noise for that; 0 and
 * 1: none are. `room` is for 2 * `count` doubles. */
int change_jump(const double *values, int count, double *room, double *chance);
