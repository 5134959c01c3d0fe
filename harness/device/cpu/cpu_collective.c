/* Collectives: the worker of the stream calls the plugin that connects the ranks, and the operation lasts until
 * that returns, waiting for other ranks included, as NCCL's kernels do. */
#include "harness/device/cpu/trace.h"

static const char *const names[] = {
#define NAME(id, name, kernel) [COLLECTIVE_##id] = name,
    COLLECTIVES(NAME)
#undef NAME
};

static const char *const kernels[] = {
#define KERNEL_NAME(id, name, kernel) [COLLECTIVE_##id] = kernel,
    COLLECTIVES(KERNEL_NAME)
#undef KERNEL_NAME
};

static enum status run_collective(struct cpu_stream *stream, const struct item *item)
{
    const struct cpu_device *device = (struct cpu_device *)stream->base.device;

    return device->ranks->run(RANKS_DEVICES, &item->collective);
}

static void show_collective(const struct cpu_stream *stream, const struct item *item,
                            struct activity *activity)
{
    const struct collective *collective = &item->collective;

    (void)stream;
    activity->kind = ACTIVITY_KERNEL;
    activity->name = kernels[collective->kind];
    activity->bytes = collective->count * (int64_t)sizeof *collective->data;
    activity->grid[0] = activity->grid[1] = activity->grid[2] = 1;
    activity->block[0] = activity->block[1] = activity->block[2] = 1;
    activity->collective = names[collective->kind];
}

static const struct cpu_work collective_work = { .run = run_collective, .show = show_collective };

enum status cpu_collective(struct stream *base, const struct collective *collective)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);
    struct item *item;

    TRY(capture_forbids(&stream->capture, "a collective"));
    TRY(stream_claim(stream, &item));
    item->work = &collective_work;
    item->correlation = call.correlation;
    item->collective = *collective;
    stream_submit(stream);

out:
    call_end(device, &call, "cudaLaunchKernelExC");
    return status;
}
