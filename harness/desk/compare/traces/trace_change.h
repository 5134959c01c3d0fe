/* Why a step takes longer in one trace than in another: its parts, findings that are new or gone,
 * and what the files say of themselves. */
#pragma once

#include "harness/desk/compare/traces/step_change.h"
#include "harness/desk/diagnosis/diagnosis.h"

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
