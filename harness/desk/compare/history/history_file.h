/* A history: the results of many runs in one file that git can keep. JSON Lines
 * (https://jsonlines.org), one object per run and row; docs/history.md has its members. Lines stand
 * in any order, so that git may merge two histories by taking the lines of both (merge=union). */
#pragma once

#include "harness/desk/compare/compared_row.h"
#include "harness/desk/compare/file/benchmark_file.h"

/* Texts are the file's; the same text is the same pointer. */
struct history_entry {
    const char *date, *commit, *machine; /* the last two may be "" */
    const char *row, *metric, *statistic, *unit;
    const char *work; /* the settings' fingerprint; "": not known */
    double seconds;   /* of the date, since 1970 */
    double value;     /* times in us */
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
};

/* Adds the rows; makes the file where there is none. A row of a date, commit, machine, metric and
 * work that is there is not added again. The rows are added all or not at all, and writers wait for
 * each other. A writer that was killed may leave half a line: the next one moves it to `path`.cut.
 * BAD_INPUT for a file without a date; IO. */
enum status history_file_add(const char *path, const struct history_adding *adding,
                             struct history_added *added);
