/* The instructions that the kernels may use. Compiled with the kernels' flags: data only, so that
 * it is safe to read on any CPU. */
#include "harness/device/cpu/arithmetic/isa.h"

const uint32_t isa_built = 0
#ifdef __AVX512FP16__
                           | 1u << ISA_avx512fp16
#endif
#ifdef __AVX512BF16__
                           | 1u << ISA_avx512bf16
#endif
#ifdef __AVX512VBMI__
                           | 1u << ISA_avx512vbmi
#endif
#ifdef __AVX512VNNI__
                           | 1u << ISA_avx512vnni
#endif
#ifdef __AVX512BW__
                           | 1u << ISA_avx512bw
#endif
#ifdef __AVX512VL__
                           | 1u << ISA_avx512vl
#endif
#ifdef __AVX512DQ__
                           | 1u << ISA_avx512dq
#endif
#ifdef __AVX512CD__
                           | 1u << ISA_avx512cd
#endif
#ifdef __AVX512F__
                           | 1u << ISA_avx512f
#endif
#ifdef __AVX2__
                           | 1u << ISA_avx2
#endif
#ifdef __FMA__
                           | 1u << ISA_fma
#endif
#ifdef __BMI2__
                           | 1u << ISA_bmi2
#endif
#ifdef __F16C__
                           | 1u << ISA_f16c
#endif
#ifdef __AVX__
                           | 1u << ISA_avx
#endif
#ifdef __SSE4_2__
                           | 1u << ISA_sse4_2
#endif
#ifdef __POPCNT__
                           | 1u << ISA_popcnt
#endif
#ifdef __ARM_FEATURE_SVE2
                           | 1u << ISA_sve2
#endif
#ifdef __ARM_FEATURE_MATMUL_INT8
                           | 1u << ISA_i8mm
#endif
#ifdef __ARM_FEATURE_BF16_VECTOR_ARITHMETIC
                           | 1u << ISA_bf16
#endif
#ifdef __ARM_FEATURE_SVE
                           | 1u << ISA_sve
#endif
#ifdef __ARM_FEATURE_DOTPROD
                           | 1u << ISA_asimddp
#endif
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
                           | 1u << ISA_asimdhp
#endif
#ifdef __ARM_FEATURE_QRDMX
                           | 1u << ISA_asimdrdm
#endif
#ifdef __ARM_FEATURE_ATOMICS
                           | 1u << ISA_atomics
#endif
    ;
