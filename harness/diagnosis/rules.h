/* The rules behind findings: a table of rows, and what all of them look at.
 *
 * A rule is a condition on a summary. It says what its finding costs in time of the traced step, gives the
 * evidence, and may set what else it knows; the engine (findings.c) turns the cost into severity, untraced
 * time and predicted gain, and orders. */
#ifndef HARNESS_DIAGNOSIS_RULES_H
#define HARNESS_DIAGNOSIS_RULES_H

#include "harness/analysis/summary.h"
#include "harness/base/quantity.h"
#include "harness/diagnosis/findings.h"

#include <stdbool.h>
#include <stddef.h>

/* A cost below it is no finding: torch_tb_profiler's bound for the share of data loading (data.py). */
#define RULE_SHARE_LEAST 0.05

/* A device that is busy for less of a step is the host's to explain, and no healthy one. */
#define RULE_BUSY_GOOD 0.7

/* Fewer kernels and copies than that, without steps around them, show no pattern. */
enum { RULE_WORK_LEAST = 10 };

/* What rules judge: a summary, and its figures per step of the trace as it is, in ns. */
struct facts {
    const struct summary *summary;
    const struct summary *ranks; /* of the same run, this one among them */
    int64_t rank_count;
    const struct event_device *device; /* that did most of the work; NULL: not described */
    bool has_steps;
    double steps; /* in the window; 1 where the trace marks none, or what its optimizer calls say */
    double window_ns;
    double step_ns, busy_ns;
    double launches; /* that caused work */
    bool lacks_work; /* of more than a tenth of the launches: idle time may be none */
    double passes;   /* forward passes per step; 1 where none is marked */
    double median_step_ns;
};

struct rule {
    const char *id, *title, *advice, *source; /* source: of the threshold */

    /* False: nothing to say. Sets evidence, and lost_ns_per_step unless it costs no time. The finding
     * comes with all else as a finding that costs time has it. */
    bool (*judge)(struct finding *finding, const struct facts *facts);
};

/* Tables, each ends with a row of zeros. What says the same of a trace comes in the order of its rows. */
extern const struct rule rules_of_memory[], rules_of_host[], rules_of_copies[], rules_of_device[],
    rules_of_ranks[], rules_of_trace[];

struct facts facts_of(const struct summary *ranks, int64_t count, int64_t which);

/* Sets what a finding loses, and severity and gain with it: minor up to 15% of a step, major, critical from
 * 50% on (a device that is busy for less than half of the time is TensorBoard's bound). False: below
 * RULE_SHARE_LEAST. */
bool finding_costs(struct finding *finding, const struct facts *facts, double lost_ns);

/* For an aside: costs nothing, gains nothing. */
void finding_informs(struct finding *finding);

/* Of so little that any share of it says nothing. */
bool facts_are_few(const struct facts *facts);

/* What figures are a share of: "a 2.09 ms step", "the trace's 80.1 ms" where nothing marks steps; and what
 * counts refer to: "per step", "in total". */
struct step_text {
    char text[48];
};
struct step_text step_text(const struct facts *facts);
const char *facts_per(const struct facts *facts);
bool facts_of_whole(const struct facts *facts); /* nothing marks steps */

#endif
