/* All that is known of a trace, in one place. Rules judge it, and reports print it. */
#pragma once

#include "harness/base/system/arena.h"
#include "harness/desk/analysis/host/call_tree.h"
#include "harness/desk/analysis/host/idle.h"
#include "harness/desk/analysis/host/pauses.h"
#include "harness/desk/analysis/replay/replay.h"
#include "harness/desk/analysis/soundness/soundness.h"
#include "harness/desk/analysis/tables/host_operators.h"
#include "harness/desk/analysis/tables/kernel_table.h"
#include "harness/desk/analysis/tables/memory_curve.h"
#include "harness/desk/analysis/tables/spans.h"
#include "harness/desk/analysis/timeline/captures.h"
#include "harness/desk/analysis/timeline/first_uses.h"
#include "harness/desk/analysis/timeline/launches.h"
#include "harness/desk/analysis/timeline/messages.h"
#include "harness/desk/analysis/timeline/phases.h"
#include "harness/desk/analysis/timeline/steps.h"
#include "harness/desk/analysis/timeline/timeline.h"

struct digest; /* (diagnosis/digest/digest.h) */

struct summary {
    struct arena *arena; /* in which all of it lies */
    const struct trace_file *trace;
    struct soundness soundness;
    struct timeline timeline;
    struct steps steps;
    struct usage usage; /* timeline_counted_usage() */
    struct captures captures;
    struct launches launches;
    struct kernels kernels;
    struct spans spans;
    struct operator_kinds operator_kinds;
    struct phases phases;
    struct mix mix;
    struct first_uses first_uses;
    struct messages messages;
    struct memory_curve memory;
    struct host_activity host;
    struct pause_table pauses;
    struct idle idle;
    struct trace_graph graph;
    struct call_tree calls; /* in the window of `idle` */
    /* in the window of `idle`; zeros unless the host computes itself */
    struct host_operators operators;
    double product_fixed_ns; /* of those that come with every forward pass (kernel_table.h); NAN:
                                unknown */
    /* The digest that it was read from, which has no tables of events: counts say how many there
     * were. NULL: it is of a trace. */
    const struct digest *digest;
};

/* `trace` must live longer; what is wrong in it is mended first (soundness.h). */
struct summary summary_of(struct arena *arena, struct trace_file *trace);
