/* The list of all benches, which the command, doctor and the tests go through. */
#include "benches/benches.h"

/* Each bench is a line here, and a const row in a file beside this one. */
#define KERNEL(X, name) X(name##_fp32) X(name##_fp32_cold) X(name##_bf16) X(name##_bf16_cold)
#define COLD(X, name)   X(name##_fp32_cold) X(name##_bf16_cold)
#define TYPES(X, name)  X(name##_fp32) X(name##_bf16)
#define BENCHES(X)                                                                                 \
    X(lat_launch_enqueue)                                                                          \
    X(lat_launch_start)                                                                            \
    X(lat_launch_sync)                                                                             \
    X(lat_launch_back_to_back)                                                                     \
    X(lat_graph)                                                                                   \
    X(lat_graph_eager)                                                                             \
    X(lat_sync_stream)                                                                             \
    X(lat_sync_event)                                                                              \
    X(lat_sync_device)                                                                             \
    X(lat_sync_spin)                                                                               \
    X(lat_event)                                                                                   \
    X(lat_readback)                                                                                \
    X(lat_alloc_direct)                                                                            \
    X(lat_alloc_stream)                                                                            \
    X(lat_alloc_caching)                                                                           \
    X(bw_copy_h2d)                                                                                 \
    X(bw_copy_h2d_pageable)                                                                        \
    X(bw_copy_d2h)                                                                                 \
    X(bw_copy_d2h_pageable)                                                                        \
    X(bw_copy_both)                                                                                \
    X(bw_copy_d2d)                                                                                 \
    X(bw_copy_peer)                                                                                \
    X(lat_copy_peer)                                                                               \
    X(coll_allreduce)                                                                              \
    X(coll_allgather)                                                                              \
    X(coll_reducescatter)                                                                          \
    KERNEL(X, bw_memory_read)                                                                      \
    KERNEL(X, bw_memory_write)                                                                     \
    KERNEL(X, bw_memory_copy)                                                                      \
    KERNEL(X, bw_memory_triad)                                                                     \
    TYPES(X, gemm)                                                                                 \
    X(gemm_tf32)                                                                                   \
    X(gemm_fp16)                                                                                   \
    TYPES(X, gemm_qkv)                                                                             \
    TYPES(X, gemm_out)                                                                             \
    TYPES(X, gemm_up)                                                                              \
    TYPES(X, gemm_down)                                                                            \
    TYPES(X, attention_naive)                                                                      \
    TYPES(X, attention_tiled)                                                                      \
    TYPES(X, attention_fused)                                                                      \
    KERNEL(X, layernorm)                                                                           \
    KERNEL(X, softmax)                                                                             \
    KERNEL(X, gelu)                                                                                \
    KERNEL(X, residual)                                                                            \
    COLD(X, split_heads)                                                                           \
    COLD(X, split_heads_backward)                                                                  \
    COLD(X, merge_heads)                                                                           \
    COLD(X, merge_heads_backward)                                                                  \
    COLD(X, bias)                                                                                  \
    COLD(X, bias_residual)                                                                         \
    COLD(X, bias_gelu)                                                                             \
    COLD(X, bias_backward)                                                                         \
    COLD(X, gelu_backward)                                                                         \
    COLD(X, bias_gelu_backward)                                                                    \
    COLD(X, softmax_backward)                                                                      \
    COLD(X, layernorm_backward)                                                                    \
    COLD(X, residual_layernorm_backward)                                                           \
    COLD(X, layernorm_backward_weight)                                                             \
    KERNEL(X, adamw_multi_tensor)                                                                  \
    KERNEL(X, adamw_per_tensor)                                                                    \
    KERNEL(X, adamw_unfused)                                                                       \
    X(jpeg_decode)                                                                                 \
    X(loader_workers_0)                                                                            \
    X(loader_workers_1)                                                                            \
    X(loader_workers_2)                                                                            \
    X(loader_workers_4)                                                                            \
    X(loader_workers_16)

#define DECLARE(name) extern const struct bench bench_##name;
BENCHES(DECLARE)

#define ROW(name) &bench_##name,
const struct bench *const benches[] = { BENCHES(ROW) };
const int bench_count = ARRAY_SIZE(benches);
