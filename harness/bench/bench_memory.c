/* Blocks are noted in the work, so that whatever fails in a set-up, all of them are freed. */
#include "harness/bench/bench.h"

enum status bench_alloc(struct bench_work *work, enum bench_memory where, size_t bytes,
                        void **memory)
{
    *memory = NULL;
    if (work->block_count == BENCH_BLOCKS)
        FAIL(STATUS_INTERNAL, "a bench allocates more than %d blocks of memory", BENCH_BLOCKS);
    if (where == BENCH_DEVICE)
        TRY(device_alloc(work->device, NULL, ALLOCATE_DIRECT, bytes, memory));
    else
        TRY(host_alloc(work->device, where == BENCH_PINNED, bytes, memory));
    work->blocks[work->block_count].where = where;
    work->blocks[work->block_count++].memory = *memory;

    return STATUS_OK;
}

void bench_free(struct bench_work *work)
{
    for (; work->block_count > 0; work->block_count--) {
        enum bench_memory where = work->blocks[work->block_count - 1].where;
        void *memory = work->blocks[work->block_count - 1].memory;
        if (where == BENCH_DEVICE)
            device_free(work->device, NULL, ALLOCATE_DIRECT, memory);
        else
            host_free(work->device, where == BENCH_PINNED, memory);
    }
}
