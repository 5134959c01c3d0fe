/* Compares one set of benchmark files with another, row by row.
 *
 * A row is gathered by its name from all files of a side; each file that has a value of it is one run
 * (row_sides.h), and compared_row.h explains the verdicts. Files of different devices or clocks are
 * refused; a row whose files did different work (workload.h) has no change. */
#ifndef HARNESS_DESK_COMPARE_COMPARISON_H
#define HARNESS_DESK_COMPARE_COMPARISON_H

#include "harness/desk/compare/compared_row.h"

struct comparison {
    struct compare_rule rule;
    struct compared_row *rows; /* in the order of the files, base first */
    int count;
    int counts[COMPARE_VERDICTS];
    int fewer; /* rows with `fewer` that were compared */
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

/* Tells machines apart whose files are not compared: by the members that compare_check() looks at, and the
 * processor, or the host where no processor is named. "" when the file says nothing. */
void compare_machine(const struct benchmark_file *file, char *text, size_t size);

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

/* The faults that a gate accepts. */
struct compare_gate {
    bool allow_missing; /* rows missing in new, in all files or in some, or that did other work */
    bool strict;        /* every row must be decided: none undecided, none without a value */
};

/* Whether nothing got slower and everything was compared that should be; always false where no row was.
 * `why` is what speaks against it: "1 slower, 2 missing"; "" if nothing does. */
bool comparison_passes(const struct comparison *comparison, const struct compare_gate *gate,
                       char *why, size_t size);

#endif
