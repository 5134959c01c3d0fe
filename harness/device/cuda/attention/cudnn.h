/* cuDNN's backend interface, loaded when a device is opened. It may be missing: then
 * attention=fused runs our own kernels. */
#pragma once

#include "harness/base/status.h"

#include <cudnn_graph.h>

/* The oldest whose fused attention is used, 9.15.1: before it gradients may be wrong without
 * lengths where the tokens are no multiple of 128 (197 are not), and in 9.10.0 and 9.10.1 with
 * them, too. cuDNN's frontend works around the one and refuses the other (its
 * scaled_dot_product_flash_attention.h). */
enum { CUDNN_OLDEST = 91501 };
#define CUDNN_OLDEST_TEXT "9.15.1"

#define CUDNN_CALLS(X)                                                                             \
    X(get_version, cudnnGetVersion)                                                                \
    X(get_cuda_version, cudnnGetCudartVersion)                                                     \
    X(error_string, cudnnGetErrorString)                                                           \
    X(last_error, cudnnGetLastErrorString)                                                         \
    X(create, cudnnCreate)                                                                         \
    X(destroy, cudnnDestroy)                                                                       \
    X(set_stream, cudnnSetStream)                                                                  \
    X(descriptor_create, cudnnBackendCreateDescriptor)                                             \
    X(descriptor_destroy, cudnnBackendDestroyDescriptor)                                           \
    X(descriptor_finalize, cudnnBackendFinalize)                                                   \
    X(attribute_set, cudnnBackendSetAttribute)                                                     \
    X(attribute_get, cudnnBackendGetAttribute)                                                     \
    X(execute, cudnnBackendExecute)

struct cudnn {
#define CUDNN_MEMBER(member, symbol) __typeof__(&symbol) member;
    CUDNN_CALLS(CUDNN_MEMBER)
#undef CUDNN_MEMBER
};

/* Loads the library once for the process (plugin/library.h). NO_LIBRARY says what is missing, or
 * which version is too old. */
enum status cudnn_load(const struct cudnn **cudnn);

/* OK, or a failure that names the call, cuDNN's status and its last words. UNSUPPORTED: cuDNN
 * cannot do what was asked for. INTERNAL: we asked wrongly. */
enum status cudnn_check(const struct cudnn *cudnn, cudnnStatus_t result, const char *call);
