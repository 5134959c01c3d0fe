/* Compares one set of benchmark files with another, row by row.
 *
 * A row is gathered by its name from all files of a side; each file that has a value of it is one run
 * (sides.h), and compared_row.h explains the verdicts. Files of different devices or clocks are
 * refused. */
#ifndef HARNESS_COMPARE_COMPARISON_H
#define HARNESS_COMPARE_COMPARISON_H

#include "harness/compare/compared_row.h"

struct comparison {
    struct compare_rule rule;
    struct compared_row *rows; /* in the order of the files, base first */
    int count;
    int counts[COMPARE_VERDICTS];
    struct run_noise run_noise[PLACES];
};

/* One side's files; `sides` below are SIDES of them. */
struct compare_files {
    struct benchmark_file *files;
    int count;
};

/* Whether files can be compared at all: the same device, clock and number of processors wherever two of
 * them name one. BAD_INPUT says which do not agree in what. */
enum status compare_check(const struct compare_files *sides);

/* Reasons to doubt a comparison that do not forbid it: another host, a debug build. "" when there is
 * none. */
void compare_doubts(const struct compare_files *sides, char *text, size_t size);

/* Compares the rows for which `wanted` says yes (NULL: all). Whether the sides took turns is known from the
 * files' dates. The comparison borrows the files.
 * BAD_USAGE when no row is wanted or none has the metric. */
typedef bool compare_wanted(void *context, const char *name);
enum status comparison_make(struct comparison *comparison, const struct compare_files *sides,
                            const struct compare_rule *rule, compare_wanted *wanted, void *context);
void comparison_release(struct comparison *comparison);

#endif
