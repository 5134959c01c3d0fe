/* Two passes over the device's work, one for each table. Names are numbers already, so a table by
 * name is an array, and each name is classed once. */
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
    SCRATCH_ARENA(scratch, arena);
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
    return kernels;
}

/* --- The mix of a transformer --- */

const double mix_usual[MIX_GROUP_COUNT] = {
    [MIX_CONTRACTIONS] = 0.61, [MIX_NORMALISATIONS] = 0.255, [MIX_ELEMENTWISE] = 0.135
};

const char mix_source[] =
    "Ivanov et al., \"Data Movement Is All You Need\", MLSys 2021, table 1: "
    "forward and backward of "
    "an encoder layer of BERT-large, in PyTorch on a V100, in mixed precision "
    "and without fused attention; other devices and types differ";

const char *mix_name(int kind)
{
    static const char *const names[MIX_COUNT] = {
        [CLASS_PRODUCT] = "matrix products",
        [CLASS_ATTENTION] = "fused attention",
        [CLASS_NORM] = "norms",
        [CLASS_SOFTMAX] = "softmax",
        [CLASS_ELEMENTWISE] = "elementwise",
        [CLASS_REDUCTION] = "reductions",
        [CLASS_END] = "embedding and loss",
        [CLASS_OPTIMIZER] = "optimizer",
        [CLASS_OTHER] = "other kernels",
        [MIX_COMMUNICATION] = "communication",
        [MIX_COPIES] = "copies and memsets",
    };

    return names[kind];
}

const char *mix_group_name(enum mix_group group)
{
    static const char *const names[MIX_GROUP_COUNT] = {
        [MIX_CONTRACTIONS] = "products and attention",
        [MIX_NORMALISATIONS] = "norms and softmax",
        [MIX_ELEMENTWISE] = "elementwise and reductions",
    };

    return names[group];
}

static double group_ns(const struct mix *mix, enum mix_group group)
{
    static const enum kernel_class classes[MIX_GROUP_COUNT][2] = {
        [MIX_CONTRACTIONS] = { CLASS_PRODUCT, CLASS_ATTENTION },
        [MIX_NORMALISATIONS] = { CLASS_NORM, CLASS_SOFTMAX },
        [MIX_ELEMENTWISE] = { CLASS_ELEMENTWISE, CLASS_REDUCTION },
    };

    return (double)mix->ns[classes[group][0]] + (double)mix->ns[classes[group][1]];
}

double mix_share(const struct mix *mix, enum mix_group group)
{
    double all_ns = 0;

    for (int i = 0; i < MIX_GROUP_COUNT; i++) all_ns += group_ns(mix, (enum mix_group)i);
    return all_ns > 0 ? group_ns(mix, group) / all_ns : (double)NAN;
}

/* Kernels that the phase "optimizer" launches update the weights, whatever their names. `class` is
 * 0 until the name is classed, and then one more than that. */
static int kind_of(const struct work *work, const struct intervals *optimizer, int *class,
                   const char *name)
{
    if (work->kind == WORK_COMMUNICATION)
        return MIX_COMMUNICATION;
    if (work->kind != WORK_COMPUTATION)
        return MIX_COPIES;
    if (work->call != NULL && intervals_contain(optimizer, work->call->start_ns))
        return CLASS_OPTIMIZER;
    if (*class == 0)
        *class = 1 + (int)kernel_class_of(name);
    return *class - 1;
}

struct mix mix_of(struct arena *arena, const struct timeline *timeline, const struct phases *phases)
{
    const struct trace_file *trace = timeline->trace;
    struct arena *scratch = arena_scratch(arena);
    int *classes = ARENA_NEW(scratch, int, trace_file_name_count(trace));
    const struct intervals *optimizer = &phases->times[PHASE_OPTIMIZER];
    struct mix mix = { .all_ns = 0 };

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        uint32_t name = work->event->name;
        int64_t ns = work->event->end_ns - work->event->start_ns;
        int kind = kind_of(work, optimizer, &classes[name], trace_file_name(trace, name));
        if (!timeline_counts(timeline, work->event))
            continue;
        mix.count[kind]++;
        mix.ns[kind] = intervals_sum_ns(mix.ns[kind], ns);
        mix.all_ns = intervals_sum_ns(mix.all_ns, ns);
    }
    arena_close(scratch);
    mix.is_transformer =
        mix.ns[CLASS_PRODUCT] > 0 && mix.count[CLASS_NORM] > 0 &&
        8 * (mix.count[CLASS_SOFTMAX] + mix.count[CLASS_ATTENTION]) >= mix.count[CLASS_NORM];
    mix.trains = mix.ns[CLASS_OPTIMIZER] > 0;
    return mix;
}
