/* Kernels and copies by name: how often, how long, and how well they fill the device. */
#ifndef HARNESS_ANALYSIS_KERNEL_TABLE_H
#define HARNESS_ANALYSIS_KERNEL_TABLE_H

#include "harness/analysis/timeline.h"

/* All work of one name. Means weigh each call by its duration, as torch_tb_profiler does for occupancy;
 * NAN: no call states a value. */
struct kernel_row {
    uint32_t name;
    enum work_kind kind;
    int64_t count;
    int64_t total_ns, min_ns, max_ns;
    double blocks_per_sm, occupancy_percent;
    int64_t bytes;    /* of copies and memsets that say how many they move */
    int64_t bytes_ns; /* the time of those; bytes / bytes_ns are GB/s */
    bool pageable;    /* a copy from or to pageable host memory, by its name */
};

struct kernels {
    struct kernel_row *rows; /* longest total first */
    int64_t count;
};

/* OUT_OF_MEMORY. Release in every case. */
enum status kernels_make(struct kernels *kernels, const struct timeline *timeline);
void kernels_release(struct kernels *kernels);

#endif
