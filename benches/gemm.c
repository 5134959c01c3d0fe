/* How fast square fp32 matrices of N rows are multiplied, in strict fp32. */
#include "benches/tensor.h"

#include <math.h>

struct own {
    struct tensor c, a, b;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;
    int n = (int)work->argument;
    const struct gemm gemm = {
        .c = own->c.device,
        .a = own->a.device,
        .b = own->b.device,
        .m = n,
        .n = n,
        .k = n,
        .batch = 1,
        .lda = n,
        .ldb = n,
        .ldc = n,
        .dtype_ab = DTYPE_F32,
        .dtype_c = DTYPE_F32,
        .math = MATH_STRICT,
    };

    for (int64_t i = 0; i < iterations; i++) TRY(device_gemm(work->stream, &gemm));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

/* Some elements, drawn at random, against the sum in double precision. Each of k additions in fp32 is
 * off by at most half a unit in the last place of the sum so far, which is of the size of sqrt(k) / 3:
 * so k * sqrt(k) / 3 * 2^-24, the standard deviation of a product being a third, is a limit that only a
 * wrong product passes. */
static enum status check(struct bench_work *work)
{
    enum { SAMPLES = 64 };
    enum status status = STATUS_OK;
    const struct own *own = work->own;
    int64_t n = work->argument;

    for (int i = 0; i < SAMPLES; i++) {
        int64_t row = random_below(&work->random, (uint32_t)n);
        int64_t column = random_below(&work->random, (uint32_t)n);
        double sum = 0;
        for (int64_t k = 0; k < n; k++)
            sum += (double)own->a.host[row * n + k] * (double)own->b.host[k * n + column];
        TRY(tensor_check("a matrix product", row * n + column,
                         (double)own->c.host[row * n + column], sum,
                         0x1p-24 * (double)n * fmax(1, sqrt((double)n) / 3)));
    }

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;
    int64_t elements = work->argument * work->argument;

    TRY(tensor_open(&own->c, work, elements));
    TRY(tensor_open(&own->a, work, elements));
    TRY(tensor_open(&own->b, work, elements));
    TRY(run(work, 1));
    TRY(tensor_read(&own->c, work));
    TRY(check(work));
    work->flops = 2 * elements * work->argument;
    work->bytes = 3 * elements * (int64_t)sizeof(float);

out:
    return status;
}

static void tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    tensor_release(&own->c, work);
    tensor_release(&own->a, work);
    tensor_release(&own->b, work);
}

const struct bench bench_gemm = {
    .name = "gemm",
    .text = "the product of two N by N matrices in fp32",
    .arguments = { 64, 256, 1024 },
    .own_bytes = sizeof(struct own),
    .set_up = set_up,
    .run = run,
    .tear_down = tear_down,
};
