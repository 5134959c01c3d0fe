/* A hash table finds a block in use by its address. A free small block is in the list of its exact
 * size, and a bit map says which of these lists are not empty: the best fit is the next bit that is
 * set. Free large blocks are few, so one list holds them. The choice never depends on addresses, so
 * the same calls give the same layout in every run. */
#include "harness/engine/memory/blocks.h"

#include "harness/base/rows.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS_FIRST = 256 };

/* --- Lists of records --- */

/* Each record knows the pointer to it, so it leaves its list without a search. */
static void list_push(struct block **head, struct block *block)
{
    block->next = *head;
    block->linked = head;
    if (*head != NULL)
        (*head)->linked = &block->next;
    *head = block;
}

static void list_remove(struct block *block)
{
    *block->linked = block->next;
    if (block->next != NULL)
        block->next->linked = block->linked;
    block->next = NULL;
    block->linked = NULL;
}

/* NULL when the host has no memory left. */
static struct block *record_take(struct blocks *blocks)
{
    struct block *block = blocks->spare;

    if (block == NULL)
        return calloc(1, sizeof *block);
    list_remove(block);
    memset(block, 0, sizeof *block);
    return block;
}

enum status block_new(struct blocks *blocks, struct block **block)
{
    *block = record_take(blocks);
    if (*block == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "the host has no memory left to keep account of the device's; "
                                   "close other programs");

    return STATUS_OK;
}

/* Records are kept for the next block: each step cuts and merges many times. */
void block_drop(struct blocks *blocks, struct block *block)
{
    list_push(&blocks->spare, block);
}

/* --- Blocks in use, by address --- */

/* Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4). */
static struct block **bucket_of(const struct blocks *blocks, const void *address)
{
    uint64_t hash = (uint64_t)(uintptr_t)address / BLOCK_ROUNDING * 0x9e3779b97f4a7c15u;

    return &blocks->buckets[(hash >> 32) & (blocks->bucket_count - 1)];
}

/* Doubles the buckets once there is a block for each. If the host has no memory for that, the old
 * buckets still work, only slower. */
static void buckets_grow(struct blocks *blocks)
{
    struct block **old = blocks->buckets;
    size_t old_count = blocks->bucket_count;
    struct block **buckets = calloc(2 * old_count, sizeof(struct block *));

    if (buckets == NULL)
        return;
    blocks->buckets = buckets;
    blocks->bucket_count = 2 * old_count;
    for (size_t i = 0; i < old_count; i++) {
        while (old[i] != NULL) {
            struct block *block = old[i];
            list_remove(block);
            list_push(bucket_of(blocks, block->address), block);
        }
    }
    free(old);
}

void block_use(struct blocks *blocks, struct block *block)
{
    if (blocks->in_use == blocks->bucket_count)
        buckets_grow(blocks);
    list_push(bucket_of(blocks, block->address), block);
    blocks->in_use++;
}

void block_unuse(struct blocks *blocks, struct block *block)
{
    list_remove(block);
    blocks->in_use--;
}

struct block *block_find(const struct blocks *blocks, const void *address)
{
    struct block *block = *bucket_of(blocks, address);

    while (block != NULL && block->address != address) block = block->next;
    return block;
}

struct block *block_any(const struct blocks *blocks)
{
    for (size_t i = 0; i < blocks->bucket_count; i++) {
        if (blocks->buckets[i] != NULL)
            return blocks->buckets[i];
    }
    return NULL;
}

/* --- Free blocks --- */

static void free_add(struct blocks *blocks, struct block *block)
{
    size_t size = (size_t)(block->bytes / BLOCK_ROUNDING);

    block->is_free = true;
    if (!block->small) {
        list_push(&blocks->free_large, block);
        return;
    }
    list_push(&blocks->free_small[size], block);
    blocks->free_map[size / 64] |= (uint64_t)1 << size % 64;
}

static void free_remove(struct blocks *blocks, struct block *block)
{
    size_t size = (size_t)(block->bytes / BLOCK_ROUNDING);

    block->is_free = false;
    list_remove(block);
    if (block->small && blocks->free_small[size] == NULL)
        blocks->free_map[size / 64] &= ~((uint64_t)1 << size % 64);
}

static struct block *free_find_small(const struct blocks *blocks, int64_t bytes)
{
    size_t size = (size_t)(bytes / BLOCK_ROUNDING), word = size / 64;
    uint64_t bits = blocks->free_map[word] & (~(uint64_t)0 << size % 64);

    while (bits == 0 && ++word < SMALL_MAP_WORDS) bits = blocks->free_map[word];
    return bits == 0 ? NULL : blocks->free_small[word * 64 + (size_t)__builtin_ctzll(bits)];
}

/* The smallest that fits, and of equal ones the first of the list. */
static struct block *free_find_large(const struct blocks *blocks, int64_t bytes)
{
    struct block *best = NULL;

    for (struct block *block = blocks->free_large; block != NULL; block = block->next) {
        if (block->bytes >= bytes && (best == NULL || block->bytes < best->bytes))
            best = block;
    }
    return best;
}

struct block *block_take(struct blocks *blocks, int64_t bytes, bool small)
{
    struct block *block = small ? free_find_small(blocks, bytes) : free_find_large(blocks, bytes);

    if (block != NULL)
        free_remove(blocks, block);
    return block;
}

/* Without a record for the rest the block stays as it is. */
void block_cut(struct blocks *blocks, struct block *block, int64_t bytes, int64_t rest_min)
{
    int64_t remainder = block->bytes - bytes;
    struct block *rest;

    if (remainder <= rest_min)
        return;
    rest = record_take(blocks);
    if (rest == NULL)
        return;
    rest->address = block->address + bytes;
    rest->bytes = remainder;
    rest->small = block->small;
    rest->left = block;
    rest->right = block->right;
    if (rest->right != NULL)
        rest->right->left = rest;
    block->right = rest;
    block->bytes = bytes;
    free_add(blocks, rest);
}

/* Adds a block to its left neighbour; neither is in a list. */
static void merge_blocks(struct blocks *blocks, struct block *left, struct block *right)
{
    left->bytes += right->bytes;
    left->right = right->right;
    if (left->right != NULL)
        left->right->left = left;
    block_drop(blocks, right);
}

void block_free(struct blocks *blocks, struct block *block)
{
    struct block *left = block->left, *right = block->right;

    if (right != NULL && right->is_free) {
        free_remove(blocks, right);
        merge_blocks(blocks, block, right);
    }
    if (left != NULL && left->is_free) {
        free_remove(blocks, left);
        merge_blocks(blocks, left, block);
        block = left;
    }
    free_add(blocks, block);
}

struct block *block_take_segment(struct blocks *blocks)
{
    /* A segment of small blocks that are all free is one block of the largest size. */
    struct block *block = blocks->free_small[SMALL_SIZES - 1];

    if (block == NULL)
        block = blocks->free_large;
    /* A block without neighbours is all of its segment. */
    while (block != NULL && (block->left != NULL || block->right != NULL)) block = block->next;
    if (block != NULL)
        free_remove(blocks, block);
    return block;
}

/* --- From beginning to end --- */

enum status blocks_init(struct blocks *blocks)
{
    memset(blocks, 0, sizeof *blocks);
    TRY(rows_make(&blocks->buckets, BUCKETS_FIRST));
    blocks->bucket_count = BUCKETS_FIRST;

    return STATUS_OK;
}

static void list_release(struct block **head)
{
    while (*head != NULL) {
        struct block *block = *head;
        list_remove(block);
        free(block);
    }
}

void blocks_release(struct blocks *blocks)
{
    for (size_t i = 0; i < blocks->bucket_count; i++) list_release(&blocks->buckets[i]);
    for (size_t i = 0; i < SMALL_SIZES; i++) list_release(&blocks->free_small[i]);
    list_release(&blocks->free_large);
    list_release(&blocks->spare);
    free(blocks->buckets);
    memset(blocks, 0, sizeof *blocks);
}
