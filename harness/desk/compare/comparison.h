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

/* --- The gate: whether a comparison passes --- */

/* The faults that a gate accepts. */
struct compare_gate {
    bool allow_missing; /* rows missing in new, in all files, some, or some repetitions, or that did
                           other work */
    bool strict;        /* every row must be decided: none undecided, none without a value */
};

/* PASSED: nothing got slower, and everything was compared that should be. UNTOLD: nothing is known
 * to be wrong, but a change beyond the threshold is undecided, a row did other work, or no row was
 * compared. `why` is what speaks against it: "1 slower, 2 missing"; "" if nothing does. */
enum gate_end comparison_end(const struct comparison *comparison, const struct compare_gate *gate,
                             char *why, size_t size);

/* Why the gate does not pass because of this row, in the words of `why`: "slower", "missing"; NULL:
 * it passes. */
const char *gate_fault(const struct compared_row *row, const struct compare_gate *gate);
