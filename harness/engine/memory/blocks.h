/* The allocator's bookkeeping of blocks of device memory. It is in host memory, because the host
 * must not touch device memory, and no call here talks to the device.
 *
 * A segment is one allocation of the device. It is cut into blocks, which are neighbours by
 * address. A block is in use, free, or in the caller's hands: then it is in no list. */
#pragma once

#include "harness/base/status.h"
#include "harness/engine/memory/allocator.h"

enum {
    BLOCK_ROUNDING = 512,    /* sizes are multiples of it; PyTorch's kMinBlockSize */
    SMALL_MAX = 1 << 20,     /* a small block; kSmallSize */
    SEGMENT_BYTES = 2 << 20, /* of small ones, and what others round up to; kRoundLarge */
    POOLED_MAX = 10 << 20,   /* pooled segments are for less than this; kMinLargeAlloc */
    POOLED_BYTES = 20 << 20, /* a pooled segment; kLargeBuffer */
    LARGE_REST = SMALL_MAX,  /* a large block is cut for more than this, as PyTorch does it */
    SMALL_SIZES = SEGMENT_BYTES / BLOCK_ROUNDING + 1, /* 0 .. SEGMENT_BYTES */
    SMALL_MAP_WORDS = SMALL_SIZES / 64 + 1,
};

struct block {
    char *address;
    int64_t bytes;     /* of the block: at least those asked for */
    int64_t requested; /* in use: rounded; else 0 */
    enum allocator_category category;
    bool small; /* of a segment of small blocks */
    bool is_free;
    struct block *left, *right;   /* neighbours in the segment; NULL at its ends */
    struct block *next, **linked; /* in the one list that it is in */
};

struct blocks {
    struct block *free_small[SMALL_SIZES]; /* by size */
    uint64_t free_map[SMALL_MAP_WORDS];    /* which of these are not empty */
    struct block *free_large;
    struct block **buckets; /* in use, by address */
    size_t bucket_count;    /* a power of two */
    size_t in_use;
    struct block *spare; /* records without a block */
};

enum status blocks_init(struct blocks *blocks);

/* Forgets all blocks; what the device gave is the caller's to give back. Zeroed ones are
 * allowed. */
void blocks_release(struct blocks *blocks);

/* A record with nothing in it, in the caller's hands, and back. Errors: OUT_OF_MEMORY. */
enum status block_new(struct blocks *blocks, struct block **block);
void block_drop(struct blocks *blocks, struct block *block);

/* From the caller's hands to those in use, and back. */
void block_use(struct blocks *blocks, struct block *block);
void block_unuse(struct blocks *blocks, struct block *block);

/* The block in use that begins at `address`; NULL: none. */
struct block *block_find(const struct blocks *blocks, const void *address);

/* Any block in use; NULL: none is. */
struct block *block_any(const struct blocks *blocks);

/* The smallest free block of at least `bytes`, small or large, among equals the one freed last; now
 * in the caller's hands. NULL: none fits. */
struct block *block_take(struct blocks *blocks, int64_t bytes, bool small);

/* Cuts a block in the caller's hands down to `bytes` if the rest is more than `rest_min`: it
 * becomes a free block. */
void block_cut(struct blocks *blocks, struct block *block, int64_t bytes, int64_t rest_min);

/* Makes a block in the caller's hands free, as one with its free neighbours. */
void block_free(struct blocks *blocks, struct block *block);

/* A free block that is a whole segment, into the caller's hands; NULL: there is none. */
struct block *block_take_segment(struct blocks *blocks);
