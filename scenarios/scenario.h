/* A scenario: one bottleneck as a controlled experiment, as data.
 *
 * Both variants are the same training step with the same base settings; exactly one knob differs.
 * A scenario's file holds its lesson and one const row; the list below registers it. */
#ifndef SCENARIOS_SCENARIO_H
#define SCENARIOS_SCENARIO_H

#include "harness/device/device.h"
#include "scenarios/training/settings/knobs.h"
#include "scenarios/training/step/metric.h"

#include <stdbool.h>

enum direction { SHRINKS, GROWS };

/* What an expectation or an accepted finding is bound to. */
enum where {
    ANYWHERE,
    WHERE_CPU_DEVICE,
    WHERE_CUDA,
    WHERE_CPU_BF16_UNITS,  /* matrix units for bf16: a CPU's (AMX) */
    WHERE_CUDA_BF16_UNITS, /* a GPU's */
    WHERE_FOUR_CORES,      /* a GPU, or a host with at least four cores */
};

/* The factor by which a metric changes from before to after: before / after for SHRINKS, after /
 * before for GROWS. */
struct expectation {
    enum metric metric;
    enum direction direction;
    double at_least; /* the factor; 0: 5%, or none where another bound is given */
    double at_most;  /* the factor; 0: none */
    enum where where;
    bool exact;                       /* the metric is the same in every repetition of a variant */
    bool is_cost;                     /* the price of the fix: only at_most can fail it */
    double before_above, after_below; /* bounds of the metric itself; 0: none */
};

/* Some effects exist only in a band of a ratio. The child measures both parts alone and picks the
 * pixel size of the JPEG files (with --data: takes the files as they are) that meets the band. */
enum balance_kind { BALANCE_NONE, BALANCE_HOST_OVER_DEVICE, BALANCE_DEVICE_OVER_HOST };
struct balance {
    enum balance_kind kind;
    double low, high;
};

/* How far the losses of the first 8 steps may differ, relative to the largest of them. */
enum loss_check {
    LOSS_IDENTICAL, /* the same arithmetic: the same bits */
    LOSS_ORDER,  /* in another order: within 1e-5 where both compute in fp32, else as LOSS_16_BIT */
    LOSS_16_BIT, /* another storage type: within 2e-2 */
};

struct accepted_finding {
    const char *id;
    enum where where;
};

enum { SCENARIO_EXPECTATIONS = 6, SCENARIO_FINDINGS = 4 };

struct scenario {
    const char *name; /* also the file's stem */
    const char *title;
    const char *symptom, *cause, *fix, *look; /* the lesson, a sentence each */
    const char *base;                         /* what both variants share: knob settings */
    const char *knob, *before, *after;        /* the one difference */
    struct balance balance;
    enum loss_check loss;
    struct expectation expect[SCENARIO_EXPECTATIONS];           /* ends with a row of zeros */
    struct accepted_finding accept[SCENARIO_FINDINGS];          /* ends with a NULL id */
    struct accepted_finding tolerated_after[SCENARIO_FINDINGS]; /* ends with a NULL id */
};

extern const struct scenario *const scenarios[]; /* ends with NULL; core ones first */
extern const int scenarios_core;                 /* how many are core */

const struct scenario *scenario_find(const char *name); /* NULL: none */

/* The nearest name to `name`, for messages. */
const char *scenario_nearest(const char *name);

/* Whether something bound to `where` holds on a device. */
bool where_holds(enum where where, const struct device_properties *device);

/* Settings of a variant: base, then the knob. */
enum variant { VARIANT_BEFORE, VARIANT_AFTER, VARIANT_COUNT };
const char *variant_name(enum variant variant); /* "before", "after" */
enum status scenario_config(const struct scenario *scenario, enum variant variant,
                            struct training_config *config);

#endif
