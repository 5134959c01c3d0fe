/* Each row of a history: its runs in order, the states that they were in, and whether the latest is
 * slower than the one before it.
 *
 * A series has the runs of one row, on one machine, with one metric, that did the same work
 * (workload.h). Its states are parted by change points
 * (harness/desk/compare/history/change_points.h). The error rate is one for the whole history: each
 * series gets its share of it (Bonferroni), since any of them may raise the alarm. */
#pragma once

#include "harness/desk/compare/compared_row.h"
#include "harness/desk/compare/history/history_file.h"

/* Well below a step of 5%, which is to be found: at a noise of 3%, a threshold of 5% hides every
 * other such step, and one of 2.5% still one of 120. */
#define HISTORY_THRESHOLD 0.02
/* One of 100 checks of a history in which nothing changes raises an alarm. */
#define HISTORY_ERROR     0.01
/* The change for which `runs_needed` is said. */
#define HISTORY_SEEN      0.03

struct history_rule {
    double threshold;    /* relative: slower by no more does not count */
    double error;        /* of one check of all series; 0: HISTORY_ERROR */
    const char *machine; /* only machines whose key has this text; NULL: all */
    const char *since;   /* only runs from this date, or from this commit on; NULL: all */
    enum better better;  /* BETTER_BY_NAME: as each metric's name says */
};

enum history_verdict {
    HISTORY_SLOWER,
    HISTORY_FASTER,
    HISTORY_SAME,  /* no change, or one within the threshold */
    HISTORY_MOVED, /* neither its metric's name nor the rule says which way is better */
    HISTORY_SHORT, /* too few runs to tell: less than CHANGE_RUNS_LEAST */
    HISTORY_VERDICTS
};
const char *history_verdict_name(enum history_verdict verdict); /* "slower" ... */

struct history_series {
    const struct history_entry *const *runs; /* [count], oldest first */
    const double *values;                    /* [count], of the runs */
    int count;
    const int *changes; /* [change_count]: the first run of each state but the first */
    int change_count;
    double spread;   /* of a run in its state, relative: 1.4826 median absolute deviations; NaN: not
                        known */
    int runs_needed; /* per side, to see HISTORY_SEEN; 0: not known; at most RUNS_MOST + 1 */
    double change;   /* of the last change, by the medians of the two states, relative; 0: there is
                        none */
    enum history_verdict verdict;
    bool shares_name;   /* another series has the same machine, row and metric */
    int repetitions[2]; /* the fewest and the most of a run */
};

struct history {
    struct history_rule rule;
    struct history_series *series; /* by machine, in the order in which they appear in the file */
    int count;
    int counts[HISTORY_VERDICTS];
    int machines;
    bool is_fresh; /* only `since` leaves too few runs; false unless history_is_fresh() said so */
    double series_error;               /* the share of one series */
    const struct history_entry **runs; /* of all series */
    double *values;
    int *changes;
};

/* Takes the series for whose row `wanted` says yes (NULL: all). The history borrows the file.
 * BAD_USAGE when no run is left; OUT_OF_MEMORY. */
typedef bool history_wanted(void *context, const char *row);
enum status history_make(struct history *history, const struct history_file *file,
                         const struct history_rule *rule, history_wanted *wanted, void *context);
void history_release(struct history *history); /* all zero is allowed */

/* Whether no row is slower, none moved in a way that nobody knows to be good, and some row could be
 * judged. `why` says what speaks against it: "1 slower"; "" if nothing does. */
bool history_passes(const struct history *history, char *why, size_t size);

/* The runs that the row with the most lacks until it is judged. */
int history_runs_missing(const struct history *history);

/* Whether nothing is judged only because of `since`: a row that still has runs would have enough of
 * them with those before. OUT_OF_MEMORY. */
enum status history_is_fresh(const struct history *history, const struct history_file *file,
                             history_wanted *wanted, void *context, bool *fresh);

/* The median of state number `state` of a series: 0 .. change_count. */
double history_state_median(const struct history_series *series, int state);
