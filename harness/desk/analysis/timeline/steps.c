/* Each part has one merged list of intervals over the whole trace; a step goes through the piece of
 * each list that it covers. */
#include "harness/desk/analysis/timeline/steps.h"

#include "harness/base/bisect.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/intervals.h"

#include <math.h>
#include <stdlib.h>

static const char *const part_names[STEP_PART_COUNT] = {
    "kernel", "copy", "memset", "communication", "runtime", "data_loading", "host", "other",
};

const char *step_part_name(enum step_part part)
{
    return (unsigned)part < STEP_PART_COUNT ? part_names[part] : "unknown";
}

bool step_is_marked(const struct trace_file *trace, const struct trace_event *event,
                    int64_t *number)
{
    return (event->kind == EVENT_KIND_ANNOTATION || event->kind == EVENT_KIND_OPERATOR) &&
           name_is_step(trace_file_name(trace, event->name), number);
}

/* The part of a step that each name of an operator or annotation stands for. With a device,
 * messages are device work, so they are a part only if the host is alone. */
static const enum step_part *parts_by_name(struct arena *scratch, const struct timeline *timeline)
{
    uint32_t count = trace_file_name_count(timeline->trace);
    enum step_part *parts = ARENA_NEW(scratch, enum step_part, count);

    for (uint32_t i = 0; i < count; i++) {
        const char *name = trace_file_name(timeline->trace, i);
        parts[i] = timeline->host_alone && name_is_host_communication(name) ? STEP_COMMUNICATION
                   : name_is_data_loading(name)                             ? STEP_DATA_LOADING
                                                                            : STEP_HOST;
    }
    return parts;
}

/* A region that is a step is no part of one. */
static bool is_region(const struct steps *steps, const struct trace_event *event)
{
    int64_t at = steps->region != NULL ? steps_last_begun(steps, event->start_ns) : -1;

    return at >= 0 && steps->items[at].event == event;
}

static void collect_parts(struct intervals *parts, struct arena *scratch,
                          const struct timeline *timeline, const struct steps *steps)
{
    const enum step_part *of_name = parts_by_name(scratch, timeline);
    static const enum step_part of_work[WORK_KIND_COUNT] = {
        [WORK_COMPUTATION] = STEP_KERNEL,
        [WORK_COPY] = STEP_COPY,
        [WORK_MEMSET] = STEP_MEMSET,
        [WORK_COMMUNICATION] = STEP_COMMUNICATION,
    };

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        intervals_add(&parts[of_work[work->kind]], work->event->start_ns, work->event->end_ns);
    }
    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        enum step_part part = trace_event_is_call(event) ? STEP_RUNTIME : of_name[event->name];
        if (!is_region(steps, event))
            intervals_add(&parts[part], event->start_ns, event->end_ns);
    }
    for (int part = 0; part < STEP_OTHER; part++) intervals_merge(&parts[part]);
}

/* Goes through the step from moment to moment: the first part that is under way counts, until it
 * ends or a part with priority begins. */
static void break_down(struct step *step, const struct intervals *parts)
{
    int64_t at_ns = step->event->start_ns, until_ns, next[STEP_OTHER];

    for (int part = 0; part < STEP_OTHER; part++) next[part] = intervals_after(&parts[part], at_ns);
    for (; at_ns < step->event->end_ns; at_ns = until_ns) {
        int part = 0;
        until_ns = step->event->end_ns;
        for (; part < STEP_OTHER; part++) {
            const struct intervals *list = &parts[part];
            const struct interval *item;
            while (next[part] < list->count && list->items[next[part]].end_ns <= at_ns)
                next[part]++;
            if (next[part] == list->count)
                continue;
            item = &list->items[next[part]];
            if (item->start_ns <= at_ns) {
                until_ns = item->end_ns < until_ns ? item->end_ns : until_ns;
                break;
            }
            until_ns = item->start_ns < until_ns ? item->start_ns : until_ns;
        }
        step->part_ns[part] += until_ns - at_ns;
    }
}

static int64_t busy_of(const struct step *step)
{
    int64_t busy_ns = 0;

    for (int part = 0; part <= STEP_COMMUNICATION; part++) busy_ns += step->part_ns[part];
    return busy_ns;
}

COMPARATOR(by_start, struct step, ASCENDING(event->start_ns) ?: ASCENDING(number))

static void find_steps(struct steps *steps, struct arena *arena, const struct trace_file *trace)
{
    int64_t count = 0, number;

    for (int64_t i = 0; i < trace->event_count; i++)
        count += step_is_marked(trace, &trace->events[i], &number);
    steps->items = ARENA_NEW(arena, struct step, count);
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (step_is_marked(trace, event, &number))
            steps->items[steps->count++] = (struct step){
                .number = number, .event = event, .duration_ns = event->end_ns - event->start_ns
            };
    }
    qsort(steps->items, (size_t)steps->count, sizeof *steps->items, by_start);
}

static void summarise(struct steps *steps, struct arena *scratch)
{
    int count = (int)steps->count;
    double *lengths = ARENA_NEW(scratch, double, count);

    if (count == 0)
        return;
    for (int i = 0; i < count; i++) lengths[i] = (double)steps->items[i].duration_ns;
    steps->mean_ns = stats_mean(lengths, count);
    stats_sort(lengths, count);
    steps->min_ns = (int64_t)lengths[0];
    steps->median_ns = stats_sorted_median(lengths, count);
    steps->max_ns = (int64_t)lengths[count - 1];
}

int64_t steps_last_begun(const struct steps *steps, int64_t at_ns)
{
    int64_t low = 0, high = steps->count;

    BISECT(low, high, i, steps->items[i].event->start_ns <= at_ns);
    return low - 1;
}

int64_t steps_find(const struct steps *steps, int64_t at_ns)
{
    int64_t last = steps_last_begun(steps, at_ns);

    return last >= 0 && at_ns < steps->items[last].event->end_ns ? last : -1;
}

/* Work belongs to the step that launched it, and may end in a later one. */
static void reach(struct steps *steps, const struct trace_file *trace, const struct work *work)
{
    int64_t i = work->call != NULL ? steps_find(steps, work->call->start_ns) : -1;
    struct step *step = i >= 0 ? &steps->items[i] : NULL;

    if (step == NULL)
        return;
    if (work->event->kind == EVENT_KIND_KERNEL && work->event->detail != NO_DETAIL) {
        const uint32_t *grid = trace->kernels[work->event->detail].grid;
        double blocks = (double)grid[0] * (double)grid[1] * (double)grid[2];
        step->blocks = intervals_sum_ns(step->blocks, (int64_t)blocks);
    }
    if (step->work_end_ns == 0 || work->event->end_ns > step->work_end_ns)
        step->work_end_ns = work->event->end_ns;
}

/* All but which the steps are. */
static void measure_steps(struct steps *steps, struct arena *arena, const struct timeline *timeline)
{
    struct intervals parts[STEP_OTHER] = { 0 };
    SCRATCH_ARENA(scratch, arena);

    summarise(steps, scratch);
    for (int part = 0; part < STEP_OTHER; part++) parts[part].arena = scratch;
    if (steps->count > 0)
        collect_parts(parts, scratch, timeline, steps);
    for (int64_t i = 0; i < steps->count; i++) {
        break_down(&steps->items[i], parts);
        steps->items[i].busy_ns = timeline->host_alone ? 0 : busy_of(&steps->items[i]);
    }
    for (int64_t i = 0; i < timeline->work_count; i++)
        reach(steps, timeline->trace, &timeline->work[i]);
    for (int part = 0; part < STEP_PART_COUNT; part++) {
        double ns = 0;
        for (int64_t i = 0; i < steps->count; i++) ns += (double)steps->items[i].part_ns[part];
        steps->mean_part_ns[part] = steps->count > 0 ? ns / (double)steps->count : NAN;
    }
}

struct steps steps_of(struct arena *arena, const struct timeline *timeline)
{
    struct steps steps = { .count = 0 };

    find_steps(&steps, arena, timeline->trace);
    measure_steps(&steps, arena, timeline);
    return steps;
}

struct steps steps_of_regions(struct arena *arena, const struct timeline *timeline,
                              const struct trace_event *const *regions, int64_t count)
{
    struct steps steps = { .items = ARENA_NEW(arena, struct step, count), .count = count };

    if (count > 0)
        steps.region = trace_file_name(timeline->trace, regions[0]->name);
    for (int64_t i = 0; i < count; i++)
        steps.items[i] = (struct step){ .number = i,
                                        .event = regions[i],
                                        .duration_ns = regions[i]->end_ns - regions[i]->start_ns };
    measure_steps(&steps, arena, timeline);
    return steps;
}
