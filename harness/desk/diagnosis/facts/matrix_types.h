/* The types shorter than fp32 that a device's matrix units take, so that advice fits the card. */
#pragma once

#include <stdbool.h>

struct event_device;

struct matrix_types {
    bool fp16, bf16, tf32; /* none: it has no matrix units, or they are not known */
};

/* Our own traces state them. Otherwise they follow from the compute capability that the trace
 * gives: NVIDIA's matrix units take fp16 from 7.0 on, bf16 and tf32 from 8.0 on (CUDA C++
 * Programming Guide, "Arithmetic Instructions"; the GTX 16 series has 7.5 and no such units). ROCm
 * gives 9.0 for gfx908 and gfx90a (MI100 to MI250), 9.4 for gfx942 (MI300) and 9.5 for gfx950
 * (MI350): all take fp16 and bf16 at four times the rate of fp32 or more, but MI100 bf16 at twice;
 * only gfx942 takes tf32 (xf32) as well (AMD's CDNA to CDNA 4 white papers). gfx906 (MI50) has 9.0
 * and no such units, but fewer compute units. `device` NULL: none. */
struct matrix_types matrix_types_of(const struct event_device *device);

/* Peak rate of dense products in 16 bits with sums in fp32, beside fp32 without matrix units. The
 * figures are those of NVIDIA's white papers, in TFLOP/s: V100 125 and 15.7, T4 65 and 8.1, A100
 * 312 and 19.5, A40 150 and 37.4, RTX 6000 Ada 364 and 91, H100 SXM 989 and 67, B200 2,250 and 80;
 * GeForce cards sum in fp32 at half the rate. AMD: 4 at least, see above. 2 where it is not known,
 * which is how bf16_matrix_units of our traces is defined. */
double matrix_types_rate(const struct event_device *device);

/* How many times as many numbers per second in fp32 as in fp64, both without matrix units: NVIDIA's
 * by compute capability (CUDA C++ Programming Guide, "Arithmetic Instructions", results per clock
 * cycle and multiprocessor), 2 where it is not known. */
double matrix_types_single_rate(const struct event_device *device);

/* The advice about products in fp32 there, to a program that trains or may not; NULL: nothing. */
const char *matrix_types_advice(struct matrix_types types, bool trains);

/* "bf16, fp16 and tf32"; "" for none. */
const char *matrix_types_text(struct matrix_types types);
