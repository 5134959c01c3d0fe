/* How fast a kernel reads and writes device memory: y = a + b of N elements, 12 bytes each.
 *
 * The smaller sizes stay in a cache between iterations. The largest, 384 MiB, is larger than most
 * last-level caches: each iteration finds what it reads cold. */
#include "benches/tensor.h"

struct own {
    struct tensor y, a, b;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++)
        TRY(LAUNCH(work->stream, DTYPE_F32, residual_add, work->argument, .y = own->y.device,
                   .a = own->a.device, .b = own->b.device));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    TRY(tensor_open(&own->y, work, work->argument));
    TRY(tensor_open(&own->a, work, work->argument));
    TRY(tensor_open(&own->b, work, work->argument));
    TRY(run(work, 1));
    TRY(tensor_read(&own->y, work));
    for (int64_t i = 0; i < work->argument; i++)
        TRY(tensor_check("a sum", i, (double)own->y.host[i],
                         (double)own->a.host[i] + (double)own->b.host[i], 1e-6));
    work->bytes = 3 * work->argument * (int64_t)sizeof(float);

out:
    return status;
}

static void tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    tensor_release(&own->y, work);
    tensor_release(&own->a, work);
    tensor_release(&own->b, work);
}

const struct bench bench_bw_memory = {
    .name = "bw_memory",
    .text = "the sum of two tensors of N fp32 elements: two reads and a write of each",
    .arguments = { 1 << 14, 1 << 18, 1 << 22, 1 << 25 },
    .own_bytes = sizeof(struct own),
    .set_up = set_up,
    .run = run,
    .tear_down = tear_down,
};
