/* All that is known of a trace, in one place. Rules judge it, and reports print it. */
#ifndef HARNESS_ANALYSIS_SUMMARY_H
#define HARNESS_ANALYSIS_SUMMARY_H

#include "harness/analysis/call_tree.h"
#include "harness/analysis/captures.h"
#include "harness/analysis/first_uses.h"
#include "harness/analysis/host_operators.h"
#include "harness/analysis/idle.h"
#include "harness/analysis/kernel_table.h"
#include "harness/analysis/launches.h"
#include "harness/analysis/memory_curve.h"
#include "harness/analysis/messages.h"
#include "harness/analysis/operator_kinds.h"
#include "harness/analysis/pause_table.h"
#include "harness/analysis/pauses.h"
#include "harness/analysis/phases.h"
#include "harness/analysis/products.h"
#include "harness/analysis/spans.h"
#include "harness/analysis/steps.h"
#include "harness/analysis/timeline.h"

struct summary {
    const struct trace_file *trace;
    struct timeline timeline;
    struct steps steps;
    struct captures captures;
    struct launches launches;
    struct kernels kernels;
    struct spans spans;
    struct operator_kinds operator_kinds;
    struct phases phases;
    struct first_uses first_uses;
    struct messages messages;
    struct memory_curve memory;
    struct host_activity host;
    struct pause_table pauses;
    struct idle idle;
    struct call_tree calls; /* in the window of `idle` */
    struct host_operators
        operators; /* in the window of `idle`; zeros unless the host computes itself */
    double
        product_fixed_ns; /* of those that come with every forward pass (products.h); NAN: unknown */
};

/* OUT_OF_MEMORY. `trace` must live longer. Release in every case; a summary of zeros may be released. */
enum status summary_make(struct summary *summary, const struct trace_file *trace);
void summary_release(struct summary *summary);

#endif
