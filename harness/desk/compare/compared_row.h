/* The verdict on one row: faster, same, slower, or undecided.
 *
 * The change is new over base, each the geometric mean of its runs (row_sides.h). From the noise of
 * a run follow, by Student's t, an interval of 95% and a verdict:
 * - slower, faster: the change is beyond the threshold, and farther from 0 than noise alone takes
 *   it in one comparison of 100; the runs of the two sides hardly overlap (sides_overlap()); and it
 *   does not rest on one run: half of it is left without any one (sides_rest_on_one()), and where a
 *   side has one run, most rows moved as far, or there is but one row;
 * - same: the whole interval is within the threshold;
 * - undecided: neither; the row says what it would take.
 *
 * Where the rows as a whole moved (run_noise_moved()), one that moved with them is called from one
 * chance of 20 on. With one file per side, whose noise is only stated, all rows together have the
 * chance of one in 100.
 *
 * A change that slows the common case and leaves the best as it is would be missed. Therefore a row
 * that is neither slower nor faster by its best repetitions is judged once more by the same rules
 * with the medians in their place, and if these call it, the row says so. */
#pragma once

#include "harness/desk/compare/row_sides.h"

/* "faster" is better, "slower" is worse, whatever the metric. Its name tells which way that is
 * (metric_name_says()), or the caller does. Where neither does, a row that moved is undecided. */
enum better { BETTER_BY_NAME, BETTER_SMALLER, BETTER_LARGER };

struct compare_rule {
    const char *metric;
    enum better better;
    double threshold; /* 0.05: changes up to 5% do not matter */
    double noise;     /* between runs, relative; NaN: only what the files show */
    int rows;         /* that are compared with it at once; comparison_make() counts them */
};

/* BETTER_BY_NAME: neither the name nor the caller says it. */
enum better compare_better(const struct compare_rule *rule);
bool compare_larger_is_better(const struct compare_rule *rule); /* false where it is not known */

enum compare_verdict {
    COMPARE_FASTER,
    COMPARE_SAME,
    COMPARE_SLOWER,
    COMPARE_UNDECIDED,
    COMPARE_OTHER_WORK,   /* other settings (workload.h), so times do not compare */
    COMPARE_MISSING,      /* the row, or every value of it, is only in base */
    COMPARE_NEW,          /* ... only in new */
    COMPARE_NOT_MEASURED, /* base has no value of its row, or new of one of its own */
    COMPARE_VERDICTS
};
const char *compare_verdict_name(enum compare_verdict verdict); /* "faster" ... */

/* Both sides were compared, or could not be told apart. */
bool compare_is_common(enum compare_verdict verdict);

struct compared_row {
    const char *name;       /* a file's */
    double value[SIDES];    /* us for times; NaN: nothing was measured */
    int runs[SIDES];        /* files with a value */
    int repetitions[SIDES]; /* values in them all; 0 where files hold only aggregates */
    int best_of;            /* a run counts with the best of so many; 1: with its one number */
    double change;          /* relative: 0.1 is 10% more */
    double low, high;       /* its interval; NaN: the noise is not known */
    double within;          /* noise between repetitions of one file; NaN: not known */
    double between;         /* noise of a run, as used for the verdict; NaN: not known */
    enum compare_noise noise;
    enum compare_place place; /* that value, change, interval and noise are of */
    enum compare_verdict verdict;
    double shows; /* of undecided: the least change that this noise lets be seen; NaN: not known */
    int runs_needed;   /* per side for a change of twice the threshold; 0: not known; at most
                          RUNS_MOST + 1 */
    bool is_beyond;    /* undecided, though the change is beyond the threshold */
    bool lacks_runs;   /* undecided because one file per side shows no noise; `reason` says so */
    bool lacks_better; /* undecided because it moved, and nobody says which way is better */
    char reason[320];  /* where the verdict does not say all; else "" */
    /* of slower: what stands out in its traces; "": nothing, or there are none */
    char because[320];
    char lost[256]; /* repetitions and files that gave no value, and why; "": none */
    bool fewer;     /* a smaller share of new's files than of base's has a value */
    bool lost_more; /* ... the files have values, but new lost a larger share of its repetitions */
};

/* "runs of one side vary by": how a row's noise is known, for a sentence that goes on with how
 * much. */
const char *compare_noise_words(enum compare_noise noise);

enum { RUNS_MOST = 100 }; /* no advice asks for more */

/* Chance that noise alone is called a change by the best repetitions; with that by the median, 0.01
 * together. */
#define COMPARE_ALARM 0.008

/* The least change that is called in nineteen of twenty comparisons of `runs` per side: a run
 * varies by `between`, known with `freedom` degrees of freedom, and changes up to `limit` do not
 * count. INFINITY: none is. Changes and noise are logarithms, or relative where they are small. */
double compare_shows(double between, double freedom, int runs, double limit);

/* Runs per side with which nineteen of twenty changes by `target` are called; RUNS_MOST + 1 where
 * it takes more. */
int compare_runs_needed(double between, double target, double limit);

/* The verdict on a row that both sides have: fills everything but name, lost and fewer.
 * `base` and `after` are the rows of the files that have it. `noise` was learned from all rows of
 * the same files, [PLACES]; NULL, or of no rows: the row stands for itself. OUT_OF_MEMORY. */
enum status compare_runs(struct compared_row *row, const struct benchmark_row *const *base,
                         int base_count, const struct benchmark_row *const *after, int after_count,
                         const struct run_noise *noise, const struct compare_rule *rule);

/* --- Which way is better, by a name --- */

enum metric_says { METRIC_SAYS_NOTHING, METRIC_IS_COST, METRIC_IS_RATE };

/* A rate ends in "_per_second": more is better. A name with a word of a cost in it ("step_time",
 * "bytesUsed") is one: less is better. All others say nothing: of a share or a score, either may be
 * better, and "Throughput" or "ops" may be what a benchmark was asked to do. */
enum metric_says metric_name_says(const char *metric);
