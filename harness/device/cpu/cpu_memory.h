/* The CPU device's memory: a capacity, and two ways to allocate within it.
 *
 * Direct memory is mapped when it is allocated and unmapped when it is freed, after the device has
 * caught up. Stream-ordered memory comes from a pool that keeps what is freed. Pinned host memory
 * is only noted, so that copies know it. */
#pragma once

#include "harness/device/cpu/cpu.h"
#include "harness/device/plugin/regions.h"

enum status cpu_memory_open(struct cpu_memory **memory, int64_t capacity);
void cpu_memory_close(
    struct cpu_memory *memory); /* whatever is still allocated goes with it; NULL allowed */

/* The addresses that are this device's memory, or pinned. */
struct regions *cpu_memory_regions(struct cpu_memory *memory);

/* The stream has no work left and is about to end: any stream may use its freed memory now. */
void cpu_memory_forget_stream(struct cpu_memory *memory, const struct cpu_stream *stream);

enum status cpu_memory_info(struct device *device, struct memory_info *info);
enum status cpu_memory_trim(struct device *device);
enum status cpu_alloc(struct device *device, struct stream *stream, enum allocation how,
                      size_t bytes, void **memory);
enum status cpu_free(struct device *device, struct stream *stream, enum allocation how,
                     void *memory);
enum status cpu_host_alloc(struct device *device, bool pinned, size_t bytes, void **memory);
enum status cpu_host_free(struct device *device, bool pinned, void *memory);
