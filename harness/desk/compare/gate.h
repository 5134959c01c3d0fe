/* Whether a comparison passes, and which rows decide that it does not. */
#pragma once

#include "harness/desk/compare/comparison.h"

/* The faults that a gate accepts. */
struct compare_gate {
    bool allow_missing; /* rows missing in new, in all files, some, or some repetitions, or that did
                           other work */
    bool strict;        /* every row must be decided: none undecided, none without a value */
};

/* Whether nothing got slower and everything was compared that should be; always false where no row
 * was. `why` is what speaks against it: "1 slower, 2 missing"; "" if nothing does. */
bool comparison_passes(const struct comparison *comparison, const struct compare_gate *gate,
                       char *why, size_t size);

/* Why the gate does not pass because of this row, in the words of `why`: "slower", "missing"; NULL:
 * it passes. */
const char *gate_fault(const struct compared_row *row, const struct compare_gate *gate);
