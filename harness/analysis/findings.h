/* What is wrong with a training run, from its trace alone.
 *
 * Every finding is a row of a table of rules (rules.h): a condition on the summary, with the time that it
 * costs and the evidence in numbers. A rule never sees what was configured. A rule that needs what the
 * trace lacks says nothing of it. */
#ifndef HARNESS_ANALYSIS_FINDINGS_H
#define HARNESS_ANALYSIS_FINDINGS_H

#include "harness/analysis/summary.h"

#include <stdint.h>

enum severity { SEVERITY_INFORMATION, SEVERITY_MINOR, SEVERITY_MAJOR, SEVERITY_CRITICAL };

const char *severity_name(enum severity severity); /* "major" */

enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

const char *confidence_name(enum confidence confidence); /* "high" */

struct finding {
    const char *id, *title, *advice, *source; /* live for ever; source: of the threshold */
    enum severity severity;
    enum confidence confidence;
    double lost_ns_per_step; /* of the untraced step where the trace tells; NAN: not of time */
    double predicted_gain;   /* step time before / after the advice; 1: none; NAN: cannot say */
    char evidence[480];      /* in numbers, a sentence */
};

struct findings {
    struct finding *items; /* what ends a run first, then by lost time; information last */
    int64_t count;
    char healthy
        [480]; /* why the trace is thought healthy; "": a finding that is not information stands,
                        * or the trace does not tell */
};

/* Of trace `which` among the `count` ranks of a run; 1 for a trace alone. OUT_OF_MEMORY. Release in
 * every case. */
enum status findings_make(struct findings *findings, const struct summary *summaries, int64_t count,
                          int64_t which);
void findings_release(struct findings *findings);

#endif
