/* The phases that a thread is in, for traces. The stack belongs to the thread, so it needs no lock;
 * a phase is recorded when it ends. */
#include "harness/device/plugin/phase_stack.h"

#include "harness/base/clock.h"

#include <unistd.h>

enum { DEPTH = 64 }; /* deeper phases are not recorded */

static _Thread_local struct {
    const char *name;
    int64_t start_ns;
} open_phases[DEPTH];
static _Thread_local int depth;

uint32_t phase_stack_thread(void)
{
    static _Thread_local uint32_t thread;

    if (thread == 0)
        thread = (uint32_t)gettid();
    return thread;
}

/* Beyond DEPTH phases are only counted, so that each pop still meets its push. */
void phase_stack_push(const struct activity_sink *sink, const char *name)
{
    if (sink->record == NULL)
        return;
    if (depth < DEPTH) {
        open_phases[depth].name = name;
        open_phases[depth].start_ns = clock_ns();
    }
    depth++;
}

void phase_stack_pop(const struct activity_sink *sink)
{
    struct activity activity = { .kind = ACTIVITY_PHASE };

    if (sink->record == NULL || depth == 0 || --depth >= DEPTH)
        return;
    activity.name = open_phases[depth].name;
    activity.start_ns = open_phases[depth].start_ns;
    activity.end_ns = clock_ns();
    activity.thread = phase_stack_thread();
    sink->record(sink->context, &activity);
}
