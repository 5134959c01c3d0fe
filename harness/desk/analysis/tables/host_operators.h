/* Operators of a host that computes itself: how much of their time is their own cost, and how
 * attention is computed.
 *
 * Each operator costs some time beside its work: dispatch, checks, the allocation of its result,
 * the recording for backward. One element costs as much, so where every operator does little, that
 * cost is all. An operator's self time is its own less that of the operators directly in it. Other
 * programs interrupt a few operators for milliseconds, so each counts with the median of its
 * name. Those of loading are left out: data_loading has their time. */
#pragma once

#include "harness/desk/analysis/timeline/timeline.h"

/* The most that counts as an operator's own cost. Under PyTorch 2.15's profiler, on one core of an
 * EPYC (Zen 5), operators on a few elements take 0.2 us (a view) to 4 us (a node of backward) of
 * self time. */
enum { OPERATOR_OWN_NS = 5000 };

struct host_operators {
    int64_t count;
    double typical_ns; /* sum of all operators' median self times */
    double own_ns;     /* their own cost: the part of each up to OPERATOR_OWN_NS */

    /* Softmax between two batched products of matrices, forward or backward, and the time from
     * product to product: the scores of attention are there in memory. */
    int64_t attention_count, attention_ns;

    /* One element-wise operation each, with a result of its own, which take longer than their own
     * cost. In-place ones are left out: optimizers update with those, and residuals are added by
     * them. */
    int64_t elementwise_count;
    double elementwise_ns; /* sum of their median self times */

    /* Those that state inputs in double precision and none in a shorter type, and their self
     * time. */
    int64_t double_count, double_ns;

    /* Numbers read from tensors (aten::item). Those that loading and the optimizer read are left
     * out: samples and counts of steps are the host's on every machine. */
    int64_t value_count, value_ns;
};

/* Counts those that begin from `start_ns` to before `end_ns`. */
struct host_operators host_operators_of(struct arena *arena, const struct timeline *timeline,
                                        int64_t start_ns, int64_t end_ns);

/* The kinds of layers that take the time: operators grouped by kind, shape, and forward or
 * backward.
 *
 * Counted are operators that are in no other ("aten::linear", not the aten::addmm in it), and nodes
 * of the backward pass ("autograd::engine::evaluate_function: AddmmBackward0"). A node is the
 * backward pass of the operator that was given its sequence number: of those on the forward pass's
 * thread, the last one before it that began with that number or a lower one, because a number is
 * given when a result that needs a gradient is recorded (PyTorch, torch/csrc/autograd/function.h
 * and profiler_kineto.cpp). Its kind and shape are that operator's, and several nodes of one
 * operator are one call. A node without a number, or whose operator is not in the trace, is a kind
 * of its own. Where activations are recomputed, operators in a node count too, and the node without
 * them; so do operators in wrappers, such as DistributedDataParallel.forward.
 *
 * Kinds are names without "aten::"; of numbered layers ("block0.qkv") the number is "*". Time is an
 * operator's own and that of everything in it. */
enum { KIND_NAME_SIZE = 128 };

struct operator_kind {
    char name[KIND_NAME_SIZE]; /* "linear backward", cut if need be */
    uint32_t dims;             /* as in struct event_operator */
    int64_t count;
    int64_t device_ns, host_ns; /* sums of durations */
    int64_t flops, bytes;       /* that these calls, or operators in them, state; 0: none does */
};

struct operator_kinds {
    struct operator_kind *rows; /* the most device time first, then the most time on the host */
    int64_t count;
    int64_t device_ns, host_ns; /* of all of them */
};

/* `row_of`, which may be NULL, becomes an array by event of the trace, the row of an operator that
 * counts, of a call in one, and of what is annotated of a launched graph (captures.h); -1: of
 * none. */
struct operator_kinds operator_kinds_of(struct arena *arena, const struct timeline *timeline,
                                        int64_t **row_of);
