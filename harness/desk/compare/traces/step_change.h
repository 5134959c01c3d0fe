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
#pragma once

#include "harness/desk/analysis/time_parts.h"
#include "harness/desk/compare/row_sides.h"

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
