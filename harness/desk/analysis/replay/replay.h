/* The time that a step would take if something in it were different.
 *
 * A replay computes when each node of a graph would begin, and ends, from what it waits for.
 * Changes may alter nodes before: take time from them, or what they wait for. The window stands for
 * some iterations of a loop, so it is replayed twice in a row, and the second iteration counts: it
 * begins with what the first one left on the device, and the time that a change lets the host get
 * ahead is there. */
#pragma once

#include "harness/desk/analysis/host/idle.h"

/* A trace as a graph of what waits for what.
 *
 * The host is one program: what all of its threads did, in the order of time, since threads that
 * launch take turns. It is cut into pieces: calls that launch, wait or allocate, and between two of
 * them one piece for each of its activities (host_activity.h). A piece begins when the one before
 * has ended and, if it waits, when the work that it waits for has.
 *
 * The device's work comes in the order of its launches. It begins when its call has been made and
 * the launch has reached the device, when the work before it on its stream has ended and, if that
 * is later than both, when some work of another stream has: the latest that ended before it, within
 * IDLE_DEVICE_WAIT_NS.
 *
 * Each time that the trace shows is kept with the constraint that held it up. The other constraints
 * of the same work get the delays that are usual in this trace, or less if less was seen. So a
 * replay (replay.h) that changes nothing gives back the recording, and a constraint that did not
 * matter begins to where a change makes it the last.
 *
 * The model is that of Daydream (Zhu, Phanishayee, Pekhimenko: Daydream: Accurately Estimating the
 * Efficacy of Optimizations for DNN Training, USENIX ATC 2020). HolisticTraceAnalysis has a graph
 * of the same edges, of which it takes the critical path (hta/analyzers/critical_path_analysis.py).
 * To judge a cause by what its absence would change is the idea of Coz (Curtsinger, Berger: Coz:
 * Finding Code that Counts with Causal Profiling, SOSP 2015). */
enum { GRAPH_NONE = -1 };

/* A piece of the host, or device work. Times are in ns; delays are never exact beyond 24 bits. */
struct graph_node {
    int64_t at_ns;       /* when it began in the trace */
    int64_t duration_ns; /* of the host without its wait */
    float latency_ns;    /* work: from the end of its call */
    float gap_ns;        /* work: from the end of the work before it on its stream */
    float lag_ns;        /* from the end of `after` */
    int32_t after;       /* the node that it waits for, an earlier one; GRAPH_NONE */
    /* work: the piece of the host that launched it; GRAPH_NONE: it was launched before */
    int32_t call;
    int32_t event;           /* its number in the trace; GRAPH_NONE: of a piece between calls */
    int16_t stream;          /* work: in 0 to stream_count - 1; GRAPH_NONE: it is of the host */
    uint8_t kind;            /* enum work_kind, or of the host enum host_kind */
    bool is_call;            /* a piece of the host that is a call */
    bool is_first_iteration; /* work that was launched before the first node: an iteration of
                           the loop has it as its predecessor's */
};

/* The host does this in no time, if that is what the piece is. */
void graph_node_shorten(struct graph_node *node, enum host_kind activity);

/* The same, and it waits for nothing: another thread does it. */
void graph_node_drop(struct graph_node *node, enum host_kind activity);

struct trace_graph {
    struct graph_node *nodes; /* an order in which each comes after all that it waits for */
    int64_t count;
    int stream_count;
    int64_t start_ns, end_ns; /* from the first step to the end of the last or of the last work;
                               * without steps, of the work */
};

/* The first work of a call; NULL: the node is no call, or launches nothing. */
const struct graph_node *graph_work_of(const struct trace_graph *graph, int64_t at);

/* The timeline, its trace and the activity must live longer. */
struct trace_graph graph_of(struct arena *arena, const struct timeline *timeline,
                            const struct steps *steps, const struct host_activity *activity,
                            const struct idle *idle);

/* Alters a copy of the node number `at`, in the order of the graph. Work may move to the stream
 * that is called graph->stream_count, which is empty. */
typedef void replay_alter(const void *context, const struct trace_graph *graph, int64_t at,
                          struct graph_node *node);

struct replay_change {
    replay_alter *alter;
    const void *context;
};

struct replayed_time {
    double first_ns; /* of the first iteration; without changes, the window's own time */
    double turn_ns;  /* of the second */
};

/* `changes` apply one after the other. The device's work in the second iteration is added to
 * `busy`, which is not merged yet; NULL: nobody asks. */
struct replayed_time replay(struct arena *arena, const struct trace_graph *graph,
                            const struct replay_change *changes, int count, struct intervals *busy);
