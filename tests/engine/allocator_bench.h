/* Shared by the tests of the step's allocator: one on the CPU device, and calls that must
 * succeed. */
#pragma once

#include "harness/engine/memory/allocator.h"
#include "tests/fixtures/cmocka_prelude.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* The device's memory, and what the caching allocator rounds blocks and segments to, in bytes. */
enum { CAPACITY_MIB = 256, ROUNDING = 512, SEGMENT = 2 << 20 };

/* A device, a stream on it and the allocator under test. */
struct bench {
    struct device *device;
    struct stream *stream;
    struct allocator *allocator;
};

/* `budget` in bytes; 0: what the device has. */
struct bench bench_open(enum allocation_mode mode, size_t budget);
struct bench bench_open_caching(enum segments segments);

/* Whatever the test did, nothing stays behind on the device. */
void bench_close(struct bench *bench);

/* The block stays the allocator's. */
char *take(const struct bench *bench, enum allocator_category category, size_t bytes);
void give(const struct bench *bench, void *block);

int64_t device_used(const struct bench *bench);  /* bytes */
int64_t device_calls(const struct bench *bench); /* allocations and frees so far */
