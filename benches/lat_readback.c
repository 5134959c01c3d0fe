/* What it costs to read one number that a kernel has just written: a loss, say. */
#include "benches/tiny_kernel.h"

struct own {
    struct tiny_kernel kernel;
    float read;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++) {
        TRY(tiny_kernel_launch(&own->kernel, work));
        TRY(device_copy(work->stream, COPY_DEVICE_TO_HOST, &own->read, own->kernel.sum.device,
                        sizeof own->read));
    }

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum { LAUNCHES = 2 };
    enum status status = STATUS_OK;
    struct own *own = work->own;

    TRY(tiny_kernel_open(&own->kernel, work, ROW_MULTIPLE));
    TRY(run(work, LAUNCHES));
    TRY(tiny_kernel_check(&own->kernel, work, LAUNCHES));
    TRY(value_check("a number that was read back", 0, (double)own->read,
                    operand_value(&own->kernel.sum, 0), 0));

out:
    return status;
}

const struct bench bench_lat_readback = {
    .name = "lat_readback",
    .text = "one launch of a tiny kernel, and a blocking copy of 4 bytes of its result",
    .own_bytes = sizeof(struct own),
    .set_up = set_up,
    .run = run,
};
