/* The experiment: before against after, measured side by side in one child process.
 *
 * The parent starts `chokepoint exec SCENARIO` as a fresh process, so that a crash, a leak or a hang
 * costs that scenario only. In the child, repetitions of before and after alternate in random order;
 * each sets up, warms up, times a window, checks the losses, tears down and sends one record up an
 * inherited descriptor. The parent keeps what arrives, computes the effects and gives the verdict. */
#ifndef HARNESS_EXPERIMENT_EXPERIMENT_H
#define HARNESS_EXPERIMENT_EXPERIMENT_H

#include "harness/base/cpu_times.h"
#include "harness/device/device.h"
#include "harness/diagnosis/finding.h"
#include "scenarios/scenario.h"

#include <signal.h>

enum { LOSS_STEPS = 8 }; /* steps whose losses are compared */

struct protocol {
    const char *device;    /* as device_open takes it; borrowed */
    int64_t device_memory; /* bytes; 0: the device's default */
    const char *data;      /* folder of the user's images; NULL: the generated set; borrowed */
    int repetitions;       /* pairs that count; one more is run first and thrown away. Fewer than 6
                               give no interval: then only what is exact can be reproduced */
    int extra; /* pairs more at most, EXTRA_PAIRS at a time, while the verdict is undecided */
    double window_seconds;  /* about so long is one timed window, on average over both variants */
    double timeout_seconds; /* for a child as a whole */
    uint64_t seed;          /* order of the repetitions, weights, sample order */
    bool quick;             /* recorded; the numbers above already say it */
    bool aa;                /* A/A: the settings before on both sides; `traces` must be NULL */
    const char *traces; /* folder of the traces, which is there; NULL: trace nothing; borrowed */
};

enum { EXTRA_PAIRS = 3 };

/* 9 pairs of 0.2 s windows, or 6 of 0.1 s, and up to 15 while undecided; on CUDA windows are at least
 * 0.3 s. Device "auto", seed 1. */
struct protocol protocol_default(bool quick);

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

/* A metric's change: medians of both sides, and median and interval of the paired factors (before /
 * after for SHRINKS, after / before for GROWS). The factors are INFINITY where the smaller side is 0,
 * and everything is NaN when the metric was not measured in every repetition: neither may be written
 * to JSON as a number. */
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

/* An A/A comparison promises nothing: it says of the step time whether the same settings look
 * different, which would be a false alarm. */
enum verdict {
    VERDICT_REPRODUCED,     /* not of A/A */
    VERDICT_NOT_REPRODUCED, /* not of A/A */
    VERDICT_NO_DIFFERENCE,  /* of A/A only */
    VERDICT_DIFFERENT,      /* of A/A only */
    VERDICT_UNDECIDED,
    VERDICT_SKIPPED,
    VERDICT_FAILED,
    VERDICT_COUNT
};
const char *verdict_name(enum verdict verdict); /* "reproduced", "not reproduced" ... */

struct balance_result {
    bool measured;
    double host_ns, device_ns, ratio;
    int jpeg_pixels; /* chosen */
};

/* What a tracing child has left: a trace, and what tracing cost. Both step times are medians over
 * `windows` windows of `steps` steps each, of the same process: on a device that no tracer was loaded
 * for, then on one that records. Of a quick run the first is the timing child's. */
struct tracing {
    char file[128];   /* the trace's name in the folder; "": there is none */
    char reason[512]; /* why there is none, though it was wanted */
    int64_t steps, windows;
    double step_time_us, traced_step_time_us;
    double
        spread; /* of the windows of a kind: largest less smallest, over the median; of the kind where
                      it is larger. NaN: one window tells none */
    int64_t rows, dropped; /* records kept, and those that found no room */
};

/* What a variant's trace shows (diagnoses.h). */
struct variant_diagnosis {
    bool made;
    struct findings findings; /* where made */
    char reason[512];         /* why not, though there is a trace */
};

struct scenario_result {
    const struct scenario *scenario;
    enum verdict verdict;
    char reason[512];         /* why, for everything but reproduced */
    struct protocol protocol; /* window_seconds as it was on the device */
    struct device_properties device;
    char settings[VARIANT_COUNT][1024];            /* all knobs, resolved */
    int pairs;                                     /* complete ones */
    struct repetition *repetitions[VARIANT_COUNT]; /* [pairs] */
    struct effect step_time;                       /* the headline */
    struct expectation_result expectations[SCENARIO_EXPECTATIONS];
    int expectation_count;
    double
        loss_difference; /* of the first LOSS_STEPS steps (losses_compare); NaN: a loss was not finite */
    bool losses_agree;
    int64_t damaged_samples; /* most in one repetition */
    struct balance_result balance;
    struct tracing tracing[VARIANT_COUNT]; /* of scenarios that were measured */
    struct variant_diagnosis diagnoses[VARIANT_COUNT];
    struct cpu_loss cpu_loss; /* while it was timed */
    double seconds;           /* the whole scenario took */
};

/* Called as records come in: `done` of `total` windows that count. May be NULL. */
typedef void experiment_progress(void *context, const struct scenario *scenario, int done,
                                 int total);

/* Runs one scenario in a child process. A child that fails, crashes or hangs is not an error here: it
 * gives VERDICT_FAILED with its last words. INTERRUPTED when *stop becomes nonzero: the child is ended
 * and what it sent is lost. Release the result in every case. `stop` may be NULL. */
enum status experiment_run(struct scenario_result *result, const struct scenario *scenario,
                           const struct protocol *protocol, experiment_progress *progress,
                           void *context, const volatile sig_atomic_t *stop);
void scenario_result_release(struct scenario_result *result);

/* The same with another program than this one in the child's place. */
enum status experiment_run_program(struct scenario_result *result, const char *program,
                                   const struct scenario *scenario, const struct protocol *protocol,
                                   experiment_progress *progress, void *context,
                                   const volatile sig_atomic_t *stop);

/* The child's side: runs the protocol for one variant or both (`only` is VARIANT_COUNT) and writes one
 * JSON record a line to `descriptor`; with a negative one it writes none. A failure is written as the
 * last record and returned. A scenario that the device cannot show is no failure. Ignores SIGPIPE from
 * then on. */
enum status experiment_child(const struct scenario *scenario, const struct protocol *protocol,
                             enum variant only, int descriptor);

#endif
