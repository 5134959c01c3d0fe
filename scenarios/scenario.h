/* A scenario: one bottleneck as a controlled experiment, as data.
 *
 * Both variants are the same training step with the same base settings; exactly one knob differs.
 * The file of a scenario holds its lesson and one const row; list.c registers it. */
#pragma once

#include "harness/device/device.h"
#include "harness/engine/settings/knobs.h"
#include "harness/engine/step/metric.h"
#include "harness/text/catalogue.h"

#include <stdbool.h>

enum direction { SHRINKS, GROWS };

/* A variant's settings: the base, then the knob. */
enum variant { VARIANT_BEFORE, VARIANT_AFTER, VARIANT_COUNT };

/* The devices on which a scenario, an expectation or an accepted finding holds: id, name in result
 * files, words, and the condition on `device`. The words are empty for anywhere. cuDNN's attention
 * takes 16 bits only, and precision=auto is fp32 on a GPU without matrix units for bf16. */
#define WHERES(X)                                                                                  \
    X(ANYWHERE, "anywhere", "", true)                                                              \
    X(WHERE_CPU_DEVICE, "cpu_device", "on the CPU device", !device->is_gpu)                        \
    X(WHERE_CUDA, "cuda", "on CUDA", device->is_gpu)                                               \
    X(WHERE_CPU_BF16_UNITS, "cpu_bf16_units", "on a CPU with matrix units for bf16 (AMX)",         \
      !device->is_gpu && device->bf16_matrix_units)                                                \
    X(WHERE_CPU_VECTORS, "cpu_vectors", "on a CPU without matrix units (AMX)",                     \
      !device->is_gpu && !device->bf16_matrix_units)                                               \
    X(WHERE_CUDA_BF16_UNITS, "cuda_bf16_units", "on CUDA with matrix units for bf16",              \
      device->is_gpu && device->bf16_matrix_units)                                                 \
    X(WHERE_TF32, "tf32", "on a GPU with tf32", device->is_gpu && device->tf32)                    \
    X(WHERE_ATTENTION_LIBRARY, "attention_library",                                                \
      "on a device whose library has attention for precision=auto",                                \
      device->fused_attention && (!device->is_gpu || device->bf16_matrix_units))                   \
    X(WHERE_TWO_CORES, "two_cores", "on a GPU, or on a host with at least two cores",              \
      !device->shares_host_cores || device->host_cores >= 2)                                       \
    X(WHERE_FOUR_CORES, "four_cores", "on a GPU, or on a host with at least four cores",           \
      !device->shares_host_cores || device->host_cores >= 4)                                       \
    X(WHERE_TWO_CORES_A_RANK, "two_cores_a_rank", "with at least two cores for each rank",         \
      !device->shares_host_cores || device->host_cores >= 2)
enum where {
#define WHERE_ID(id, name, text, condition) id,
    WHERES(WHERE_ID)
#undef WHERE_ID
};

struct where_row {
    const char *name, *text;
};
extern const struct where_row wheres[]; /* by enum where */

bool where_holds(enum where where, const struct device_properties *device);

/* The factor by which a metric changes from before to after: before / after for SHRINKS, after /
 * before for GROWS. */
struct expectation {
    enum metric metric;
    enum direction direction;
    double at_least; /* the factor; 0: 5%, or no bound where another one is given */
    double at_most;  /* the factor; 0: no bound */
    enum where where;
    bool exact;                       /* the metric is identical in all repetitions of a variant */
    bool is_cost;                     /* the price of the fix: only at_most can fail it */
    double before_above, after_below; /* bounds on the metric itself; 0: no bound */
    double worth; /* the factor; what is known to be less is not met, unless it is known to be
                     at_least; 0: none */
};

/* The least factor; 0: any. A cost has none; an expectation without any bound asks for 5%. */
double expectation_least(const struct expectation *expectation);

/* Whether a row is the end of a list of expectations: it names no metric. */
bool expectation_is_end(const struct expectation *expectation);

/* Some effects exist only while one side's work is within a band of the other's. The child measures
 * both parts, in steps in which one waits for the other, and picks the pixel size of the JPEG files
 * that meets the band. Id, name in result files, the two sides of the ratio, and the variant that
 * is measured: where the fix removes a wait, the one without it, since waiting is no work; where
 * the fix moves the loading elsewhere, the one whose loop loads. */
#define BALANCES(X)                                                                                \
    X(BALANCE_NONE, "none", "", "", VARIANT_BEFORE)                                                \
    X(BALANCE_HOST_OVER_DEVICE, "host_over_device", "host", "device", VARIANT_AFTER)               \
    X(BALANCE_DEVICE_OVER_HOST, "device_over_host", "device", "host", VARIANT_BEFORE)
enum balance_kind {
#define BALANCE_ID(id, name, over, under, measured) id,
    BALANCES(BALANCE_ID)
#undef BALANCE_ID
};

struct balance_row {
    const char *name, *over, *under;
    enum variant measured;
};
extern const struct balance_row balances[]; /* by enum balance_kind */

struct balance {
    enum balance_kind kind;
    double low, high;
};

/* Some bottlenecks cost next to nothing on some machines, as forcing a line to a fast disk does.
 * The `metric`, a host time per step, must be at least `share` of a step; else the scenario is
 * skipped, and says both. */
struct least_cost {
    enum metric metric; /* METRIC_NONE: any cost will do */
    double share;
    enum variant variant; /* whose step */
};

/* How far the losses of the first 8 steps may differ: id, name in result files, the largest
 * difference relative to the largest loss, and the same in words. LOSS_ORDER is for the same
 * arithmetic in another order; its tolerance holds where both variants compute in fp32, else
 * LOSS_16_BIT applies. LOSS_16_BIT is for another storage type, LOSS_ROUTING for tokens that go to
 * other experts, whose function is not the same. */
#define LOSS_CHECKS(X)                                                                             \
    X(LOSS_IDENTICAL, "identical", 0, "must be bit-identical")                                     \
    X(LOSS_ORDER, "fp32_order", 1e-5,                                                              \
      "must agree within 1e-5 in fp32, and within 2e-2 in other types")                            \
    X(LOSS_16_BIT, "16_bit", 2e-2, "must agree within 2e-2")                                       \
    X(LOSS_ROUTING, "routing", 0.15, "must agree within 0.15, as tokens go to other experts")
enum loss_check {
#define LOSS_CHECK_ID(id, name, tolerance, text) id,
    LOSS_CHECKS(LOSS_CHECK_ID)
#undef LOSS_CHECK_ID
        LOSS_CHECK_COUNT
};

struct loss_check_row {
    const char *name;
    double tolerance;
    const char *text;
};
extern const struct loss_check_row loss_checks[]; /* by enum loss_check */

struct accepted_finding {
    const char *id;
    enum where where;
};

/* The part of training that is at fault: id, name, words. A name stands for all scenarios of its
 * group
 * (`run memory`), so none is that of a scenario. Those of GROUP_GPU_KERNELS are no scenarios but
 * kernel_lessons[]. */
#define GROUPS(X)                                                                                  \
    X(GROUP_DATA, "data", "reading, decoding and batching the data")                               \
    X(GROUP_COPIES, "copies", "copies between host and device")                                    \
    X(GROUP_LAUNCHES, "launches", "launching the device's work")                                   \
    X(GROUP_SYNCS, "syncs", "waiting for the device")                                              \
    X(GROUP_DTYPES, "dtypes", "number types")                                                      \
    X(GROUP_KERNELS, "kernels", "the work of the kernels")                                         \
    X(GROUP_MEMORY, "memory", "device memory")                                                     \
    X(GROUP_LOGGING, "logging", "logging and saving")                                              \
    X(GROUP_RANKS, "ranks", "what many ranks do together")                                         \
    X(GROUP_MEASURING, "measuring", "how a measurement itself misleads")                           \
    X(GROUP_GPU_KERNELS, "gpu_kernels", "single kernels, counted without a GPU")
enum group {
    GROUP_NONE, /* not stated */
#define GROUP_ID(id, name, text) id,
    GROUPS(GROUP_ID)
#undef GROUP_ID
        GROUP_COUNT,
    GROUP_FIRST = GROUP_NONE + 1
};

struct group_row {
    const char *name, *text;
};
extern const struct group_row scenario_groups[]; /* by enum group */

enum group group_find(const char *name); /* GROUP_NONE: none */

/* The two variants in PyTorch, a few lines each: only what differs, and as much around it as one
 * needs to find the place. torch.distributed is initialised, with one rank. os, time, torch, F
 * (torch.nn.functional), DataLoader, ThreadPoolExecutor, and the names model, blocks, optimizer,
 * loss_fn, dataset, files, decode(file), loader, device, tracker.log(values) and train_step(inputs,
 * labels) are given; tests/scenarios/test_snippets.py runs the lines. */
struct snippets {
    const char *before, *after;
};

enum { SCENARIO_EXPECTATIONS = 6, SCENARIO_FINDINGS = 5 };

struct scenario {
    const char *name; /* also the file's stem */
    const char *title;
    const char *also; /* the field's words and PyTorch's arguments: names_have() */
    enum group group;
    const char *symptom, *cause, *fix, *look; /* the lesson, one sentence each */
    const char *cost;                         /* of the fix, and when it does not help */
    struct snippets pytorch;
    const char *base; /* the knob settings that both variants share */
    const char *knob, *before,
        *after;       /* the one difference; one in no list may have several: "a,b" */
    enum where needs; /* where the bottleneck can show at all; elsewhere the scenario is skipped */
    struct balance balance;
    struct least_cost least_cost;
    enum loss_check loss;
    struct expectation expect[SCENARIO_EXPECTATIONS];           /* ends where none is named */
    struct accepted_finding accept[SCENARIO_FINDINGS];          /* ends with a NULL id */
    struct accepted_finding tolerated_after[SCENARIO_FINDINGS]; /* ends with a NULL id */
    bool is_other_work; /* a knob with neither value does other work, which has nothing to mend: no
                           ladder brings it in */
    bool is_own;        /* in no list, so a child gets its settings as text (own_scenario.h) */
};

extern const struct scenario *const scenarios[]; /* ends with NULL; core ones first */
extern const int scenarios_core;                 /* how many are core */

const struct scenario *scenario_find(const char *name); /* NULL: none */

/* Whether a finding is one that the variant before shows, on some device at least, or that the
 * scenario is also called: no trace of its own has what `record` finds in a whole program. */
bool scenario_shows(const struct scenario *scenario, const char *finding);

/* The scenario that has the finding's name, else the first whose first accepted finding it is, else
 * the first that shows it; NULL: none does. */
const struct scenario *scenario_showing(const char *finding);

const char *variant_name(enum variant variant); /* "before", "after" */
/* Sets the knobs "a,b" to the values "1,2": a to 1, and b to 2. */
enum status scenario_set_each(struct training_config *config, const char *names,
                              const char *values);

enum variant variant_find(const char *name); /* VARIANT_COUNT: none */
enum status scenario_config(const struct scenario *scenario, enum variant variant,
                            struct training_config *config);

/* --- Scenarios and settings, for the pages of the desk (catalogue.h) --- */

extern const struct catalogue lab_catalogue;
