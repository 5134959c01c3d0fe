/* The kernels of bench_kernels, once more as anyone would write them for a CPU by hand: one plain
 * loop a pass over restrict pointers. Same arguments, same results to within rounding. */
#pragma once

typedef void kernel_fn(const void *arguments, long first, long last);

#define BENCH_KERNELS(X)                                                                           \
    X(layernorm_forward)                                                                           \
    X(layernorm_backward)                                                                          \
    X(layernorm_backward_weight)                                                                   \
    X(softmax_forward)                                                                             \
    X(softmax_backward)                                                                            \
    X(gelu_forward)                                                                                \
    X(gelu_backward)                                                                               \
    X(bias_gelu_forward)                                                                           \
    X(residual_add)                                                                                \
    X(adamw)

#define BENCH_DECLARE(name)                                                                        \
    kernel_fn name##_f32, name##_bf16;           /* the kernel */                                  \
    kernel_fn name##_loop_f32, name##_loop_bf16; /* by hand */
BENCH_KERNELS(BENCH_DECLARE)
#undef BENCH_DECLARE
