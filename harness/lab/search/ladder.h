/* The ladder: profile, find, fix, and profile again, until nothing is found that is worth a fix.
 *
 * Each rung traces the settings, takes the first finding that a scenario has a fix for, and
 * measures the fix against the settings as `run` measures a scenario: in pairs, with an interval.
 * Scenarios are the map from findings to fixes: one that accepts a finding fixes it by its knob's
 * value after. If there are several, the first in the list is taken whose knob has another value,
 * and whose settings are possible here. A fix that does not measurably help, or that changes the
 * losses more than its scenario allows, is taken back, and the next one is tried; a knob that
 * cannot act in the settings is left alone. If a fix is refused with the value of another
 * scenario's knob, that scenario's fix comes first, and is kept unless it is measurably worse.
 *
 * A trace does not show gains that are too small for a finding, though several can be a large one
 * together. So what is unseen is a block: all values that scenarios call wrong and that are still
 * in place, if their fixes act, are no trade of time for memory, and leave the losses the same but
 * for the order of sums. If the ladder is thorough, the block is a rung of its own, measured as one
 * change with longer windows and kept by the same rule; then findings are looked for again. */
#pragma once

#include "harness/base/figures/statistics.h"
#include "harness/base/system/scratch_folder.h"
#include "harness/lab/experiment/parent/experiment.h"
#include "harness/lab/experiment/result.h"

enum {
    LADDER_RUNGS = 64,
    LADDER_KNOBS = 384, /* as of an own scenario */
    LADDER_VALUE = 256,
    LADDER_SCENARIOS = 128
};

/* A finding is worth a rung if it is major, or predicts at least as much as this (percent). */
enum { LADDER_GAIN_PERCENT = LEAST_EFFECT_PERCENT };

enum rung_end {
    RUNG_KEPT,
    RUNG_TAKEN_BACK, /* it does not measurably help, or changes the losses */
    RUNG_FAILED,     /* it could not be measured */
};

struct rung {
    const char *finding; /* id; NULL: the block of what is unseen */
    enum severity severity;
    double predicted_gain; /* NaN: of no time */
    bool gain_is_least, gain_is_most;
    const struct scenario *fix;       /* whose knob and value after; NULL: those of several */
    const struct scenario *needed_by; /* whose fix for the finding is refused without it; NULL */
    int changes;                      /* knobs that it changes, "a,b" from "1,2" to "3,4" */
    char knob[LADDER_KNOBS];          /* resolved, as the values are */
    char before[LADDER_VALUE], after[LADDER_VALUE];
    enum rung_end end;
    char reason[512];     /* why it was not kept */
    enum metric metric;   /* that decided: the step time, or that of the scenario's promise */
    struct effect effect; /* on it */
    bool losses_agree;
    struct effect step_time;   /* NaN: not measured */
    const char *why_minor;     /* finding_why_minor(); NULL: nothing was found */
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
    bool thorough; /* measure what is unseen, too */

    /* The results. */
    struct rung rungs[LADDER_RUNGS];
    int count, traces;
    double first_samples_per_second, samples_per_second; /* NaN: not measured */
    char left[480]; /* ids of findings that are worth a rung and were not fixed: "host_sync, ..." */
    struct rung unseen; /* the block that is left at the end: `changes` 0: none */
    double seconds;
    enum ladder_end end;
    /* The number of the rung that tried each scenario's fix last, for its own findings or those of
     * nobody, and for the fix that is refused without it; 0: none. A fix may be tried again once
     * one after it was kept. */
    int tried[LADDER_SCENARIOS], tried_for_another[LADDER_SCENARIOS];
    bool is_worse[LADDER_SCENARIOS]; /* measured so when it was tried last */
    int kept;                        /* the number of the last rung that was kept */
    bool tried_unseen;
};

/* How the ladder sees the machine. */
struct ladder_probe {
    /* Traces the settings before of `now`, and judges the trace. The caller releases the
     * findings. */
    enum status (*diagnose)(void *context, const struct scenario *now, struct findings *findings,
                            double *step_time_us);
    /* Measures a rung, with longer windows if it is the block; the ladder's time is over in
     * `seconds`. The caller releases the result. */
    enum status (*compare)(void *context, const struct scenario *rung, bool is_block,
                           double seconds, struct scenario_result *result);
    double (*seconds)(void *context); /* since the start */
    void *context;
    void (*report)(void *context, const struct rung *rung); /* after each; may be NULL */
    void *report_context;
};

/* Sets the knobs of `config` to all that is wrong: the value before of each scenario whose finding
 * can be made on the device and whose settings are possible together with those before it in the
 * list. */
void ladder_set_all_wrong(struct training_config *config, const struct device_properties *device);

/* Whether any knob that a scenario changes has another value than its default. */
bool ladder_is_set(const struct training_config *config);

/* After an error all that happened before it stays. */
enum status ladder_climb(struct ladder *ladder, const struct ladder_probe *probe);

/* The rungs of a ladder in child processes: a tracing child for each diagnosis, and a timing child
 * for each fix, as `run` starts them. A crash or a hang costs one rung. */
struct ladder_children {
    struct protocol protocol; /* `traces` is set by ladder_children_open() */
    double budget_seconds;    /* of the ladder */
    const char *program;      /* of the children */
    const volatile sig_atomic_t *stop;
    experiment_progress *progress; /* NULL: none */
    void *progress_context;

    int64_t begin_ns;
    struct scratch_folder folder; /* of the traces; removed when closed */
};

/* Begins the time, and makes a folder for traces in TMPDIR. IO, BAD_USAGE. */
enum status ladder_children_open(struct ladder_children *children);

/* Without a report. Its calls return INTERRUPTED once *stop is not 0; INTERNAL where a trace could
 * not be made. */
struct ladder_probe ladder_children_probe(struct ladder_children *children);

/* All zeros are allowed. */
void ladder_children_close(struct ladder_children *children);
