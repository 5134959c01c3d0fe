/* What it costs to read one number that a kernel has just written: a loss, say. */
#include "benches/tensor.h"

struct own {
    struct tensor sum, term;
    float read;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++) {
        TRY(LAUNCH(work->stream, DTYPE_F32, residual_add, ROW_MULTIPLE, .y = own->sum.device,
                   .a = own->sum.device, .b = own->term.device));
        TRY(device_copy(work->stream, COPY_DEVICE_TO_HOST, &own->read, own->sum.device,
                        sizeof own->read));
    }

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    TRY(tensor_open(&own->sum, work, ROW_MULTIPLE));
    TRY(tensor_open(&own->term, work, ROW_MULTIPLE));
    TRY(run(work, 2));
    TRY(tensor_check("a number that was read back", 0, (double)own->read,
                     (double)own->sum.host[0] + 2 * (double)own->term.host[0], 1e-6));

out:
    return status;
}

static void tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    tensor_release(&own->sum, work);
    tensor_release(&own->term, work);
}

const struct bench bench_lat_readback = {
    .name = "lat_readback",
    .text = "one launch of a tiny kernel, and a blocking copy of 4 bytes of its result",
    .own_bytes = sizeof(struct own),
    .set_up = set_up,
    .run = run,
    .tear_down = tear_down,
};
