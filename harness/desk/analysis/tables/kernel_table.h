/* Kernels and copies by name: how often, how long, and how well they fill the device. Work that
 * ended before the first marked step does not count. */
#pragma once

#include "harness/desk/analysis/timeline/timeline.h"

/* A kernel of fewer blocks than half the SMs leaves the others without work. (CUDA C++ Best
 * Practices Guide, "Thread and Block Heuristics": more blocks than multiprocessors;
 * torch_tb_profiler calls a GPU underused below 1 block per SM.) A kernel of less than 10 us is
 * mostly its start and end, whatever its grid: a launch takes 2 to 10 us, and what that costs has
 * findings of its own. */
#define KERNEL_SMALL_BLOCKS_PER_SM 0.5
enum { KERNEL_SMALL_LEAST_NS = 10000 };

/* All work of one name. Means weigh each call by its duration, as torch_tb_profiler does for
 * occupancy; NAN: no call states a value. */
struct kernel_row {
    uint32_t name;
    enum work_kind kind;
    int64_t count;
    int64_t total_ns, min_ns, max_ns;
    const struct trace_event *longest; /* the first of those that take max_ns */
    double blocks_per_sm, occupancy_percent;

    /* Calls of small grids, as far as grid and SMs are known, that have the device to themselves;
     * and the part of their time for which their blocks would do if each SM had some: blocks / SMs
     * of it. */
    int64_t small_count, small_ns;
    double small_filled_ns;
    int64_t bytes;    /* of copies, memsets and messages that say how many they move */
    int64_t bytes_ns; /* the time of those; bytes / bytes_ns are GB/s */
    bool pageable;    /* a copy from or to pageable host memory, by its name */
};

struct kernels {
    struct kernel_row *rows; /* longest total first */
    int64_t count;
};

struct kernels kernels_of(struct arena *arena, const struct timeline *timeline);
