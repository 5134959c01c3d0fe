/* The data that kernels and products read and write: on the device with its copy on the host,
 * random and never zeros, because zeros draw less power and some hardware is faster on them.
 *
 * Values are between -1 and 1 and exact in the storage type: in 16 bits they are multiples of what
 * its fraction resolves (1/128 in bf16, 1/1024 in fp16).
 *
 * In a cold row an operand exists `copies` times on the device and each iteration takes the next.
 * All copies together are four times the cache before the memory, so when a copy is used again
 * it has been replaced by the others. Nothing has to be flushed between iterations, so only the
 * kernel is timed, and launches are queued without waiting as in a warm row. */
#pragma once

#include "harness/bench/bench.h"

struct operand {
    enum dtype dtype;
    int64_t count;
    void *host;   /* [count], pinned */
    char *device; /* work->copies of [count], `stride` bytes apart, the same data in each */
    size_t stride;
};

/* Sets how many copies a cold row takes if one iteration's data is `bytes` in all. Call it before
 * the operands are opened. */
void operands_rotate(struct bench_work *work, int64_t bytes);

/* Sets as many copies as fill `span` bytes, but no more than a cold row would take. */
void operands_span(struct bench_work *work, int64_t bytes, int64_t span);
int64_t operands_next(struct bench_work *work); /* the next copy: 0, 1, 2 ... 0, 1, ... */

/* Allocates (bench_alloc), fills and copies. */
enum status operand_open(struct operand *operand, struct bench_work *work, enum dtype dtype,
                         int64_t count);

void *operand_at(const struct operand *operand, int64_t copy);      /* on the device */
double operand_value(const struct operand *operand, int64_t index); /* on the host */

/* Copy 0 from the device to the host; waits. */
enum status operand_read(struct operand *operand, struct bench_work *work);

/* OK when element `index` on the host is `expected` within `limit` and the rounding of its type;
 * else INTERNAL, whose text has both values and the index. NaN fails. */
enum status operand_check(const struct operand *operand, const char *what, int64_t index,
                          double expected, double limit);

/* From one element that is checked to the next: all of a small tensor, every 100th or so of a
 * large. */
int64_t operand_check_step(int64_t count);

/* The same for a number: without a type. */
enum status value_check(const char *what, int64_t index, double value, double expected,
                        double limit);

/* Four rows of one kernel: in fp32 and bf16, each with data that may stay in the caches, and cold.
 * And two that are cold only. */
#define BENCH_TYPED(name_, dtype_, cold_, ...)                                                     \
    const struct bench bench_##name_ = {                                                           \
        .name = #name_, .dtype = dtype_, .cold = cold_, .roof = ROOF_MEMORY, __VA_ARGS__           \
    }
#define BENCH_KERNEL(name_, ...)                                                                   \
    BENCH_TYPED(name_##_fp32, DTYPE_F32, false, __VA_ARGS__);                                      \
    BENCH_TYPED(name_##_bf16, DTYPE_BF16, false, __VA_ARGS__);                                     \
    BENCH_COLD(name_, __VA_ARGS__)
#define BENCH_COLD(name_, ...)                                                                     \
    BENCH_TYPED(name_##_fp32_cold, DTYPE_F32, true, __VA_ARGS__);                                  \
    BENCH_TYPED(name_##_bf16_cold, DTYPE_BF16, true, __VA_ARGS__)
