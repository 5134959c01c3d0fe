/* Whether a GPU, its driver and its libraries are as they should be. */
#pragma once

#include "harness/checks/checks.h"
#include "harness/device/device.h"

/* The driver, and the right to read its counters, from /proc below `root`. `wanted`: a GPU was
 * asked for, so that none is a failure. */
void gpu_check_driver(struct checks *checks, const char *root, bool wanted);

/* The GPU itself, after it worked: clocks, link, errors, others. `health` NULL: no GPU, and rows
 * are n/a. `affinity`: the processors of this process. `mps`: the environment's
 * CUDA_MPS_PIPE_DIRECTORY, or NULL. */
void gpu_check_health(struct checks *checks, const struct device_properties *properties,
                      const struct device_health *health, const char *affinity, const char *mps);

/* The most that the link moves in one direction, bytes per second: each lane's rate less its line
 * code (PCI Express Base Specification 6.0, 1.2: 2.5, 5, 8, 16, 32, 64 GT/s; 8b/10b, from
 * generation 3 on 128b/130b, in generation 6 flits of 236/256). NAN: not known. */
double gpu_link_bytes_per_second(int generation, int width);

/* The device memory makes two transfers per clock over the bus. Outside the matrix units each fp32
 * unit makes two operations per clock; a multiprocessor has 64 such units in compute capability 7.5
 * and 8.0 and 128 in later ones ("CUDA C++ Programming Guide", "Arithmetic instructions"). At the
 * highest clocks; NAN: not known. */
double gpu_memory_bytes_per_second(const struct device_properties *properties,
                                   const struct device_health *health);
double gpu_fp32_flops(const struct device_properties *properties,
                      const struct device_health *health);

/* The rate of the matrix units in bf16 and fp16 with sums in fp32, without sparsity; in tf32 it is
 * half. From NVIDIA's white papers on the architectures; consumer GPUs do half of what they state
 * for sums in fp16. Those of Jetson AGX Orin (8.7: 170 TOPS in sparse int8) and Thor (11.0: 2070
 * TFLOP/s in sparse fp4) are what their data sheets leave for 16 bits without sparsity: a quarter
 * and an eighth. GB10 (12.1) counts as 12.0, the lower of what is possible. NAN: not known. */
double gpu_matrix_flops(const struct device_properties *properties,
                        const struct device_health *health);
