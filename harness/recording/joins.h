/* Joins the rows of a trace: device work with the host call that caused it, a call with the
 * operator or annotation that it was made in, and an annotation with the part of a stream that its
 * work fills.
 *
 * A host span is an operator, a phase or a step. Its external id is its place among them, from 1
 * on, as PyTorch's profiler numbers them. Host spans of a thread nest properly; a call belongs to
 * the innermost one that it starts in. */
#pragma once

#include "harness/recording/buffer.h"

/* A runtime or driver call. */
struct call_join {
    const struct activity *call;
    int64_t external;                /* of the innermost host span around it; 0: none */
    const struct activity *first;    /* the earliest device work that it caused; NULL: none */
    const struct graph_spans *spans; /* of the graph that it launched; NULL: unknown */
    int64_t replayed;                /* in joins.replayed: the first of these spans */
};

/* A span of a graph that one launch of it ran. */
struct graph_run {
    const struct graph_span *span;
    const struct call_join *call;
    uint32_t device, stream;
    int64_t start_ns, end_ns; /* first start to last end; start > end: it has no work */
};

/* Device work that was launched in an annotation (a phase or a step), by stream. */
struct projection {
    const struct trace_row *row; /* the annotation */
    int64_t external;
    uint32_t device, stream;
    int64_t start_ns, end_ns; /* first start to last end */
};

struct joins {
    struct call_join *calls; /* by correlation */
    int64_t call_count;
    struct projection *projections; /* of equal ones, the inner first */
    int64_t projection_count;
    int64_t projection_room;
    struct graph_run *replayed; /* those of a launch as in its graph_spans */
    int64_t replayed_count;
};

/* OUT_OF_MEMORY. Release in every case. */
enum status joins_make(struct joins *joins, const struct trace *trace);
void joins_release(struct joins *joins);

/* The call with that correlation; NULL: none was recorded, or `correlation` is 0. */
const struct call_join *joins_call(const struct joins *joins, uint32_t correlation);
