/* Memory of the machine: blocks of the host's memory, and what is known of their bytes.
 *
 * Each byte has a bit that says whether it was written; each word the stamp of the warp that wrote
 * it last, and of the one that read it last. A stamp is a number of the block's launch in the upper
 * 8 bits (0: none yet) and the warp's in the lower 24. The block knows for each of the numbers
 * where its launch stands in its stream. Under the machine's lock. */
#pragma once

#include "harness/base/status.h"
#include "harness/simt/code/simt_types.h"

enum { MEMORY_STAMP_BITS = 24, MEMORY_NUMBERS = 256 };

struct memory_block {
    uint64_t first, end;
    uint8_t *written, *closed; /* bits; closed: NULL if nothing is */
    uint32_t *writer, *reader;
    uint32_t *sectors; /* [sectors]: the last block of the grid that loaded it, from 1 on; NULL: not
                          asked for */
    uint32_t *atomics; /* [words]: atomic operations of this launch; NULL: there never was one */
    uint32_t *adders; /* [words]: the last block of the grid among these, from 1 on; or NULL, too */
    uint64_t launch;  /* the last one that touched it */
    uint32_t number;  /* of that launch, shifted to its place in a stamp */
    struct memory_use {
        uint64_t number;
        uint32_t stream;
        bool unordered; /* the launch under way need not come after it */
    } uses[MEMORY_NUMBERS];
    bool unordered; /* one of the uses is */
};

struct memory {
    struct memory_block **blocks; /* by address */
    int64_t count, room;
    uint64_t launch;
    struct simt_order order; /* of the launch; number 0: after all others */
};

#define MEMORY_SEVERAL ((UINT32_C(1) << MEMORY_STAMP_BITS) - 1) /* readers */

void memory_release(struct memory *memory);
enum status memory_add(struct memory *memory, const void *address, size_t bytes);
void memory_remove(struct memory *memory, const void *address);

/* A launch, or a copy, begins. */
void memory_begin(struct memory *memory, const struct simt_order *order);

/* The block that has the address; NULL: none. Ready for the launch that is under way. */
struct memory_block *memory_peek(const struct memory *memory, uint64_t address); /* as it is */
struct memory_block *memory_find(struct memory *memory, uint64_t address);

/* Sets or clears the bits of what a block has of [address, address + bytes), in all blocks that it
 * touches. */
void memory_mark(struct memory *memory, const void *address, size_t bytes, bool written);
enum status memory_close(struct memory *memory, const void *address, size_t bytes, bool closed);

/* Whether every byte of [from, from + bytes) in the block was written, and whether one is
 * closed. */
bool memory_is_written(const struct memory_block *block, uint64_t from, uint64_t bytes);
bool memory_is_closed(const struct memory_block *block, uint64_t from, uint64_t bytes);
void memory_set_written(struct memory_block *block, uint64_t from, uint64_t bytes);

/* Notes an access by the warp with this stamp. Whether another warp's in this launch may come
 * before or after it: *other is its stamp then. */
bool memory_races_load(struct memory_block *block, uint64_t from, uint64_t bytes, uint32_t stamp,
                       uint32_t *other);
bool memory_races_store(struct memory_block *block, uint64_t from, uint64_t bytes, uint32_t stamp,
                        uint32_t *other);

/* Whether another warp of this launch has read one of the words. */
bool memory_read_by_others(const struct memory_block *block, uint64_t from, uint64_t bytes,
                           uint32_t stamp);

/* Whether a word of [from, from + bytes) was last written, or for a store read, by work that the
 * launch under way need not come after: *stream is that work's. Accesses of less than a word, whose
 * neighbours may be another's, are not looked at. */
bool memory_unordered(const struct memory_block *block, uint64_t from, uint64_t bytes, bool store,
                      uint32_t *stream);

/* Whether a word was written, or for a store read, with this stamp. */
bool memory_used_by(const struct memory_block *block, uint64_t from, uint64_t bytes, uint32_t stamp,
                    bool store);

/* Notes an atomic operation at an address by block `number` of the grid, from 1 on. OUT_OF_MEMORY:
 * at the memory block's first. */
enum status memory_add_atomic(struct memory_block *block, uint64_t address, uint32_t number);

/* Whether a word was last changed by an atomic operation of another block of the grid. */
bool memory_added_by_others(const struct memory_block *block, uint64_t from, uint64_t bytes,
                            uint32_t number);

/* How many of the sectors of [from, from + bytes) block `number` of the grid, from 1 on, loads for
 * the first time. 0 if there is no memory to tell. */
unsigned memory_fresh(struct memory_block *block, uint64_t from, uint64_t bytes, uint32_t number);

/* The use of the block by the last launch. */
struct simt_footprint memory_footprint(const struct memory *memory,
                                       const struct memory_block *block);

/* Notes an access by something that is no warp, such as a copy. */
void memory_stamp(struct memory_block *block, uint64_t from, uint64_t bytes, bool store);

/* "12 bytes after the end of a block of 4096", for messages. */
void memory_around(const struct memory *memory, uint64_t address, char *text, size_t size);
