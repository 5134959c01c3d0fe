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
#pragma once

#include "harness/desk/analysis/timeline/timeline.h"

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
