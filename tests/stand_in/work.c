/* Copies, memsets and kernels, which are the CPU device's. */
#include "tests/stand_in/runtime.h"

#include "harness/lab/device/cuda/kernels/cuda_kernels.h"
#include "kernels/kernels.h"

#include <cupti.h>
#include <stdlib.h>
#include <string.h>

static bool is_lost(void)
{
    bool now;

    stand_in_lock();
    now = stand_in_lost() != cudaSuccess;
    stand_in_unlock();
    return now;
}

static cudaError_t run_copy(struct operation *operation)
{
    if (!is_lost())
        memmove(operation->copy.to, operation->copy.from, operation->copy.bytes);
    return cudaSuccess;
}

static struct stand_in_work copy_work(enum cudaMemcpyKind kind, size_t bytes, bool pageable)
{
    uint8_t host =
        pageable ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    struct stand_in_work work = { .kind = STAND_IN_COPY,
                                  .bytes = bytes,
                                  .asynchronous = true,
                                  .copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD,
                                  .source = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                  .destination = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE };

    if (kind == cudaMemcpyHostToDevice) {
        work.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
        work.source = host;
    } else if (kind == cudaMemcpyDeviceToHost) {
        work.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
        work.destination = host;
    }
    return work;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    struct operation operation = { .run = run_copy };
    bool staged = kind == cudaMemcpyHostToDevice && !stand_in_is_pinned(from);
    bool waits = kind == cudaMemcpyDeviceToHost && !stand_in_is_pinned(to);
    cudaError_t error;

    operation.copy.to = to;
    operation.copy.from = from;
    operation.copy.bytes = bytes;
    operation.work = copy_work(kind, bytes, staged || waits);
    if (staged) {
        operation.owned = memcpy(stand_in_must(malloc(bytes)), from, bytes);
        operation.copy.from = operation.owned;
    }
    error = stand_in_submit(stream, &operation);
    if (!waits || error != cudaSuccess)
        return error;
    stand_in_lock();
    stand_in_wait_until(stream, stream->submitted);
    return stand_in_leave(cudaSuccess);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    struct operation operation = { .run = run_copy };

    if (stand_in_block_device(to) != to_device || stand_in_block_device(from) != from_device)
        return stand_in_result(cudaErrorInvalidValue);
    operation.copy.to = to;
    operation.copy.from = from;
    operation.copy.bytes = bytes;
    operation.work = copy_work(cudaMemcpyDeviceToDevice, bytes, false);
    return stand_in_submit(stream, &operation);
}

static cudaError_t run_memset(struct operation *operation)
{
    if (!is_lost())
        memset(operation->copy.to, operation->copy.byte, operation->copy.bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes, cudaStream_t stream)
{
    struct operation operation = { .run = run_memset };

    operation.copy.to = memory;
    operation.copy.byte = byte;
    operation.copy.bytes = bytes;
    operation.work = (struct stand_in_work){ .kind = STAND_IN_MEMSET,
                                             .bytes = bytes,
                                             .asynchronous = true,
                                             .destination = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE };
    return stand_in_submit(stream, &operation);
}

typedef void cpu_kernel(const void *arguments, long first, long last);
#define DECLARE(name, shape, ...) cpu_kernel name##_f32, name##_bf16, name##_f16;
KERNELS(DECLARE)
#undef DECLARE

struct kernel_entry {
    cpu_kernel *function;
    size_t size;
    const char *name;
};
static const struct kernel_entry entries_f32[] = {
#define ROW(name, shape, ...) { name##_f32, sizeof(struct name), #name "_f32" },
    KERNELS(ROW)
#undef ROW
};
static const struct kernel_entry entries_bf16[] = {
#define ROW(name, shape, ...) { name##_bf16, sizeof(struct name), #name "_bf16" },
    KERNELS(ROW)
#undef ROW
};
static const struct kernel_entry entries_f16[] = {
#define ROW(name, shape, ...) { name##_f16, sizeof(struct name), #name "_f16" },
    KERNELS(ROW)
#undef ROW
};
static const struct kernel_entry empty = { .name = "empty" }, failing = { .name = "failing" };
const void *const cuda_kernels_f32[] = {
#define ROW(name, shape, ...) &entries_f32[KERNEL_##name],
    KERNELS(ROW)
#undef ROW
};
const void *const cuda_kernels_bf16[] = {
#define ROW(name, shape, ...) &entries_bf16[KERNEL_##name],
    KERNELS(ROW)
#undef ROW
};
const void *const cuda_kernels_f16[] = {
#define ROW(name, shape, ...) &entries_f16[KERNEL_##name],
    KERNELS(ROW)
#undef ROW
};
const void *const cuda_kernel_empty = &empty;
const void *const cuda_kernel_failing = &failing;

static cudaError_t run_kernel(struct operation *operation)
{
    if (operation->kernel.function != NULL && !is_lost())
        operation->kernel.function(operation->kernel.arguments, 0, operation->kernel.count);
    return cudaSuccess;
}

static cudaError_t run_failing_kernel(struct operation *operation)
{
    (void)operation;
    return cudaErrorLaunchFailure;
}

cudaError_t cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block,
                             void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    const struct kernel_entry *entry = kernel;
    struct operation operation = { .run = entry == &failing ? run_failing_kernel : run_kernel };

    if (grid.x < 1 || grid.y != 1 || grid.z != 1 || block.x < 1 || block.x > 1024 ||
        shared_bytes != 0)
        return stand_in_result(cudaErrorInvalidConfiguration);
    operation.work = (struct stand_in_work){
        .kind = STAND_IN_KERNEL, .name = entry->name, .grid = grid.x, .block = block.x
    };
    if (entry->function != NULL) {
        operation.kernel.function = entry->function;
        memcpy(operation.kernel.arguments, arguments[0], entry->size);
        operation.kernel.count = *(const long *)arguments[1];
    }
    return stand_in_submit(stream, &operation);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
    (void)kernel;
    *attributes = (struct cudaFuncAttributes){ .maxThreadsPerBlock = 1024, .binaryVersion = 80 };
    return stand_in_result(cudaSuccess);
}
