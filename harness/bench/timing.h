/* Measuring one row of a bench.
 *
 * The number of iterations is chosen once, so that a repetition takes at least `min_seconds`, and is the
 * same in all repetitions, as Google Benchmark's reader expects. Repetitions go on until the median is
 * known well enough: half of its interval (stats_median_interval) is at most `noise` of it. They end
 * before that at a number of repetitions or a time, and the noise that is left shows in the result. */
#ifndef HARNESS_BENCH_TIMING_H
#define HARNESS_BENCH_TIMING_H

#include "harness/bench/bench.h"

enum { BENCH_REPETITIONS_MAX = 100 };

struct bench_settings {
    double min_seconds; /* of a repetition */
    int64_t iterations; /* 0: chosen by min_seconds */
    int repetitions;    /* 0: by noise */
    double noise;       /* relative */
    double max_seconds; /* of all repetitions together, where noise decides; at least 6 are made */
    uint64_t seed;      /* of the data */
};
struct bench_settings bench_settings_default(void);

struct bench_result {
    char name[96]; /* "gemm_fp32/512" */
    int64_t iterations;
    int count;                                                            /* repetitions */
    double real_ns[BENCH_REPETITIONS_MAX], cpu_ns[BENCH_REPETITIONS_MAX]; /* an iteration */
    int64_t bytes, flops, items;                                          /* an iteration */
    double
        roof_ns; /* the least time that the device's limits leave; 0: not known (roofs.h sets it) */
};

/* The bench's list for that device; ends at a 0 or after BENCH_ARGUMENTS. */
const int64_t *bench_arguments(const struct bench *bench, const struct device_properties *device,
                               int *count);

/* The row's name: "gemm_fp32/512", or "lat_event" where it takes no argument; "/manual_time" at its end
 * is Google Benchmark's word for a bench that times itself. */
void bench_name(char *name, size_t size, const struct bench *bench, int64_t argument);

/* Sets up, which checks the result, measures and tears down. On failure nothing is measured. */
enum status bench_measure(struct bench_result *result, const struct bench *bench, int64_t argument,
                          struct device *device, const struct bench_settings *settings);

#endif
