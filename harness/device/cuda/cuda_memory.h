/* The CUDA device's memory: cudaMalloc, and a memory pool of the device's own for what is
 * stream-ordered. The books say what is allocated, to the byte, whatever else uses the GPU.
 *
 * The capacity is what was free on the GPU when the device was opened, or the limit that was
 * given. */
#pragma once

#include "harness/device/cuda/cuda.h"
#include "harness/device/plugin/regions.h"

/* Call it last of all that takes device memory at open. `limit` is 0 or at most what is free
 * then. */
enum status cuda_memory_open(struct cuda_memory **memory, int index, int64_t limit);
void cuda_memory_close(
    struct cuda_memory *memory); /* frees what is still allocated; NULL allowed */

/* The addresses that are this device's memory, or pinned. */
struct regions *cuda_memory_regions(struct cuda_memory *memory);

enum status cuda_memory_info(struct device *device, struct memory_info *info);
enum status cuda_memory_trim(struct device *device);
enum status cuda_alloc(struct device *device, struct stream *stream, enum allocation how,
                       size_t bytes, void **memory);
enum status cuda_free(struct device *device, struct stream *stream, enum allocation how,
                      void *memory);
enum status cuda_host_alloc(struct device *device, bool pinned, size_t bytes, void **memory);
enum status cuda_host_free(struct device *device, bool pinned, void *memory);
