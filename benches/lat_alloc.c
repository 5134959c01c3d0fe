/* The cost of allocating and freeing N bytes of device memory: directly, which on freeing waits for
 * the device; in the stream's order from a pool that keeps memory; and from the training step's
 * caching allocator, which asks the device only once. The memory is not touched. */
#include "benches/parts/operand.h"
#include "harness/engine/memory/allocator.h"

#include <inttypes.h>

struct own {
    enum allocation_mode mode;
    struct allocator *allocator; /* caching only */
};

static enum status alloc_take(struct bench_work *work, void **block)
{
    const struct own *own = work->own;
    size_t bytes = (size_t)work->argument;

    if (own->mode == ALLOCATION_CACHING)
        return allocator_alloc(own->allocator, MEMORY_WORKSPACE, bytes, block);
    return device_alloc(work->device, work->stream,
                        own->mode == ALLOCATION_DIRECT ? ALLOCATE_DIRECT : ALLOCATE_STREAM_ORDERED,
                        bytes, block);
}

static enum status give_back(struct bench_work *work, void *block)
{
    const struct own *own = work->own;

    if (own->mode == ALLOCATION_CACHING)
        return allocator_free(own->allocator, block);
    return device_free(work->device, work->stream,
                       own->mode == ALLOCATION_DIRECT ? ALLOCATE_DIRECT : ALLOCATE_STREAM_ORDERED,
                       block);
}

static enum status alloc_run(struct bench_work *work, int64_t iterations)
{
    for (int64_t i = 0; i < iterations; i++) {
        void *block;
        TRY(alloc_take(work, &block));
        TRY(give_back(work, block));
    }
    return stream_synchronize(work->stream);
}

/* The memory is there: it counts as used, and its last bytes keep what is written to them. */
static enum status alloc_check(struct bench_work *work, void *block, int64_t used_before)
{
    enum { LAST = 64 };
    struct memory_info info;
    unsigned char read[LAST];

    TRY(device_memory_info(work->device, &info));
    if (info.used - used_before < work->argument)
        FAIL(STATUS_INTERNAL, "after an allocation of %" PRId64 " bytes, %" PRId64 " more are used",
             work->argument, info.used - used_before);
    TRY(device_memset(work->stream, block, 0x5a, (size_t)work->argument));
    TRY(device_copy(work->stream, COPY_DEVICE_TO_HOST, read, (char *)block + work->argument - LAST,
                    LAST));
    for (int i = 0; i < LAST; i++)
        TRY(value_check("memory", work->argument - LAST + i, read[i], 0x5a, 0));

    return STATUS_OK;
}

static enum status alloc_set_up(struct bench_work *work)
{
    enum status status = STATUS_OK, freed;
    struct own *own = work->own;
    struct memory_info info;
    void *block;

    own->mode = (enum allocation_mode)work->bench->variant;
    TRY_OUT(device_memory_info(work->device, &info));
    if (own->mode == ALLOCATION_CACHING)
        TRY_OUT(allocator_open(&own->allocator, work->stream,
                               &(struct allocator_config){ .mode = ALLOCATION_CACHING }));
    TRY_OUT(alloc_take(work, &block));
    status = alloc_check(work, block, info.used);
    /* The block is given back even if its check failed; then that failure is the one to report. */
    freed = give_back(work, block);
    TRY_OUT(status != STATUS_OK ? status : freed);

out:
    return status;
}

static void alloc_tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    allocator_close(own->allocator);
}

#define LAT_ALLOC(name_, text_, mode_)                                                             \
    const struct bench bench_lat_alloc_##name_ = {                                                 \
        .name = "lat_alloc_" #name_,                                                               \
        .text = text_,                                                                             \
        .variant = mode_,                                                                          \
        .arguments = { 4096, 1 << 20, 64 << 20 },                                                  \
        .own_bytes = sizeof(struct own),                                                           \
        .set_up = alloc_set_up,                                                                    \
        .run = alloc_run,                                                                          \
        .tear_down = alloc_tear_down,                                                              \
    }

LAT_ALLOC(direct, "N bytes allocated and freed, as cudaMalloc and cudaFree do", ALLOCATION_DIRECT);
LAT_ALLOC(stream, "N bytes allocated and freed, as cudaMallocAsync and cudaFreeAsync do",
          ALLOCATION_STREAM_ORDERED);
LAT_ALLOC(caching, "N bytes taken from the step's caching allocator and given back",
          ALLOCATION_CACHING);
