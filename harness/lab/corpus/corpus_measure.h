/* Measures the gain of the fixes of a corpus's item, and records its trace.
 *
 * A timing child per question, as `run` starts them: what does each fix gain alone, and, where
 * there are two, what do they gain together? Where nothing is wrong, the settings are compared with
 * themselves. Then a tracing child records the step with all causes in it, into a file that says
 * neither settings nor causes. */
#ifndef HARNESS_LAB_CORPUS_CORPUS_MEASURE_H
#define HARNESS_LAB_CORPUS_CORPUS_MEASURE_H

#include "harness/lab/corpus/corpus_draw.h"
#include "harness/lab/experiment/parent/experiment.h"

/* The effects of one change. */
struct corpus_gain {
    struct effect step_time; /* of both kinds: NaN where it was not measured */
    struct effect effect;    /* of `metric`; where that is the step time, the same */
    enum metric metric;      /* what the fix is for */
};

struct corpus_measured {
    /* [cause_count] each with the other causes still there */
    struct corpus_gain alone[CORPUS_CAUSES];
    struct effect together;            /* of two fixes, on the step time */
    struct effect same;                /* healthy: of the settings against themselves */
    bool is_measurable[CORPUS_CAUSES]; /* [cause_count] by more than LEAST_EFFECT_PERCENT */
    char reason[512];    /* why something above, or the trace, is missing; "": nothing is */
    char settings[1024]; /* all knobs, resolved */
    struct device_properties device;
    struct tracing tracing;
    double seconds;
};

struct corpus_order {
    struct protocol protocol; /* quick; of an existing folder for the trace */
    const char *program;      /* of the children */
    experiment_progress *progress;
    void *context;
    const volatile sig_atomic_t *stop;
};

/* The trace becomes "<folder>/<item's name>.json.gz". A child that fails is no error: the reason
 * says what is missing. INTERRUPTED: it was stopped before the item was whole, and nothing of it is
 * left. */
enum status corpus_measure(struct corpus_measured *measured, const struct corpus_item *item,
                           const struct corpus_order *order);

/* The promise of a scenario's fix: its step time, or its first metric if it promises no time. */
struct expectation corpus_promise(const struct scenario *scenario);

/* "0001.json.gz" */
enum { CORPUS_FILE = CORPUS_NAME + 8 };
void corpus_file(char file[CORPUS_FILE], const struct corpus_item *item);

#endif
