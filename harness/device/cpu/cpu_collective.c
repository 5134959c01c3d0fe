/* Communication between ranks on the CPU device. Collectives: the worker of the stream calls the
 * plugin that connects the ranks, and the operation lasts until that returns, waiting for other
 * ranks included, as NCCL's kernels do. */
#include "harness/device/cpu/cpu.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    TURN_NS = 100000,      /* the least that Linux takes */
    TIMER_SLACK_NS = 1000, /* Linux adds up to 50 us to the rests of a wait otherwise. */
};

static const char *const names[] = {
#define NAME(id, name) [COLLECTIVE_##id] = name,
    COLLECTIVES(NAME)
#undef NAME
};

/* NCCL's, whose types follow enum dtype. */
#define ADDING(operation)                                                                          \
    {                                                                                              \
        "ncclDevKernel_" operation "_Sum_f32_RING_LL",                                             \
            "ncclDevKernel_" operation "_Sum_bf16_RING_LL",                                        \
            "ncclDevKernel_" operation "_Sum_f16_RING_LL"                                          \
    }
#define MOVING(operation)                                                                          \
    {                                                                                              \
        "ncclDevKernel_" operation "_RING_LL", "ncclDevKernel_" operation "_RING_LL",              \
            "ncclDevKernel_" operation "_RING_LL"                                                  \
    }
#define MESSAGE                                                                                    \
    {                                                                                              \
        "ncclDevKernel_SendRecv", "ncclDevKernel_SendRecv", "ncclDevKernel_SendRecv"               \
    }
static const char *const kernels[COLLECTIVE_COUNT][DTYPE_COUNT] = {
    [COLLECTIVE_ALL_REDUCE] = ADDING("AllReduce"),
    [COLLECTIVE_REDUCE_SCATTER] = ADDING("ReduceScatter"),
    [COLLECTIVE_ALL_GATHER] = MOVING("AllGather"),
    [COLLECTIVE_BROADCAST] = MOVING("Broadcast"),
    [COLLECTIVE_ALL_TO_ALL] = MESSAGE,
    [COLLECTIVE_SEND] = MESSAGE,
    [COLLECTIVE_RECV] = MESSAGE,
    [COLLECTIVE_SEND_RECV] = MESSAGE,
};

/* Other workers never interrupt a thread that runs (stream.c). One that waits for a message must,
 * or every message would cost a turn of the scheduler on both sides. From Linux 6.12 on a thread
 * that asks for short turns (sched(7), sched_runtime) may do so; before, one that works little
 * may. */
static void wake_at_once(struct cpu_stream *stream)
{
    const struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } wanted = { .size = sizeof wanted, .policy = SCHED_OTHER, .runtime = TURN_NS };

    syscall(SYS_sched_setattr, 0, &wanted, 0);
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    stream->communicates = true;
}

static enum status run_collective(struct cpu_stream *stream, const struct item *item)
{
    const struct cpu_device *device = (struct cpu_device *)stream->base.device;

    if (!stream->communicates)
        wake_at_once(stream);
    return device->ranks->run(RANKS_DEVICES, &item->collective) == STATUS_OK ? STATUS_OK
                                                                             : status_fetch();
}

static void show_collective(const struct cpu_stream *stream, const struct item *item,
                            struct activity *activity)
{
    const struct collective *collective = &item->collective;

    (void)stream;
    activity->kind = ACTIVITY_KERNEL;
    activity->name = kernels[collective->kind][collective->dtype];
    activity->bytes = collective->count * (int64_t)dtype_bytes(collective->dtype);
    activity->grid[0] = activity->grid[1] = activity->grid[2] = 1;
    activity->block[0] = activity->block[1] = activity->block[2] = 1;
    activity->collective = names[collective->kind];
    activity->dtype = collective->dtype;
}

static const struct cpu_work collective_work = { .run = run_collective, .show = show_collective };

enum status cpu_collective(struct stream *base, const struct collective *collective)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);
    struct item *item;

    TRY_OUT(capture_forbids(&stream->capture, "a collective"));
    TRY_OUT(stream_claim(stream, &item));
    item->work = &collective_work;
    item->correlation = call.correlation;
    item->collective = *collective;
    stream_submit(stream);

out:
    call_end(device, &call, "cudaLaunchKernelExC");
    return status;
}
