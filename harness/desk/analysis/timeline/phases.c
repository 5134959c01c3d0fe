/* Each phase has one merged list of intervals over the whole trace. A step asks how much of each
 * list it covers, and a call in which list it begins. */
#include "harness/desk/analysis/timeline/phases.h"

#include "harness/desk/analysis/names/event_names.h"

#include <string.h>

static const char *const names[PHASE_COUNT] = {
    "data", "h2d", "forward", "backward", "optimizer", "graph", "log", "save",
};

const char *phase_name(enum phase phase)
{
    return (unsigned)phase < PHASE_COUNT ? names[phase] : "unknown";
}

bool phase_of_name(const char *name, enum phase *phase)
{
    static const char optimizer[] = "Optimizer.step#";

    for (int i = 0; i < PHASE_COUNT; i++) {
        *phase = (enum phase)i;
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    *phase = strncmp(name, optimizer, sizeof optimizer - 1) == 0 ? PHASE_OPTIMIZER
             : name_is_logging(name)                             ? PHASE_LOG
             : name_is_saving(name)                              ? PHASE_SAVE
                                                                 : PHASE_DATA;
    return *phase != PHASE_DATA || name_is_data_loading(name);
}

/* Whether it is an annotation of that thread; in 2021 they were filed under operators. */
static bool is_annotation(const struct trace_event *event, uint32_t track)
{
    return event->track == track &&
           (event->kind == EVENT_KIND_ANNOTATION || event->kind == EVENT_KIND_OPERATOR);
}

static void find_times(struct phases *phases, struct arena *arena, const struct trace_file *trace,
                       uint32_t track)
{
    SCRATCH_ARENA(scratch, arena);
    uint32_t count = trace_file_name_count(trace);
    enum phase *of_name = ARENA_NEW(scratch, enum phase, count); /* PHASE_COUNT: of none */

    for (uint32_t i = 0; i < count; i++)
        if (!phase_of_name(trace_file_name(trace, i), &of_name[i]))
            of_name[i] = PHASE_COUNT;
    for (int i = 0; i < PHASE_COUNT; i++) phases->times[i].arena = arena;
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (is_annotation(event, track) && of_name[event->name] != PHASE_COUNT)
            intervals_add(&phases->times[of_name[event->name]], event->start_ns, event->end_ns);
    }
    for (int i = 0; i < PHASE_COUNT; i++) intervals_merge(&phases->times[i]);
    if (phases->closures.times.count > 0) {
        struct intervals own = { .arena = arena };
        intervals_without(&own, &phases->times[PHASE_OPTIMIZER], &phases->closures.times);
        phases->times[PHASE_OPTIMIZER] = own;
    }
}

/* How often the phase began in each step. */
static void count_times(struct phases *phases, uint32_t track, const struct steps *steps, int phase)
{
    const struct intervals *times = &phases->times[phase];

    for (int64_t i = 0; i < times->count; i++) {
        int64_t step = steps_find(steps, times->items[i].start_ns);
        if (step >= 0 && steps->items[step].event->track == track)
            phases->steps[step][phase].times++;
    }
}

static void take_work(struct phases *phases, uint32_t track, int64_t step, const struct work *work)
{
    for (int i = 0; i < PHASE_COUNT; i++) {
        struct phase_usage *usage = &phases->steps[step][i];
        if ((work->call->track != track && i != PHASE_BACKWARD) ||
            !intervals_contain(&phases->times[i], work->call->start_ns))
            continue;
        usage->device_ns =
            intervals_sum_ns(usage->device_ns, work->event->end_ns - work->event->start_ns);
        usage->work_count++;
    }
}

struct phases phases_of(struct arena *arena, const struct timeline *timeline,
                        const struct steps *steps)
{
    struct phases phases = { .closures = closures_of(arena, timeline), .step_count = steps->count };
    uint32_t track = steps->count > 0 ? steps->items[0].event->track : 0;

    phases.steps = arena_alloc(arena, steps->count, sizeof *phases.steps);
    if (steps->count == 0)
        return phases;
    find_times(&phases, arena, timeline->trace, track);
    for (int i = 0; i < PHASE_COUNT; i++) {
        phases.seen[i] = phases.times[i].count > 0;
        for (int64_t step = 0; step < steps->count; step++)
            if (steps->items[step].event->track == track)
                phases.steps[step][i].host_ns =
                    intervals_within_ns(&phases.times[i], steps->items[step].event->start_ns,
                                        steps->items[step].event->end_ns);
        count_times(&phases, track, steps, i);
    }
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        int64_t step = work->call != NULL ? steps_find(steps, work->call->start_ns) : -1;
        if (step >= 0 && steps->items[step].event->track == track)
            take_work(&phases, track, step, work);
    }
    for (int64_t step = 0; step < phases.step_count; step++)
        for (int i = 0; i < PHASE_COUNT; i++) {
            const struct phase_usage *usage = &phases.steps[step][i];
            phases.means[i].host_ns += (double)usage->host_ns / (double)phases.step_count;
            phases.means[i].device_ns += (double)usage->device_ns / (double)phases.step_count;
            phases.means[i].work_count += (double)usage->work_count / (double)phases.step_count;
        }
    return phases;
}
