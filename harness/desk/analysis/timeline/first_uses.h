/* A program's one-time work: it captures and instantiates graphs, compiles, loads modules, and
 * launches kernels for the first time, which loads or compiles them. All of that may come late in a
 * trace.
 *
 * The time that the operator around a first launch, or around loading a module, spent before it
 * counts too, unless the operator had launched something else: it was looking for the kernel, or
 * compiling it. Captures that come again and again are not done once (captures.h), and neither are
 * compilations in three steps or more, if these are most or one between them has none. */
#pragma once

#include "harness/desk/analysis/timeline/captures.h"
#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/timeline.h"

enum {
    FIRST_USE_LONG_NS = 1000000, /* twenty times a long call (LAUNCH_LONG_CALL_NS) */
    COMPILING_STEPS_LEAST = 3,   /* two may be one shape each */
};

struct first_uses {
    int64_t launches; /* of a kernel for the first time, in a call of FIRST_USE_LONG_NS or more */
    int64_t loads;    /* calls that load a module, or compile one */
    int64_t compilations; /* spans in which PyTorch compiles, those within another left out */
    int64_t captures, instantiated; /* of graphs */

    const struct trace_event *longest; /* call or span, other than a capture; NULL: none */
    const struct trace_event *kernel;  /* that it launched; NULL: none */

    struct intervals times; /* of all that; merged */
    struct intervals idle;  /* the part of `times` in which no device worked; merged */

    /* Time of the profiler itself, in which it held up the host; and its part in which no device
     * worked. Both merged. */
    struct intervals profiler, idle_profiler;

    int64_t compiling_steps; /* steps that compile, if that comes again and again; else 0 */
    struct intervals again, idle_again; /* these compilations, which are not in `times` */
};

struct first_uses first_uses_of(struct arena *arena, const struct timeline *timeline,
                                const struct captures *captures, const struct steps *steps);
