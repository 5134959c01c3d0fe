/* The result of one scenario, from single windows to the verdict. */
#pragma once

#include "harness/base/facts/cpu_times.h"
#include "harness/base/figures/change_text.h"
#include "harness/desk/diagnosis/rules/finding.h"
#include "harness/device/device.h"
#include "harness/lab/experiment/protocol.h"
#include "scenarios/scenario.h"

enum { LOSS_STEPS = 8 }; /* the first steps of a run, whose losses are compared */

/* One window of one variant. */
struct repetition {
    double metric[METRIC_COUNT]; /* NaN: not measured */
    int64_t steps, samples, wall_ns;
    int64_t cpu_ns;  /* processor time of the whole process in the window */
    double *step_ns; /* [step_count]: single steps, device events; malloc'd */
    int step_count;
    float losses[LOSS_STEPS]; /* NaN where the child's loss was not finite */
    int64_t damaged_samples;  /* left out since the training was opened */
    int64_t warmup_steps;
    bool warmed_up;                 /* no: the bound on warm-up was reached first */
    struct device_vitals vitals[2]; /* just before and just after the window */
};

enum outcome { OUTCOME_MET, OUTCOME_NOT_MET, OUTCOME_UNDECIDED, OUTCOME_NOT_BOUND };
const char *outcome_name(enum outcome outcome);

/* A metric's change: the medians of both sides, and the median and interval of the paired factors
 * (before / after for SHRINKS, after / before for GROWS). A factor is INFINITY where the smaller
 * side is 0. Everything is NaN when the metric was not measured in every repetition. Neither may be
 * written to JSON as a number. */
struct effect {
    double before, after;
    double factor, low, high;
    double coverage; /* of [low, high]; 0.95 or less: the whole range of too few pairs */
};

struct expectation_result {
    const struct expectation *expectation;
    struct effect effect;
    enum outcome outcome;
    char reason[256]; /* why, for everything but met */
};

/* An A/A comparison promises nothing. It says whether the step times of the same settings look
 * different, which would be a false alarm. */
enum verdict {
    VERDICT_REPRODUCED,     /* never of A/A */
    VERDICT_NOT_REPRODUCED, /* never of A/A */
    VERDICT_NO_DIFFERENCE,  /* A/A only */
    VERDICT_DIFFERENT,      /* A/A only */
    VERDICT_UNDECIDED,
    VERDICT_SKIPPED,
    VERDICT_FAILED,
    VERDICT_COUNT
};
const char *verdict_name(enum verdict verdict); /* "reproduced", "not reproduced" ... */

struct balance_result {
    bool measured;
    double host_ns, device_ns, ratio;
    int jpeg_pixels; /* chosen; or given, and then nothing is measured */
};

/* The outcome of a tracing child: a trace, and the cost of tracing. Both step times are medians
 * over `windows` windows of `steps` steps each. The first is of a device without a tracer, the
 * second of a device that records. A quick run takes the first from the timing child; otherwise
 * both are of the same process. */
struct tracing {
    char file[128]; /* the trace's name in the folder, that of the first rank; "": there is none */
    int ranks;      /* that have one each; 0: one process trained alone */
    char reason[512]; /* why there is none, though it was wanted */
    int64_t steps, windows;
    double step_time_us, traced_step_time_us;
    double spread; /* of the windows: largest less smallest, over the median; the larger of the two
                      kinds. NaN: a single window has no spread */
    int64_t rows, dropped; /* records that were kept, and those that found no room */
    /* Counters of one more window, whose steps were not recorded, where these were asked for; and
     * the reason why they could not be read, or "". */
    struct hardware_counters counters;
    char counters_reason[256];
};

/* The findings in a variant's trace. */
struct variant_diagnosis {
    bool made;
    struct findings findings; /* if made */
    double busy_share; /* if made: of the traced steps, the part in which the device worked */
    char reason[512];  /* why it was not made, though there is a trace */
};

struct scenario_result {
    const struct scenario *scenario;
    enum verdict verdict;
    char reason[512];         /* why, unless reproduced */
    bool unmeasured;          /* its process skipped it, or did not end as it should */
    struct protocol protocol; /* window_seconds is what the device used */
    struct device_properties device;
    char settings[VARIANT_COUNT][KNOBS_TEXT];      /* all knobs, resolved */
    bool fp32[VARIANT_COUNT];                      /* the precision that LOSS_ORDER asks about */
    int pairs;                                     /* complete ones */
    struct repetition *repetitions[VARIANT_COUNT]; /* [pairs] */
    struct effect step_time;                       /* the headline */
    struct expectation_result expectations[SCENARIO_EXPECTATIONS];
    int expectation_count;
    double loss_difference; /* the largest, relative to the losses; NaN: a loss was not finite */
    bool losses_agree;
    int64_t damaged_samples; /* the most in one repetition */
    struct balance_result balance;
    struct tracing tracing[VARIANT_COUNT]; /* if the scenario was measured */
    struct variant_diagnosis diagnoses[VARIANT_COUNT];
    struct cpu_loss cpu_loss; /* while the child was timing */
    double cpu_quota;         /* as of machine_quota() */
    double seconds;           /* of the whole scenario */
};

/* Frees what the result owns; allowed on a result of zeros, and twice. */
void scenario_result_release(struct scenario_result *result);

/* --- Effects and what is expected of them in words, the same in tables, reasons and explain --- */

/* `direction` is the one that the effect's factor was computed in. */
struct change_text effect_words(const struct effect *effect, enum metric metric,
                                enum direction direction);

/* "at least 1.25x faster", "down 2x to 4x"; 0: no bound, and "faster" or "down" without any. */
void effect_bounds(char *text, size_t size, enum metric metric, enum direction direction,
                   double least, double most);
