/* The ladder: profile, find, fix, and profile again, until nothing is found that is worth a fix. Then the last
 * pass: several gains that are too small for a finding can be a large one together.
 *
 * Each rung traces the settings, takes the first finding that a scenario has a fix for, and measures the fix
 * against the settings as `run` measures a scenario: in pairs, with an interval. Scenarios are the map from
 * findings to fixes: one that accepts a finding fixes it by its knob's value after. If there are several, the
 * first in the list is taken whose knob has another value, and whose settings are possible here. A fix that
 * does not measurably help, or that changes the losses more than its scenario allows, is taken back, and the
 * next one is tried. Where a fix is refused with the value of another scenario's knob, that scenario's fix
 * comes first, and is kept unless it is measurably worse.
 *
 * The last pass measures with longer windows. It tries the fixes of the findings once more, then those that
 * nothing asked for: of all scenarios whose value before is still in place, whose fix is no trade of time for
 * memory, and whose losses stay the same but for the order of sums. A fix that looks better is kept, though its
 * interval holds 1: what several of them gain together would be lost otherwise, and each is what its scenario
 * recommends. Which was tried longest ago comes first, and the pass ends once each was tried with the settings
 * as they are. */
#ifndef HARNESS_LAB_SEARCH_LADDER_H
#define HARNESS_LAB_SEARCH_LADDER_H

#include "harness/base/figures/statistics.h"
#include "harness/lab/experiment/result.h"

enum { LADDER_RUNGS = 64, LADDER_VALUE = 64, LADDER_SCENARIOS = 128 };

/* A finding is worth a rung if it is major, or predicts at least as much as this (percent). */
enum { LADDER_GAIN_PERCENT = LEAST_EFFECT_PERCENT };

/* Looks better: the median of the pairs is at least as much (percent). Less is within the noise of the median
 * of 12 pairs. */
enum { LADDER_LOOKS_PERCENT = 1 };

enum rung_end {
    RUNG_KEPT,
    RUNG_TAKEN_BACK, /* it does not measurably help, or changes the losses */
    RUNG_FAILED,     /* it could not be measured */
};

struct rung {
    const char *finding; /* id; NULL: nothing asked for this fix, which is of the last pass */
    enum severity severity;
    double predicted_gain; /* NaN: of no time */
    bool gain_is_least, gain_is_most;
    const struct scenario *fix;       /* whose knob and value after */
    const struct scenario *needed_by; /* whose fix for the finding is refused without it; NULL */
    char before[LADDER_VALUE], after[LADDER_VALUE]; /* of the knob, resolved */
    enum rung_end end;
    char reason[512];     /* why it was not kept */
    enum metric metric;   /* that decided: the step time, or that of the scenario's promise */
    struct effect effect; /* on it */
    bool losses_agree;
    struct effect step_time;   /* NaN: not measured */
    double samples_per_second; /* of the settings that go on from here; NaN: not measured */
    double seconds;            /* that the rung took */
};

enum ladder_end {
    LADDER_NOTHING_FOUND, /* that is worth a rung */
    LADDER_NO_FIX_LEFT,   /* for what is found: each was tried, or there is none */
    LADDER_OUT_OF_TIME,
    LADDER_STOPPED, /* by an error or an interrupt, which ladder_climb() returns */
};

struct ladder {
    /* The order. */
    struct training_config config; /* not resolved; at the end those that were kept */
    struct device_properties device;
    double budget_seconds;

    /* The results. */
    struct rung rungs[LADDER_RUNGS];
    int count, traces;
    double first_samples_per_second, samples_per_second; /* NaN: not measured */
    char left[480]; /* ids of findings that are worth a rung and were not fixed: "host_sync, ..." */
    double seconds;
    enum ladder_end end;
    /* The number of the rung that tried each scenario's fix last, for its own findings or those of nobody, and
     * for the fix that is refused without it; 0: none. A fix may be tried again once one after it was kept. */
    int tried[LADDER_SCENARIOS], tried_for_another[LADDER_SCENARIOS];
    int kept; /* the number of the last rung that was kept */
    bool last_pass;
};

/* How the ladder sees the machine. */
struct ladder_probe {
    /* Traces the settings before of `now`, and judges the trace. The caller releases the findings. */
    enum status (*diagnose)(void *context, const struct scenario *now, struct findings *findings,
                            double *step_time_us);
    /* Measures a rung, with longer windows if `is_last_pass`; the ladder's time is over in `seconds`. The
     * caller releases the result. */
    enum status (*compare)(void *context, const struct scenario *rung, bool is_last_pass,
                           double seconds, struct scenario_result *result);
    double (*seconds)(void *context);                       /* since the start */
    void (*report)(void *context, const struct rung *rung); /* after each; may be NULL */
    void *context;
};

/* Sets the knobs of `config` to all that is wrong: the value before of each scenario whose finding can be
 * made on the device and whose settings are possible together with those before it in the list. */
void ladder_set_all_wrong(struct training_config *config, const struct device_properties *device);

/* Whether any knob that a scenario changes has another value than its default. */
bool ladder_is_set(const struct training_config *config);

/* After an error all that happened before it stays. */
enum status ladder_climb(struct ladder *ladder, const struct ladder_probe *probe);

#endif
