/* Opens the device once more with a sink and counts the records of a few launches. */
#include "harness/lab/doctor/doctor.h"

#include "harness/device/device.h"

#include <stdatomic.h>

enum { LAUNCHES = 10 };

static void count_kernels(void *context, const struct activity *activity)
{
    atomic_int *kernels = context;

    if (activity->kind == ACTIVITY_KERNEL)
        atomic_fetch_add(kernels, 1);
}

/* Sums of zeros: numerics.c checks results. */
static enum status launch(struct device *device)
{
    enum status status = STATUS_OK;
    struct stream *stream = NULL;
    void *memory = NULL;

    TRY_OUT(stream_create(device, &stream));
    TRY_OUT(device_alloc(device, NULL, ALLOCATE_DIRECT, ROW_MULTIPLE * sizeof(float), &memory));
    TRY_OUT(device_memset(stream, memory, 0, ROW_MULTIPLE * sizeof(float)));
    for (int i = 0; i < LAUNCHES; i++)
        TRY_OUT(LAUNCH(stream, DTYPE_F32, residual_add, ROW_MULTIPLE, .y = memory, .a = memory,
                       .b = memory));
    TRY_OUT(stream_synchronize(stream));
    TRY_OUT(device_activity_flush(device));

out:
    if (memory != NULL)
        device_free(device, NULL, ALLOCATE_DIRECT, memory);
    stream_destroy(stream);
    return status;
}

void recording_check(struct checks *checks, const char *name)
{
    enum status status = STATUS_OK;
    struct device *device = NULL;
    atomic_int kernels = 0;
    const struct device_options options = {
        .spin_ns = -1,
        .sink = { .record = count_kernels, .context = &kernels },
    };

    checks->group = "tracing";
    TRY_OUT(device_open(&device, name, &options));
    TRY_OUT(launch(device));
    checks_number(checks, kernels, LAUNCHES, "kernels");
    checks_add(
        checks, "tracing", kernels == LAUNCHES ? CHECK_OK : CHECK_FAIL, "all kernels",
        "traces would miss kernels: see gpu_driver, and whether another profiler is attached",
        "%d of %d kernels recorded", kernels, LAUNCHES);

out:
    if (status != STATUS_OK)
        checks_add(checks, "tracing", CHECK_FAIL, "all kernels", status_last()->text, "failed");
    device_close(device);
}
