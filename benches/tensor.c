#include "benches/tensor.h"

#include <inttypes.h>
#include <math.h>

enum status tensor_open(struct tensor *tensor, struct bench_work *work, int64_t count)
{
    enum status status = STATUS_OK;
    size_t bytes = (size_t)count * sizeof(float);
    void *device, *host;

    TRY(device_alloc(work->device, NULL, ALLOCATE_DIRECT, bytes, &device));
    tensor->device = device;
    TRY(host_alloc(work->device, true, bytes, &host));
    tensor->host = host;
    tensor->count = count;
    for (int64_t i = 0; i < count; i++) tensor->host[i] = 2 * random_uniform(&work->random) - 1;
    TRY(device_copy(work->stream, COPY_HOST_TO_DEVICE, tensor->device, tensor->host, bytes));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

void tensor_release(struct tensor *tensor, struct bench_work *work)
{
    device_free(work->device, NULL, ALLOCATE_DIRECT, tensor->device);
    host_free(work->device, true, tensor->host);
    *tensor = (struct tensor){ .count = 0 };
}

enum status tensor_read(struct tensor *tensor, struct bench_work *work)
{
    return device_copy(work->stream, COPY_DEVICE_TO_HOST, tensor->host, tensor->device,
                       (size_t)tensor->count * sizeof(float));
}

enum status tensor_check(const char *what, int64_t index, double value, double expected,
                         double limit)
{
    enum status status = STATUS_OK;

    if (!(fabs(value - expected) <= limit))
        FAIL(STATUS_INTERNAL, "%s computes wrongly: element %" PRId64 " is %.9g, not %.9g", what,
             index, value, expected);

out:
    return status;
}
