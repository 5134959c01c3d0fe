/* The step's own allocator, over the device's raw allocation.
 *
 * ALLOCATION_CACHING keeps freed blocks and gives them out again without asking the device, in the
 * manner of PyTorch's caching allocator: sizes are rounded up to 512 bytes, small blocks (1 MiB and
 * less) are cut from 2 MiB segments, larger ones get segments of their own (enum segments has two
 * other ways), and neighbours that are free are merged. ALLOCATION_STREAM_ORDERED and
 * ALLOCATION_DIRECT ask the device each time.
 *
 * All of it belongs to one stream: a freed block may be handed out again at once, because later
 * work of the stream runs after earlier work. The allocator is the same on every device, so its
 * figures add up exactly: allocated is the sum of the (rounded) sizes by category, reserved is what
 * the device gave. */
#pragma once

#include "harness/device/device.h"
#include "harness/engine/settings/config.h"
#include "harness/recording/buffer.h"

/* Categories of PyTorch's memory timeline. */
enum allocator_category {
    MEMORY_PARAMETERS,
    MEMORY_GRADIENTS,
    MEMORY_OPTIMIZER,
    MEMORY_ACTIVATIONS,
    MEMORY_ACTIVATION_GRADIENTS,
    MEMORY_INPUT,
    MEMORY_WORKSPACE,
    MEMORY_CATEGORY_COUNT
};
const char *allocator_category_name(enum allocator_category category);

struct allocator;

struct allocator_statistics {
    int64_t allocated[MEMORY_CATEGORY_COUNT];
    int64_t peak[MEMORY_CATEGORY_COUNT]; /* each category's own */
    int64_t allocated_all, peak_all;     /* of the sum */
    int64_t reserved, peak_reserved;     /* asked of the device and not given back */
    int64_t device_allocations;          /* calls to the device */
};

enum status allocator_open(struct allocator **allocator, struct stream *stream,
                           const struct allocator_config *config);

/* Frees the blocks that are still in use, too. Waits for the stream. NULL is allowed. */
void allocator_close(struct allocator *allocator);

/* At least 256-byte aligned. DEVICE_OUT_OF_MEMORY says how much was asked for, used and free, by
 * category. */
enum status allocator_alloc(struct allocator *allocator, enum allocator_category category,
                            size_t bytes, void **block);
enum status allocator_free(struct allocator *allocator, void *block); /* NULL is allowed */

/* Gives free segments back to the device. An allocation that finds no room does so before it
 * fails. */
enum status allocator_trim(struct allocator *allocator);

/* While `keep` is set, no segment goes back to the device. A captured graph needs that: it runs on
 * addresses that the allocator counts as free, and nothing else may use them. */
void allocator_keep(struct allocator *allocator, bool keep);

/* Records every allocation and free from now on, after one row per category with what is allocated
 * now. NULL, as at first, records nothing. */
void allocator_trace(struct allocator *allocator, struct trace *trace);

struct allocator_statistics allocator_statistics(const struct allocator *allocator);
void allocator_reset_peaks(struct allocator *allocator);
