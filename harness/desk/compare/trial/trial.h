/* A trial: one cause or fix at a time is switched on and off in windows of a program's steps, and
 * this says what that gains. docs/try.md has the file that scripts/recorder/chokepoint_trial.py
 * writes, and the reasons.
 *
 * A window counts with the mean of its steps, its wall time over their number: workers deliver in
 * waves, so that most steps wait for nothing and a median would be theirs; the mean is what a
 * throughput means. Steps correlate, windows are compared in pairs of neighbours, and which of the
 * two comes first is drawn by a fair coin for each pair. If the switch changes nothing, swapping
 * the two is as probable as not, whatever the steps do: the sign of each pair is a fair coin (R. A.
 * Fisher, "The Design of Experiments", 1935, section 21), and the interval of the median, which is
 * made of such signs, holds for steps that drift, come in waves or correlate. */
#pragma once

#include "harness/base/figures/statistics.h"
#include "harness/base/status.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

#include <stdbool.h>

/* Looks at the pairs, which share the 5% (stats_looked_interval): after the fewest that have an
 * interval, and after so many more each time. */
enum { TRIAL_FIRST_LOOK = 6, TRIAL_LOOK = 7, TRIAL_PAIRS = 20 };

/* id, name in results */
#define TRIAL_VERDICTS(X)                                                                          \
    X(TRIAL_UNDECIDED, "undecided")                                                                \
    X(TRIAL_GAIN, "gain")                                                                          \
    X(TRIAL_NO_GAIN, "no gain")                                                                    \
    X(TRIAL_LOSS, "slower")                                                                        \
    X(TRIAL_UNUSED, "not there")
enum trial_verdict {
#define TRIAL_VERDICT_ID(id, name) id,
    TRIAL_VERDICTS(TRIAL_VERDICT_ID)
#undef TRIAL_VERDICT_ID
};
const char *trial_verdict_name(enum trial_verdict verdict);

/* Whether a switch or a fix is for this finding: `try --only=ID` then measures it. */
bool trial_knows(const char *finding);

/* One cause that is switched off, or one fix. Texts are the document's. */
struct trial_arm {
    const char *cause, *name, *text, *advice, *place;
    bool is_fix;     /* else the cause is switched off */
    bool unused;     /* the switch never acted */
    double *before;  /* [pairs], ns per step as the program is; owned */
    double *after;   /* [pairs], switched; owned */
    double *loss[2]; /* [pairs], the mean losses of these windows; NaN: not known; owned */
    int pairs;
    bool is_apart; /* no run can switch it on and off: its pairs are whole runs, of another hand */

    /* From trial_judge(): of the pairs up to the look that decided, or of all. */
    bool is_judged;
    int counted;
    double before_ns, after_ns; /* medians; NaN: there are no pairs */
    double factor;              /* a median; NaN, as the intervals: too few pairs */
    struct confidence_interval interval;
    struct confidence_interval loss_ratio; /* after over before; loss_factor is its median */
    double loss_factor;
    enum trial_verdict verdict;
    char reason[200]; /* why it is undecided; else "" */
};

struct trial {
    cJSON *root;
    const char *ended, *why, *device; /* "cpu", or a GPU's name */
    struct trial_arm *arms; /* the first is the control; then those of windows, then those apart */
    int windowed, count;    /* of them with windows, and all */
    double step_ns; /* the median of all windows of the program as it is; NaN: there are none */
    struct confidence_interval step;
};

/* Reads the trial's file. BAD_INPUT: it is none; IO; OUT_OF_MEMORY. */
enum status trial_read(struct trial *trial, const char *path);
void trial_release(struct trial *trial); /* all zero is allowed */

/* The mean of the steps from `first` on, of a run without windows; NaN: there are none. */
double trial_mean_step(const struct trial *trial, int first);

/* Adds a pair of whole runs to an arm that is apart. OUT_OF_MEMORY. */
enum status trial_arm_add(struct trial_arm *arm, double before_ns, double after_ns);
void trial_arm_release(struct trial_arm *arm);

/* The step as the program is, of all pairs that are there by now. trial_read() has done so with the
 * file's. OUT_OF_MEMORY. */
enum status trial_measure_step(struct trial *trial);

/* Judges an arm. A gain is claimed if all of its interval is beyond LEAST_EFFECT_PERCENT and beyond
 * all that the control's interval holds: so the claim is as improbable for an arm without effect as
 * it is that of two series of one kind one lies beyond the other. No gain is claimed if all of it
 * is within LEAST_EFFECT_PERCENT. Nothing is if the control itself differs by more than that. With
 * `disturbed`, a sentence about other programs or NULL, what does not show is undecided, since they
 * may hide it. `control` NULL: pairs of whole runs have none. */
void trial_judge(struct trial_arm *arm, const struct trial_arm *control, const char *disturbed);

/* Whether the arm needs no more pairs, while the trial is under way. Only a look that the intervals
 * count with decides: one after each pair would be as many more chances to be wrong. */
bool trial_is_decided(const struct trial_arm *arm);

/* The output of a trial: a page for people, and result.json, whose rows `compare`, `history` and
 * Google Benchmark's tools read. */
struct trial_report {
    const struct trial *trial;
    const char *const *command; /* the program's words, up to NULL */
    const cJSON *findings;      /* of the recording, as diagnosis_json.h has them; NULL: none */
    const char *disturbed;      /* what other programs did meanwhile; NULL: nothing that matters */
};

void trial_page(const struct page *page, const struct trial_report *report);

/* The file: rows "data_loading/workers/before" and "/after", a repetition per pair, and the arms
 * with their verdicts. The caller owns it. */
cJSON *trial_json(struct json *json, const struct trial_report *report);
