/* Measuring one row of a bench.
 *
 * The number of iterations is chosen once, so that a repetition takes at least `min_seconds`, and
 * is the same in all repetitions, as Google Benchmark's reader expects. Repetitions go on until the
 * median is known well enough: half of its interval (stats_median_interval) is at most `noise` of
 * it. They end before that at a number of repetitions or a time, and the noise that is left shows
 * in the result.
 *
 * If there are several ranks, all measure the same row, begin each repetition together, and take
 * the times of the first rank, so that all of them go on alike.
 *
 * A visit lasts from a set-up to its tear-down. All repetitions of a row are one visit, or it is
 * visited again and again (rounds.h). */
#pragma once

#include "harness/bench/bench.h"

enum { BENCH_REPETITIONS_MAX = 100, BENCH_VISIT_MAX = 8 };

struct bench_settings {
    double min_seconds;     /* per repetition */
    double warm_up_seconds; /* at least, before the first repetition of a row */
    int64_t iterations;     /* 0: chosen by min_seconds */
    int repetitions;        /* 0: by noise */
    int visit;              /* repetitions per visit, at most BENCH_VISIT_MAX; 0: all */
    double noise;           /* relative */

    /* The time of a row, set-ups included, where noise decides; but there are at least 6 visits, or
     * 6 repetitions where one visit is all. */
    double max_seconds;
    uint64_t seed; /* of the data */
};
struct bench_settings bench_settings_default(void);

struct bench_result {
    char name[96]; /* "gemm_fp32/512"; bench_name()'s where it is "" before the first visit */
    int64_t iterations;
    double seconds; /* that its visits took until the last repetition */
    int count;      /* repetitions */
    double real_ns[BENCH_REPETITIONS_MAX], cpu_ns[BENCH_REPETITIONS_MAX]; /* per iteration */
    int64_t bytes, flops, items;                                          /* per iteration */
    double bus_factor;
    /* The least time that the device's limits allow; 0: not known (roofs.h sets it). */
    double roof_ns;
};

/* The bench's list for that device; ends at a 0 or after BENCH_ARGUMENTS. */
const int64_t *bench_arguments(const struct bench *bench, const struct device_properties *device,
                               int *count);

/* The row's name: "gemm_fp32/512", or "lat_event" where it takes no argument; "/manual_time" at its
 * end is Google Benchmark's word for a bench that times itself. */
void bench_name(char *name, size_t size, const struct bench *bench, int64_t argument);

/* Sets up, which checks the result, measures and tears down. On failure nothing is measured. */
enum status bench_measure(struct bench_result *result, const struct bench *bench, int64_t argument,
                          struct device *device, const struct bench_settings *settings);

/* The same in visits: each sets up, adds `visit` repetitions to the result, or as many as it still
 * takes, and tears down. The result is all zero before the first, but for its name. Once a signal
 * came (interrupt.h), a repetition is cut after its iteration and does not count: on a busy machine
 * it may take a thousand times as long as when its iterations were chosen. */
enum status bench_visit(struct bench_result *result, const struct bench *bench, int64_t argument,
                        struct device *device, const struct bench_settings *settings);
bool bench_is_done(const struct bench_result *result, const struct bench_settings *settings);

/* The fastest repetition, per iteration; INFINITY if there is none. */
double bench_fastest_ns(const struct bench_result *result);

/* How many visits a row takes at most. */
int bench_visits(const struct bench_settings *settings);
