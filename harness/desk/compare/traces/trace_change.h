/* Why a step takes longer in one trace than in another: its parts, findings that are new or gone,
 * and what the files say of themselves. */
#pragma once

#include "harness/desk/analysis/time_parts.h"
#include "harness/desk/compare/row_sides.h"
#include "harness/desk/diagnosis/diagnosis.h"

/* The change of a step between two traces, as the sum of its parts' changes (time_parts.h), and
 * which of them stand out.
 *
 * Exact: both steps are windows divided by their steps, rounded to nanoseconds, and parts are
 * rounded so that they sum to the step of their side (the largest remainders are rounded up). So
 * the changes of the parts sum to the change of the step.
 *
 * A part stands out if
 * - its change is more than its own noise from step to step. The means of up to STEP_BLOCKS blocks
 *   of steps that follow each other, since neighbouring steps are alike, are compared by Welch's
 *   t-test (Biometrika 34, 1947) and by ranks, because one long step hides any change from the
 *   former (Wilcoxon, Biometrics Bulletin 1, 1945; exact, ties with their mean rank). The smaller
 *   probability counts twice, and that of all parts which are large enough to matter is at most 1%
 *   together (Holm, Scand. J. Statist. 6, 1979);
 * - and it is large enough to matter, STEP_CHANGE_LEAST of the longer step. Two runs of one program
 *   differ by more than their steps do: a device computes everything a little faster or slower
 *   (clock, power, neighbours), and a host finds its files in the cache or not.
 * - and the step itself differs, by STEP_LEAST or more: else there is nothing to explain.
 *
 * How much faster or slower the device computed as a whole is known from the parts: the median of
 * their ratios, of those that take PACE_PART_LEAST of the computation and more. A part of
 * computation has to stand out from that, and from how far the ratios spread. Beyond
 * PACE_SPREAD_MOST they have nothing in common. */
enum { STEP_BLOCKS = 20, STEP_BLOCKS_LEAST = 3 };
#define STEP_LEAST        0.05 /* as an effect of `run` */
#define STEP_CHANGE_LEAST 0.02
#define PACE_PART_LEAST   0.01
#define PACE_LEAST        0.1 /* a smaller common change is what runs of one program differ by */
#define PACE_SPREAD_MOST  0.25
enum { PACE_PARTS_LEAST = 4 };

struct part_change {
    enum part_kind kind;
    const char *name;
    /* of computation: what takes most of it; NULL: unknown, or not there */
    const char *kernels[SIDES];
    double count[SIDES]; /* per step */
    int64_t ns[SIDES];   /* per step; 0: not there */
    int64_t change_ns;
    double low_ns, high_ns; /* the interval of 95% by the noise of steps; NaN: not known */
    double probability;     /* of as large a change by chance, for all parts together; NaN: not
                             * known, or it is too small to matter */
    bool stands_out;
};

/* All computation alike. It stands out if most of these parts run other kernels than before, in
 * more or fewer blocks, or a step has other samples: another length of sequences, say. If they run
 * the same kernels, the device itself was slower: another clock, less power, or other programs on
 * it. */
struct device_pace {
    int parts; /* that tell it; 0: not known, and the rest means nothing */
    bool other_work;
    double blocks;     /* of new over those of base; NaN: a trace does not tell */
    double factor;     /* 1.1: kernels take 1.1 times as long */
    double spread;     /* of the logarithms of the parts' ratios, as a standard deviation */
    int64_t change_ns; /* of the step */
    bool stands_out;
};

struct step_change {
    int64_t step_ns[SIDES];
    int64_t change_ns;
    int64_t steps[SIDES];
    /* traces state different numbers of samples per step: a "step" is one sample */
    bool per_sample;
    double samples[SIDES];     /* per step; NaN: not stated */
    bool has_noise;            /* steps enough to know it */
    bool differs;              /* the step itself; else nothing stands out */
    struct part_change *parts; /* the largest change first */
    int64_t count;
    struct device_pace pace;
};

/* The parts and summaries must live longer. */
struct step_change step_change_of(struct arena *arena, const struct time_parts sides[SIDES],
                                  const struct summary *const summaries[SIDES]);

/* The step does not differ after all, by what else is known of it. */
void step_change_withdraw(struct step_change *change);

/* A fact that the files state differently; the texts are its own. */
struct trace_difference {
    char *name;        /* "settings", "device", or a member of the file: "cuda_driver_version" */
    char *side[SIDES]; /* NULL: not stated. For settings the first alone: "workers 2 and 1" */
};

/* The step time that our own traces state: the median of windows without a tracer, just before the
 * trace. */
struct untraced {
    double step_ns; /* NaN: not stated */
    double spread;  /* of the windows: largest less smallest, over the median; 0: not known */
    double windows;
};

struct trace_change {
    /* of one file each, which has a trace of each process that marks steps */
    struct diagnosis sides[SIDES];
    int count, at; /* of these traces, as many on both sides; all below is of number `at` */
    struct time_parts parts[SIDES];
    struct step_change step;
    struct trace_difference *differences;
    int difference_count;
    int64_t difference_room;
    double other_cores[SIDES]; /* that other programs used meanwhile; NaN: the file does not say */
    struct untraced untraced[SIDES];
    bool confirmed; /* untraced steps differ as the traces do, as far as the files say */
};

/* Reads and judges both files, and compares their first traces. IO, BAD_INPUT: one cannot be read,
 * has nothing of a step, or has more processes than the other; the sentence says which.
 * OUT_OF_MEMORY. The paths must live longer. Release in every case. */
enum status trace_change_make(struct trace_change *change, const char *const paths[SIDES]);
void trace_change_release(struct trace_change *change);

/* Compares the traces of number `at` instead. BAD_INPUT, OUT_OF_MEMORY, as above. */
enum status trace_change_select(struct trace_change *change, int at);

/* Compares each process of a file beside that of the other, and calls `visit` for each. As above.
 */
enum status trace_change_each(const char *const paths[SIDES],
                              void (*visit)(void *context, const struct trace_change *change),
                              void *context);

/* If the step differs and no part stands out: the finding that is new if it is longer, or gone if
 * it is shorter, and costs the most time, at least STEP_CHANGE_LEAST of a step; else NULL. */
const struct finding *trace_change_cause(const struct trace_change *change);

/* Finding number `i` of a side, if the other one has none of its kind; else NULL. Information is
 * none. */
const struct finding *trace_change_only(const struct trace_change *change, int side, int64_t i);

/* The parts that stand out, the largest first, as far as it fits: "idle: loading +2.10 ms, linear
 * backward +0.41 ms". Only what is longer, or shorter where the step is shorter; else
 * trace_change_cause(). "" where there is nothing. */
void trace_change_words(char *text, size_t size, const struct trace_change *change);

/* Why the comparison may say more of the machine than of the program; "" where nothing speaks
 * against it. */
void trace_change_doubts(char *text, size_t size, const struct trace_change *change);

/* A part's name for people: "idle: loading", "linear backward". */
enum { PART_TEXT = KIND_NAME_SIZE + 32 };
void part_change_name(char text[PART_TEXT], const struct part_change *part);
