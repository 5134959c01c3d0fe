/* Compares one set of benchmark files with another, row by row.
 *
 * A row is gathered by its name from all files of a side; each file that has a value of it is one
 * run (row_sides.h), and compared_row.h explains the verdicts. machines.h says which files may be
 * compared at all; a row whose files did different work (workload.h) has no change. */
#pragma once

#include "harness/desk/compare/compared_row.h"
#include "harness/desk/compare/machines.h"

struct comparison {
    struct compare_rule rule;
    struct compared_row *rows; /* in the order of the files, base first */
    int count;
    int counts[COMPARE_VERDICTS];
    int fewer, lost_more; /* rows with these that were compared */
    int lacks_better;
    struct run_noise run_noise[PLACES];
};

/* Compares the rows for which `wanted` says yes (NULL: all). Whether the sides took turns is known
 * from the files' dates. The comparison borrows the files. BAD_USAGE when no row is wanted or none
 * has the metric. */
typedef bool compare_wanted(void *context, const char *name);
enum status comparison_make(struct comparison *comparison, const struct compare_files *sides,
                            const struct compare_rule *rule, compare_wanted *wanted, void *context);
void comparison_release(struct comparison *comparison);
