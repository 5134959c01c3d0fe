/* Phases: NVTX ranges, which nsys and ncu show, and records for the sink if there is one. Without a
 * tool in the process an NVTX call is a test of a pointer. */
#include "harness/base/clock.h"
#include "harness/device/cuda/cuda.h"

#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

enum { DEPTH = 64 }; /* deeper phases are not recorded */

static _Thread_local struct {
    const char *name;
    int64_t start_ns;
} open_phases[DEPTH];
static _Thread_local int depth;

static uint32_t thread_id(void)
{
    static _Thread_local uint32_t thread;

    if (thread == 0)
        thread = (uint32_t)gettid();
    return thread;
}

void cuda_phase_push(struct device *base, const char *name)
{
    nvtxRangePushA(name);
    if (((struct cuda_device *)base)->sink.record == NULL)
        return;
    if (depth < DEPTH) {
        open_phases[depth].name = name;
        open_phases[depth].start_ns = clock_ns();
    }
    depth++;
}

void cuda_phase_pop(struct device *base)
{
    const struct activity_sink *sink = &((struct cuda_device *)base)->sink;
    struct activity activity = { .kind = ACTIVITY_PHASE };

    nvtxRangePop();
    if (sink->record == NULL || depth == 0 || --depth >= DEPTH)
        return;
    activity.name = open_phases[depth].name;
    activity.start_ns = open_phases[depth].start_ns;
    activity.end_ns = clock_ns();
    activity.thread = thread_id();
    sink->record(sink->context, &activity);
}
