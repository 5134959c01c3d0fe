/* Each row of a history: its runs in order, the states that they were in, and whether the latest is
 * slower than the one before it.
 *
 * A series has the runs of one row, on one machine, with one metric, that did the same work
 * (workload.h). Its states are parted by change points
 * (harness/desk/compare/history/change_points.h). The error rate is one for the whole history: each
 * series gets its share of it (Bonferroni), since any of them may raise the alarm. */
#pragma once

#include "harness/desk/compare/compared_row.h"
#include "harness/desk/compare/file/benchmark_file.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

/* --- The file --- */

/* The results of many runs in one file that git can keep: JSON Lines (https://jsonlines.org), one
 * object per run and row; docs/history.md has its members. Lines stand in any order, so that git
 * may merge two histories by taking the lines of both (merge=union).
 *
 * Texts are the file's; the same text is the same pointer. */
struct history_entry {
    const char *date, *commit, *machine; /* the last two may be "" */
    const char *row, *metric, *statistic, *unit;
    const char *work; /* the settings' fingerprint; "": not known */
    double seconds;   /* of the date, since 1970 */
    double value;     /* times in us; NaN: the row failed */
    int repetitions;  /* 0: not known */
    long line;        /* from 1 */
};

/* A line that is no entry. */
struct history_damage {
    long line;
    const char *why; /* constant */
};

enum { HISTORY_DAMAGES = 20 }; /* that are kept; all are counted */

struct history_file {
    const char *path;              /* the caller's */
    struct history_entry *entries; /* in the order of the file, each once */
    int count;
    int damaged;
    struct history_damage damages[HISTORY_DAMAGES];
    struct texts *texts;
};

enum { HISTORY_BYTES_MOST = 256 << 20 }; /* of a file, about a million rows */

/* IO where it cannot be read, BAD_INPUT where it is larger than that. Damaged lines are no failure:
 * the others count. */
enum status history_file_read(struct history_file *history, const char *path);
void history_file_release(struct history_file *history); /* all zero is allowed */

/* "2 damaged lines: line 3 (not JSON), line 9 (...)". */
void history_file_damages(const struct history_file *history, char *text, size_t size);

struct history_added {
    int added, known, unmeasured; /* rows: new, there already, and without a value */
    int failed;                   /* of these, where all of a file's failed: they are kept */
    int differing;                /* of those that are there already: with another value */
    char cut[128];                /* the file that got a cut last line; "": none was cut */
};

/* How rows are added: which files they are of, and what is said of them. */
struct history_adding {
    const struct benchmark_file *files; /* [count], read for `metric` */
    int count;
    const char *metric;
    enum better better;  /* which repetition is the best */
    const char *commit;  /* NULL: as each file says */
    const char *machine; /* NULL: as each file says (machines.h) */
    const char *date;    /* of a file that states none; NULL: there is no such file */
};

/* Adds the rows; makes the file where there is none. A row of a date, commit, machine, metric and
 * work that is there is not added again. The rows are added all or not at all, and writers wait for
 * each other. A writer that was killed may leave half a line: the next one moves it to `path`.cut.
 * BAD_INPUT for a file without a date; IO. */
enum status history_file_add(const char *path, const struct history_adding *adding,
                             struct history_added *added);

/* --- Its series --- */

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
    HISTORY_GONE,  /* the latest runs of its machine lack it, more of them in turn than ever before
                    */
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
    int first_state; /* from which on each state is above the one before, or each below it */
    double change;   /* of the last state from that one, by their medians, relative; 0: there is
                        none */
    double drift;  /* of the last state's last third of runs from its first, where it has a trend */
    double chance; /* that noise makes the last state, which has less than CHANGE_WINDOW runs; NaN:
                      it has more */
    enum history_verdict verdict;
    int lacking; /* of gone, or slower before: so many runs of its machine have passed without it */
    int renamed; /* ... the series that began in the first of them, at a like value; -1: none */
    bool shares_name;   /* another series has the same machine, row and metric */
    int repetitions[2]; /* the fewest and the most of a run */
};

struct history {
    struct history_rule rule;
    struct history_series *series; /* by machine, in the order in which they appear in the file */
    int count;
    int counts[HISTORY_VERDICTS];
    int machines;
    double series_error;               /* the share of one series */
    const struct history_entry **runs; /* of all series */
    double *values;
    int *changes;
};

/* Judges a series by its values and its metric: everything but GONE. `changes` is as long as
 * change_points_find() wants it, and `room` for twice the series. OUT_OF_MEMORY. */
enum status history_judge(struct history_series *series, const struct history_rule *rule,
                          double error, int *changes, double *room);

/* Takes the series for whose row `wanted` says yes (NULL: all). The history borrows the file.
 * BAD_USAGE when no run is left; OUT_OF_MEMORY. */
typedef bool history_wanted(void *context, const char *row);
enum status history_make(struct history *history, const struct history_file *file,
                         const struct history_rule *rule, history_wanted *wanted, void *context);
void history_release(struct history *history); /* all zero is allowed */

/* FAILED: a row is slower, or moved in a way that nobody knows to be good. UNTOLD: a row is gone,
 * or none has enough runs. `why` says what speaks against it: "1 slower"; "" if nothing does. */
enum gate_end history_end(const struct history *history, char *why, size_t size);

/* The runs that the row with the most lacks until it is judged, of those that lack some. */
int history_runs_missing(const struct history *history);

/* The median of state number `state` of a series: 0 .. change_count. */
double history_state_median(const struct history_series *series, int state);

/* --- Output, for people and for programs --- */

/* Every row: its figures, its course, and its changes. */
void history_page(const struct page *page, const struct history *history);

/* The rows whose last state is another than the one before it, and whether the check passes. */
void history_check_page(const struct page *page, const struct history *history);

/* docs/history.md documents the members. */
void history_json(struct json *json, cJSON *root, const struct history *history,
                  const struct history_file *file);

/* The course of `count` values in at most `columns` characters, each the median of as many values:
 * blocks of eight heights, or in ASCII. Values that are all equal are drawn at half of the height.
 * `text` has room for 3 bytes per column and a '\0'. */
void history_sparkline(char *text, const double *values, int count, int columns, bool utf8);
