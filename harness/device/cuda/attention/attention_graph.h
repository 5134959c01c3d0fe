/* Attention as graphs of cuDNN's operations.
 *
 * q, k, v, y and their gradients are [samples, heads, tokens, width], in bf16 or fp16; the
 * statistics that forward leaves to backward are fp32 [samples, heads, tokens]: the logarithm of
 * each query's sum of exponentials. With lengths, keys count up to each sample's; the lengths of
 * the queries are an array too, because cuDNN masks both. */
#pragma once

#include "harness/device/cuda/attention/cudnn.h"
#include "harness/device/device.h"

/* The tensors that a graph reads and writes: their unique ids. SCALE, ONE and NOTHING (minus
 * infinity) are floats on the host. DELTA and DQ_SUMS are fp32 scratch in device memory, of as many
 * elements as the statistics and as q. */
enum attention_tensor {
    ATTENTION_Q = 1,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_Y,
    ATTENTION_STATISTICS,
    ATTENTION_QUERY_LENGTHS,
    ATTENTION_KEY_LENGTHS,
    ATTENTION_SCALE,
    ATTENTION_ONE,
    ATTENTION_NOTHING,
    ATTENTION_DY,
    ATTENTION_DQ,
    ATTENTION_DK,
    ATTENTION_DV,
    ATTENTION_DELTA,
    ATTENTION_DQ_SUMS,
    ATTENTION_TENSORS /* ids of what stays in the kernel begin here */
};

/* Descriptors, which live until the graph's plan is no longer needed. */
enum { ATTENTION_DESCRIPTORS = 128 };
struct attention_graph {
    const struct cudnn *cudnn;
    cudnnBackendDescriptor_t owned[ATTENTION_DESCRIPTORS];
    int count;
    cudnnBackendDescriptor_t operations; /* the operation graph, finalized; one of the above */
};

/* Builds the graph of one pass. UNSUPPORTED where cuDNN has none for it; in any case
 * attention_graph_release() has to follow. */
enum status attention_graph_build(struct attention_graph *graph, const struct cudnn *cudnn,
                                  cudnnHandle_t handle, const struct attention_shape *shape,
                                  bool backward);
void attention_graph_release(struct attention_graph *graph);

/* A descriptor that the graph owns: created here, finalized by the caller. NULL after a failure,
 * which *status then holds; does nothing where *status is one already. */
cudnnBackendDescriptor_t attention_graph_own(struct attention_graph *graph, enum status *status,
                                             cudnnBackendDescriptorType_t type);
