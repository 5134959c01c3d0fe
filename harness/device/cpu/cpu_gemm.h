/* Matrix products by oneDNN. A product's shape, strides and types become a plan once: the
 * primitive, and the operands to widen for it. Plans live as long as the device. */
#pragma once

#include "harness/device/cpu/cpu.h"

struct cpu_gemms;    /* the device's plans */
struct gemm_scratch; /* a worker's own memory for running them */

enum status cpu_gemms_open(struct cpu_gemms **gemms);
void cpu_gemms_close(struct cpu_gemms *gemms); /* NULL is allowed */

enum status gemm_scratch_open(struct gemm_scratch **scratch, struct cpu_gemms *gemms);
void gemm_scratch_close(struct gemm_scratch *scratch); /* NULL is allowed */

/* On a worker, before its first product: OpenMP gets one thread there. With two, a matmul beside a
 * busy loader thread takes four times as long, because OpenMP's barrier spins. */
void gemm_start_worker(void);

/* Computes one product, of a batch of 1, at once, on the scratch's worker; c is fp32. In 16 bits
 * the first one of a shape makes its plan. */
enum status gemm_compute(struct gemm_scratch *scratch, const struct gemm *gemm);

/* As in the names of kernels: "f32", "bf16", "f16". */
const char *gemm_type_name(enum dtype dtype);

/* "oneDNN 2.6.3" */
void gemm_library(char *text, size_t size);

/* The CPU multiplies tiles of bf16 (AMX): many times fp32's rate. Without tiles, AVX-512's bf16 dot
 * product has half of fp32's rate on Intel's (86 and 160 GFLOP/s, Emerald Rapids) and just about
 * twice on AMD's Zen 4 (206 and 104 at 130x384x128): too near the bound of two to be measured alike
 * by every process, so it is never counted as a matrix unit. */
bool gemm_has_bf16_tiles(void);
