/* Products of large matrices run until the time is over; their result is not used. */
#include "harness/bench/clocks.h"

#include "harness/base/clock.h"

enum { SIDE = 2048 }; /* fp32 products of this size fill every GPU; 16 MiB per matrix */

#define RAISE_SECONDS 0.2

enum status clocks_raise(struct device *device)
{
    struct gemm gemm = { .m = SIDE,
                         .n = SIDE,
                         .k = SIDE,
                         .batch = 1,
                         .lda = SIDE,
                         .ldb = SIDE,
                         .ldc = SIDE,
                         .dtype_ab = DTYPE_F32,
                         .dtype_c = DTYPE_F32,
                         .math = MATH_STRICT };
    size_t bytes = (size_t)2 * SIDE * SIDE * sizeof(float);
    struct stream *stream = NULL;
    void *matrices = NULL;
    enum status status = STATUS_OK;

    if (!device_properties(device)->clocks_rise_with_work)
        return STATUS_OK;
    TRY_OUT(stream_create(device, &stream));
    TRY_OUT(device_alloc(device, NULL, ALLOCATE_DIRECT, bytes, &matrices));
    TRY_OUT(device_memset(stream, matrices, 0, bytes));
    gemm.c = matrices;
    gemm.a = gemm.b = (float *)matrices + SIDE * SIDE;
    /* Waits for each product, so that the queue stays short and the time is not overrun by much. */
    for (int64_t begin_ns = clock_ns(); (double)(clock_ns() - begin_ns) < RAISE_SECONDS * 1e9;) {
        TRY_OUT(device_gemm(stream, &gemm));
        TRY_OUT(stream_synchronize(stream));
    }
    TRY_OUT(device_free(device, NULL, ALLOCATE_DIRECT, matrices));
    matrices = NULL;

out:
    if (matrices != NULL)
        device_free(device, NULL, ALLOCATE_DIRECT, matrices);
    stream_destroy(stream);
    if (status != STATUS_OK)
        status_context("raising the clocks");
    return status;
}
