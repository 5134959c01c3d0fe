/* The device's own limits, measured in the same run as what they bound: how fast it copies within
 * its memory, and how fast it multiplies matrices of each type (Williams, Waterman, Patterson:
 * "Roofline: an insightful visual performance model for multicore architectures", 2009). */
#pragma once

#include "harness/bench/bench_measure.h"

/* Types of products: fp32 strict and in tf32, bf16, fp16. */
enum { ROOF_PEAKS = 4 };

struct roofs {
    /* 0: not measured; -1: it could not be */
    double bytes_per_second;
    double flops_per_second[ROOF_PEAKS]; /* in the order of roof_peak_name() */
};
const char *roof_peak_name(int peak); /* "fp32", "tf32", "bf16", "fp16" */

int roof_peak_find(const char *name); /* ROOF_PEAKS: there is none */

/* Measures what `bench` is bound by, unless it is known already: the largest copy of the list, and
 * of its square products the fastest, each by the fastest repetition. A limit stays unknown if its
 * bench fails: the same row of the list fails for the same reason and reports it. */
void roofs_measure(struct roofs *roofs, const struct bench *bench, struct device *device);

/* Measures copies, and products of one type, unless they are known already: the same benches, with
 * six repetitions of at least 5 ms. */
void roofs_measure_quickly(struct roofs *roofs, int peak, struct device *device);

/* The limits that the training step is held against; 0 or less: not known. */
struct ceilings {
    double flops_per_second; /* of products in the step's type */
    double bytes_per_second; /* of copies within the device: read and written */
};
struct ceilings roofs_ceilings(const struct roofs *roofs, int peak);

/* A rate as a share of its ceiling; NaN where one of them is not known. */
double ceiling_share(double rate, double ceiling);

/* Least time of one iteration of `result` on these roofs, into roof_ns. It may be more than what
 * was measured: data that stays in a cache is faster than memory. */
void roofs_apply(const struct roofs *roofs, const struct bench *bench, struct bench_result *result);
