/* What it costs to allocate N bytes of device memory and free them: directly, which on freeing waits for
 * the device, and in the stream's order from a pool that keeps memory. The memory is not touched. */
#include "harness/bench/bench.h"

#include <inttypes.h>

struct own {
    enum allocation how;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    const struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++) {
        void *memory;
        TRY(device_alloc(work->device, work->stream, own->how, (size_t)work->argument, &memory));
        TRY(device_free(work->device, work->stream, own->how, memory));
    }
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

/* The memory is there: it counts as used, and its last bytes keep what is written to them. */
static enum status check(struct bench_work *work, void *memory, int64_t used_before)
{
    enum { LAST = 64 };
    enum status status = STATUS_OK;
    struct memory_info info;
    unsigned char read[LAST];

    TRY(device_memory_info(work->device, &info));
    if (info.used - used_before < work->argument)
        FAIL(STATUS_INTERNAL, "after an allocation of %" PRId64 " bytes, %" PRId64 " more are used",
             work->argument, info.used - used_before);
    TRY(device_memset(work->stream, memory, 0x5a, (size_t)work->argument));
    TRY(device_copy(work->stream, COPY_DEVICE_TO_HOST, read, (char *)memory + work->argument - LAST,
                    LAST));
    for (int i = 0; i < LAST; i++)
        if (read[i] != 0x5a)
            FAIL(STATUS_INTERNAL, "memory that was set to 0x5a holds 0x%02x", read[i]);

out:
    return status;
}

static enum status set_up(struct bench_work *work, enum allocation how)
{
    enum status status = STATUS_OK, freed;
    struct own *own = work->own;
    struct memory_info info;
    void *memory = NULL;

    own->how = how;
    TRY(device_memory_info(work->device, &info));
    TRY(device_alloc(work->device, work->stream, how, (size_t)work->argument, &memory));
    status = check(work, memory, info.used);
    freed = device_free(work->device, work->stream, how, memory);
    TRY(status != STATUS_OK ? status : freed);

out:
    return status;
}

static enum status set_up_direct(struct bench_work *work)
{
    return set_up(work, ALLOCATE_DIRECT);
}

static enum status set_up_stream(struct bench_work *work)
{
    return set_up(work, ALLOCATE_STREAM_ORDERED);
}

const struct bench bench_lat_alloc_direct = {
    .name = "lat_alloc_direct",
    .text = "N bytes allocated and freed, as cudaMalloc and cudaFree do",
    .arguments = { 4096, 1 << 20, 64 << 20 },
    .own_bytes = sizeof(struct own),
    .set_up = set_up_direct,
    .run = run,
};

const struct bench bench_lat_alloc_stream = {
    .name = "lat_alloc_stream",
    .text = "N bytes allocated and freed, as cudaMallocAsync and cudaFreeAsync do",
    .arguments = { 4096, 1 << 20, 64 << 20 },
    .own_bytes = sizeof(struct own),
    .set_up = set_up_stream,
    .run = run,
};
