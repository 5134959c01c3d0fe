/* The findings of a run of several ranks: each once, with how many ranks have it and what it costs
 * them. */
#pragma once

#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/rules/finding.h"

struct facts;

/* The ranks that have a finding. */
struct finding_spread {
    int64_t which;            /* that of the finding: the rank that it costs most */
    int64_t count;            /* of the ranks that have it */
    double least_ns, most_ns; /* lost per step, of these; NAN: it costs no time */
    bool differs;             /* not all ranks have it, or not all with the same evidence */
};

struct run_findings {
    struct findings findings; /* each of the rank that it costs most, ordered by the mean cost */
    struct finding_spread *spreads; /* [findings.count] */
};

/* From the findings and facts of `count` ranks, at least one. The headline is that of the rank
 * whose finding limits the run. */
struct run_findings run_findings_of(struct arena *arena, const struct findings *ranks,
                                    const struct facts *facts, int64_t count);
