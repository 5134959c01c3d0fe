/* Records of the CPU device's activity, as CUPTI gives those of a GPU. A record is made when the
 * call ends, on the thread that made it; its correlation was taken when it began, so that device
 * work queued within it can refer to it. */
#include "harness/device/cpu/cpu.h"

#include "harness/base/clock.h"
#include "harness/device/plugin/phase_stack.h"

/* Without a sink the correlation stays 0, by which the others see that nobody records. */
struct call call_begin(struct cpu_device *device)
{
    struct call call = { 0 };

    if (device->sink.record != NULL) {
        call.correlation = atomic_fetch_add(&device->last_correlation, 1) + 1;
        call.start_ns = clock_ns();
    }
    return call;
}

/* The record of the call, which ends now. */
static struct activity runtime_record(const struct call *call, const char *name)
{
    return (struct activity){
        .kind = ACTIVITY_RUNTIME,
        .name = name,
        .start_ns = call->start_ns,
        .end_ns = clock_ns(),
        .thread = phase_stack_thread(),
        .correlation = call->correlation,
    };
}

void call_end(struct cpu_device *device, const struct call *call, const char *name)
{
    struct activity activity;

    if (call->correlation == 0)
        return;
    activity = runtime_record(call, name);
    device->sink.record(device->sink.context, &activity);
}

void call_end_waiting(struct cpu_device *device, const struct call *call, const char *name,
                      const char *wait_name, const struct cpu_stream *stream)
{
    struct activity activity;

    if (call->correlation == 0)
        return;
    activity = runtime_record(call, name);
    device->sink.record(device->sink.context, &activity);
    activity.kind = ACTIVITY_SYNCHRONIZATION;
    activity.name = wait_name;
    activity.stream = stream != NULL ? stream->id : 0;
    device->sink.record(device->sink.context, &activity);
}

void trace_memory(struct cpu_device *device, const struct call *call, const void *memory,
                  int64_t bytes, enum activity_memory kind, bool stream_ordered)
{
    struct activity activity;

    if (call->correlation == 0)
        return;
    activity = (struct activity){
        .kind = ACTIVITY_MEMORY,
        .name = "[memory]", /* as PyTorch's profiler calls it */
        .start_ns = call->start_ns,
        .end_ns = call->start_ns,
        .thread = phase_stack_thread(),
        .correlation = call->correlation,
        .bytes = bytes,
        .address = (uint64_t)(uintptr_t)memory,
        .asynchronous = stream_ordered,
        .destination = kind,
    };
    device->sink.record(device->sink.context, &activity);
}
