/* Kernel launches. The table of kernels is made from the one list in kernels.h; the functions are
 * built from kernels/, once per storage type.
 *
 * A kernel runs whole on its stream's one worker: the CPU device has one multiprocessor per
 * stream. */
#include "harness/device/cpu/cpu.h"

#include <string.h>

#define DECLARE(name, shape, ...) kernel_fn name##_f32, name##_bf16, name##_f16;
KERNELS(DECLARE)
#undef DECLARE

static const struct cpu_kernel kernels[KERNEL_COUNT][DTYPE_COUNT] = {
#define ROW(name, shape, ...)                                                                      \
    {                                                                                              \
        [DTYPE_F32] = { name##_f32, #name "_f32" },                                                \
        [DTYPE_BF16] = { name##_bf16, #name "_bf16" },                                             \
        [DTYPE_F16] = { name##_f16, #name "_f16" },                                                \
    },
    KERNELS(ROW)
#undef ROW
};

static enum status run_kernel(struct cpu_stream *stream, const struct item *item)
{
    const struct kernel_item *kernel = &item->kernel;

    (void)stream;
    kernel->kernel->run(kernel->arguments, 0, kernel->count);
    return STATUS_OK;
}

static void show_kernel(const struct cpu_stream *stream, const struct item *item,
                        struct activity *activity)
{
    (void)stream;
    activity->kind = ACTIVITY_KERNEL;
    activity->name = item->kernel.kernel->name;
    activity->grid[0] = (uint32_t)item->kernel.count;
    activity->grid[1] = activity->grid[2] = 1;
    activity->block[0] = activity->block[1] = activity->block[2] = 1;
}

static const struct cpu_work kernel_work = { .run = run_kernel, .show = show_kernel };

static enum status run_failing_kernel(struct cpu_stream *stream, const struct item *item)
{
    (void)item;
    FAIL(STATUS_DEVICE_ERROR, "a kernel on stream %u failed: injected by CHOKEPOINT_FAIL=kernel",
         stream->id);
}

static void show_failing_kernel(const struct cpu_stream *stream, const struct item *item,
                                struct activity *activity)
{
    (void)stream;
    (void)item;
    activity->kind = ACTIVITY_KERNEL;
    activity->name = "injected_failure";
}

static const struct cpu_work failing_work = { .run = run_failing_kernel,
                                              .show = show_failing_kernel };

enum status cpu_launch(struct stream *base, enum kernel kernel, enum dtype dtype, long count,
                       const void *arguments, size_t size)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);
    bool fails = kernel == (enum kernel)DRIVER_KERNEL_FAILS;
    struct item *item;

    TRY_OUT(stream_claim(stream, &item));
    item->work = fails ? &failing_work : &kernel_work;
    item->correlation = call.correlation;
    if (!fails) {
        item->kernel.kernel = &kernels[kernel][dtype];
        item->kernel.count = count;
        /* A copy, as CUDA makes one: the caller's may be gone when the worker gets to it. */
        memcpy(item->kernel.arguments, arguments, size);
    }
    stream_submit(stream);

out:
    call_end(device, &call, "cudaLaunchKernel");
    return status;
}
