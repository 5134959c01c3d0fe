/* Names are numbers already, so a table by name is an array. */
#include "harness/desk/analysis/tables/kernel_table.h"

#include "harness/base/sort.h"
#include "harness/desk/analysis/timeline/intervals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A mean under way: sum of value x weight, and of weights. */
struct weighted {
    double sum, weight;
};

struct means {
    struct weighted blocks, occupancy;
};

static void weigh(struct weighted *mean, double value, double weight)
{
    if (!isfinite(value))
        return;
    mean->sum += value * weight;
    mean->weight += weight;
}

static double mean_of(const struct weighted *mean)
{
    return mean->weight > 0 ? mean->sum / mean->weight : NAN;
}

/* As the trace says, or else from grid and device (kineto's DeviceProperties.cpp, blocksPerSm). */
static double blocks_per_sm(const struct trace_file *trace, const struct trace_event *event)
{
    const struct event_kernel *kernel = &trace->kernels[event->detail];
    const struct event_device *device =
        trace_file_device(trace, trace->tracks[event->track].process);

    if (isfinite(kernel->blocks_per_sm))
        return (double)kernel->blocks_per_sm;
    if (device != NULL && device->multiprocessors > 0 && kernel->grid[0] > 0)
        return (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2] /
               device->multiprocessors;
    return NAN;
}

static void add_kernel(struct kernel_row *row, struct means *means, const struct trace_file *trace,
                       const struct work *work)
{
    const struct trace_event *event = work->event;
    int64_t ns = event->end_ns - event->start_ns;

    if (row->count++ == 0) {
        row->name = event->name;
        row->kind = work->kind;
        row->min_ns = ns;
        row->pageable = work->kind == WORK_COPY &&
                        strstr(trace_file_name(trace, event->name), "Pageable") != NULL;
    }
    row->total_ns = intervals_sum_ns(row->total_ns, ns);
    row->min_ns = ns < row->min_ns ? ns : row->min_ns;
    if (row->longest == NULL || ns > row->max_ns) {
        row->max_ns = ns;
        row->longest = event;
    }
    if (event->kind == EVENT_KIND_KERNEL) {
        weigh(&means->blocks, blocks_per_sm(trace, event), (double)ns);
        weigh(&means->occupancy, (double)trace->kernels[event->detail].occupancy_percent,
              (double)ns);
    }
    if (event->bytes >= 0 && work->kind != WORK_COMPUTATION) {
        row->bytes = intervals_sum_ns(row->bytes, event->bytes);
        row->bytes_ns = intervals_sum_ns(row->bytes_ns, ns);
    }
}

/* Whether no other computation runs beside work number `index`; what came before it ended at
 * `last_ns`. */
static bool is_alone(const struct timeline *timeline, int64_t index, int64_t last_ns)
{
    const struct work *work = timeline->work;

    for (int64_t next = index + 1; next < timeline->work_count; next++)
        if (work[next].kind == WORK_COMPUTATION)
            return work[index].event->start_ns >= last_ns &&
                   work[next].event->start_ns >= work[index].event->end_ns;
    return work[index].event->start_ns >= last_ns;
}

/* Adds the calls of small grids to the rows of their names. */
static void take_small(struct kernel_row *rows, const struct timeline *timeline)
{
    int64_t last_ns = INT64_MIN;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        const struct trace_event *event = work->event;
        struct kernel_row *row = &rows[event->name];
        int64_t ns = event->end_ns - event->start_ns;
        double blocks;
        if (work->kind != WORK_COMPUTATION || !timeline_counts(timeline, event))
            continue;
        blocks = blocks_per_sm(timeline->trace, event);
        if (blocks < KERNEL_SMALL_BLOCKS_PER_SM && ns >= KERNEL_SMALL_LEAST_NS &&
            is_alone(timeline, i, last_ns)) {
            row->small_count++;
            row->small_ns = intervals_sum_ns(row->small_ns, ns);
            row->small_filled_ns += blocks * (double)ns;
        }
        last_ns = event->end_ns > last_ns ? event->end_ns : last_ns;
    }
}

COMPARATOR(by_total, struct kernel_row, DESCENDING(total_ns) ?: ASCENDING(name))

struct kernels kernels_of(struct arena *arena, const struct timeline *timeline)
{
    uint32_t names = trace_file_name_count(timeline->trace);
    struct arena *scratch = arena_scratch(arena);
    struct means *means = ARENA_NEW(scratch, struct means, names);
    struct kernel_row *rows = ARENA_NEW(arena, struct kernel_row, names);
    struct kernels kernels = { .rows = rows };

    for (int64_t i = 0; i < timeline->work_count; i++) {
        uint32_t name = timeline->work[i].event->name;
        if (timeline_counts(timeline, timeline->work[i].event))
            add_kernel(&rows[name], &means[name], timeline->trace, &timeline->work[i]);
    }
    take_small(rows, timeline);
    for (uint32_t i = 0; i < names; i++) {
        struct kernel_row row = rows[i];
        if (row.count == 0)
            continue;
        row.blocks_per_sm = mean_of(&means[i].blocks);
        row.occupancy_percent = mean_of(&means[i].occupancy);
        rows[kernels.count++] = row;
    }
    qsort(rows, (size_t)kernels.count, sizeof *rows, by_total);
    arena_close(scratch);
    return kernels;
}
