/* Phases: named intervals of a host thread, kept as a stack per thread while somebody records. */
#include "harness/base/clock.h"
#include "harness/device/cpu/trace.h"

enum { DEPTH = 64 }; /* deeper phases are not recorded */

static _Thread_local struct {
    const char *name;
    int64_t start_ns;
} open_phases[DEPTH];
static _Thread_local int depth;

void cpu_phase_push(struct device *base, const char *name)
{
    if (!trace_is_on((struct cpu_device *)base))
        return;
    if (depth < DEPTH) {
        open_phases[depth].name = name;
        open_phases[depth].start_ns = clock_ns();
    }
    depth++;
}

void cpu_phase_pop(struct device *base)
{
    struct cpu_device *device = (struct cpu_device *)base;
    struct activity activity = { .kind = ACTIVITY_PHASE };

    if (!trace_is_on(device) || depth == 0 || --depth >= DEPTH)
        return;
    activity.name = open_phases[depth].name;
    activity.start_ns = open_phases[depth].start_ns;
    activity.end_ns = clock_ns();
    activity.thread = trace_thread();
    device->sink.record(device->sink.context, &activity);
}
