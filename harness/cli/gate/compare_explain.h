/* compare --explain, and why a row of compare is slower, where its traces are beside the
 * results. */
#pragma once

#include "harness/cli/line/flags.h"
#include "harness/cli/line/values.h"
#include "harness/desk/compare/comparison.h"

/* Explains each trace of base by the one of the same file name in new; one trace against one,
 * whatever their names. A side is a trace, or a folder as in trace_paths.h. `filter` is for the
 * names without their endings. *slower: a step of new takes longer, and something stands out that
 * makes it so. BAD_INPUT: no two belong together, or one cannot be read; the others are printed all
 * the same. */
enum status compare_explain(const struct flags *flags, const struct filter *filter,
                            const char *const sides[SIDES], bool *slower);

/* Fills `because` of each slower row that has a trace in a folder of results of either side; the
 * first of each counts. A trace that cannot be read explains nothing. */
void compare_find_causes(struct comparison *comparison, const char *const *const paths[SIDES],
                         const int counts[SIDES]);
