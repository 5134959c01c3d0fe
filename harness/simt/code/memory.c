/* The machine's knowledge of memory. Blocks are in the order of their addresses, and found by
 * bisection. All that is known of their bytes is in arrays that begin as zeros, so memory that no
 * kernel touches costs nothing. A launch does not clear these arrays: each stamp carries the number
 * of its launch, so an older one cannot be taken for a race. */
#include "harness/simt/code/memory.h"

#include "harness/base/bisect.h"
#include "harness/base/rows.h"
#include "harness/base/words/text.h"

#include <stdlib.h>
#include <string.h>

static void block_free(struct memory_block *block)
{
    if (block == NULL)
        return;
    free(block->written);
    free(block->closed);
    free(block->writer);
    free(block->reader);
    free(block->atomics);
    free(block->adders);
    free(block->sectors);
    free(block);
}

void memory_release(struct memory *memory)
{
    for (int64_t i = 0; i < memory->count; i++) block_free(memory->blocks[i]);
    free(memory->blocks);
}

/* How many blocks begin at or below the address. */
static int64_t blocks_up_to(const struct memory *memory, uint64_t address)
{
    int64_t low = 0, high = memory->count;

    BISECT(low, high, at, memory->blocks[at]->first <= address);
    return low;
}

/* Bits and stamps that were never touched cost nothing: calloc() of much memory maps zeros. */
static enum status block_make(struct memory_block **made, uint64_t first, size_t bytes)
{
    enum status status = STATUS_OK;
    struct memory_block *block = NULL;

    TRY_OUT(rows_make(&block, 1));
    block->first = first;
    block->end = first + bytes;
    TRY_OUT(rows_make(&block->written, bytes / 8 + 9));
    TRY_OUT(rows_make(&block->writer, bytes / 4 + 1));
    TRY_OUT(rows_make(&block->reader, bytes / 4 + 1));
    *made = block;
    return STATUS_OK;

out:
    block_free(block);
    return status;
}

enum status memory_add(struct memory *memory, const void *address, size_t bytes)
{
    uint64_t first = (uint64_t)(uintptr_t)address;
    int64_t at = blocks_up_to(memory, first);
    struct memory_block *block;

    TRY(rows_grow(&memory->blocks, memory->count + 1, &memory->room));
    TRY(block_make(&block, first, bytes));
    memmove(memory->blocks + at + 1, memory->blocks + at,
            (size_t)(memory->count - at) * sizeof(struct memory_block *));
    memory->blocks[at] = block;
    memory->count++;
    return STATUS_OK;
}

void memory_remove(struct memory *memory, const void *address)
{
    uint64_t first = (uint64_t)(uintptr_t)address;
    int64_t at = blocks_up_to(memory, first) - 1;

    if (at < 0 || memory->blocks[at]->first != first)
        return;
    block_free(memory->blocks[at]);
    memory->count--;
    memmove(memory->blocks + at, memory->blocks + at + 1,
            (size_t)(memory->count - at) * sizeof(struct memory_block *));
}

void memory_begin(struct memory *memory, const struct simt_order *order)
{
    memory->launch++;
    memory->order = order != NULL ? *order : (struct simt_order){ 0 };
}

/* A launch need not come after work of another stream that is later than what it surely follows.
 * Number 0: it comes after everything. */
static bool is_unordered(const struct memory_use *use, const struct simt_order *order)
{
    return order->number != 0 && use->stream != order->stream &&
           use->number > order->before[use->stream];
}

/* The first access of a launch gives the block the next of 255 numbers; then its stamps begin
 * anew. */
static void block_begin(struct memory_block *block, const struct memory *memory)
{
    uint32_t number = (block->number >> MEMORY_STAMP_BITS) + 1;
    size_t words = (size_t)(block->end - block->first) / 4 + 1;

    if (number >= MEMORY_NUMBERS) {
        memset(block->writer, 0, words * sizeof *block->writer);
        memset(block->reader, 0, words * sizeof *block->reader);
        number = 1;
    }
    if (block->atomics != NULL)
        memset(block->atomics, 0, words * sizeof *block->atomics);
    if (block->sectors != NULL)
        memset(block->sectors, 0, (words / 8 + 2) * sizeof *block->sectors);
    block->number = number << MEMORY_STAMP_BITS;
    block->launch = memory->launch;
    block->unordered = false;
    for (uint32_t n = 1; n < number; n++) {
        block->uses[n].unordered = is_unordered(&block->uses[n], &memory->order);
        block->unordered |= block->uses[n].unordered;
    }
    block->uses[number] = (struct memory_use){ memory->order.number, memory->order.stream, false };
}

struct memory_block *memory_peek(const struct memory *memory, uint64_t address)
{
    int64_t at = blocks_up_to(memory, address) - 1;
    struct memory_block *block = at >= 0 ? memory->blocks[at] : NULL;

    return block != NULL && address < block->end ? block : NULL;
}

struct memory_block *memory_find(struct memory *memory, uint64_t address)
{
    struct memory_block *block = memory_peek(memory, address);

    if (block == NULL)
        return NULL;
    if (block->launch != memory->launch)
        block_begin(block, memory);
    return block;
}

/* Bits [from, to) of a bitmap. */
static void bits_set(uint8_t *bits, uint64_t from, uint64_t to, bool value)
{
    uint8_t whole = value ? 0xff : 0;

    for (; from < to && from % 8 != 0; from++)
        bits[from / 8] =
            (uint8_t)((bits[from / 8] & ~(1u << from % 8)) | (unsigned)value << from % 8);
    if (from < to)
        memset(bits + from / 8, whole, (size_t)((to - from) / 8));
    for (from += (to - from) / 8 * 8; from < to; from++)
        bits[from / 8] =
            (uint8_t)((bits[from / 8] & ~(1u << from % 8)) | (unsigned)value << from % 8);
}

/* Whether one of the bits [from, to) is `value`: bit by bit to a byte, then by words of 64. */
static bool bits_any(const uint8_t *bits, uint64_t from, uint64_t to, bool value)
{
    uint8_t none = value ? 0 : 0xff;

    for (; from < to && from % 8 != 0; from++)
        if ((bits[from / 8] >> from % 8 & 1) == value)
            return true;
    for (; from + 64 <= to; from += 64) {
        uint64_t word;
        memcpy(&word, bits + from / 8, sizeof word);
        if (word != (value ? 0 : UINT64_MAX))
            return true;
    }
    for (; from + 8 <= to; from += 8)
        if (bits[from / 8] != none)
            return true;
    for (; from < to; from++)
        if ((bits[from / 8] >> from % 8 & 1) == value)
            return true;
    return false;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void memory_mark(struct memory *memory, const void *address, size_t bytes, bool written)
{
    uint64_t from = (uint64_t)(uintptr_t)address, to = from + bytes;
    int64_t at = blocks_up_to(memory, from) - 1;

    for (at = at < 0 ? 0 : at; at < memory->count && memory->blocks[at]->first < to; at++) {
        struct memory_block *block = memory->blocks[at];
        uint64_t first = from > block->first ? from : block->first, end = smaller(to, block->end);
        if (first < end)
            bits_set(block->written, first - block->first, end - block->first, written);
    }
}

enum status memory_close(struct memory *memory, const void *address, size_t bytes, bool closed)
{
    uint64_t from = (uint64_t)(uintptr_t)address;
    struct memory_block *block = memory_find(memory, from);

    if (block == NULL || (block->closed == NULL && !closed))
        return STATUS_OK;
    if (block->closed == NULL)
        TRY(rows_make(&block->closed, (block->end - block->first) / 8 + 9));
    bits_set(block->closed, from - block->first, smaller(from + bytes, block->end) - block->first,
             closed);
    return STATUS_OK;
}

bool memory_is_written(const struct memory_block *block, uint64_t from, uint64_t bytes)
{
    return !bits_any(block->written, from - block->first, from - block->first + bytes, false);
}

bool memory_is_closed(const struct memory_block *block, uint64_t from, uint64_t bytes)
{
    return block->closed != NULL &&
           bits_any(block->closed, from - block->first, from - block->first + bytes, true);
}

void memory_set_written(struct memory_block *block, uint64_t from, uint64_t bytes)
{
    bits_set(block->written, from - block->first, from - block->first + bytes, true);
}

/* Whether a stamp of this launch is another warp's. */
static inline uint32_t is_others(uint32_t was, uint32_t stamp)
{
    return (uint32_t)((was ^ stamp) >> MEMORY_STAMP_BITS == 0) & (uint32_t)(was != stamp);
}

static uint32_t find_others(const uint32_t *stamps, uint64_t count, uint32_t stamp)
{
    for (uint64_t k = 0; k < count; k++)
        if (is_others(stamps[k], stamp))
            return stamps[k];
    return 0;
}

/* A second warp that reads a word turns its stamp into MEMORY_SEVERAL, so a store by either of the
 * two is still a race with the other. One pass looks and notes, without branches: vector
 * instructions do it. */
bool memory_races_load(struct memory_block *block, uint64_t from, uint64_t bytes, uint32_t stamp,
                       uint32_t *other)
{
    uint64_t first = (from - block->first) / 4,
             count = (from - block->first + bytes + 3) / 4 - first;
    uint32_t *reader = block->reader + first, several = stamp | MEMORY_SEVERAL, found = 0;
    const uint32_t *writer = block->writer + first;

#pragma GCC ivdep
    for (uint64_t k = 0; k < count; k++) {
        found |= is_others(writer[k], stamp);
        reader[k] = is_others(reader[k], stamp) ? several : stamp;
    }
    if (found)
        *other = find_others(writer, count, stamp);
    return found != 0;
}

bool memory_races_store(struct memory_block *block, uint64_t from, uint64_t bytes, uint32_t stamp,
                        uint32_t *other)
{
    uint64_t first = (from - block->first) / 4,
             count = (from - block->first + bytes + 3) / 4 - first;
    uint32_t *writer = block->writer + first, found = 0;
    const uint32_t *reader = block->reader + first;

    if (bytes < 4) /* another warp's may be its neighbour in the word */
        return false;
    for (uint64_t k = 0; k < count; k++)
        found |= is_others(writer[k], stamp) | is_others(reader[k], stamp);
    if (found) {
        *other = find_others(writer, count, stamp);
        *other = *other != 0 ? *other : find_others(reader, count, stamp);
        return true;
    }
    for (uint64_t k = 0; k < count; k++) writer[k] = stamp;
    return false;
}

bool memory_read_by_others(const struct memory_block *block, uint64_t from, uint64_t bytes,
                           uint32_t stamp)
{
    uint64_t first = (from - block->first) / 4;

    return find_others(block->reader + first, (from - block->first + bytes + 3) / 4 - first,
                       stamp) != 0;
}

bool memory_used_by(const struct memory_block *block, uint64_t from, uint64_t bytes, uint32_t stamp,
                    bool store)
{
    uint64_t first = (from - block->first) / 4, end = (from - block->first + bytes + 3) / 4;
    bool found = false;

    for (uint64_t k = first; k < end; k++)
        found |= block->writer[k] == stamp || (store && block->reader[k] == stamp);
    return found;
}

enum status memory_add_atomic(struct memory_block *block, uint64_t address, uint32_t number)
{
    uint64_t word = (address - block->first) / 4, words = (block->end - block->first) / 4 + 1;

    if (block->adders == NULL)
        TRY(rows_make(&block->adders, words));
    if (block->atomics == NULL)
        TRY(rows_make(&block->atomics, words));
    block->atomics[word]++;
    block->adders[word] = number;
    return STATUS_OK;
}

bool memory_added_by_others(const struct memory_block *block, uint64_t from, uint64_t bytes,
                            uint32_t number)
{
    uint64_t last = (from + bytes - 1 - block->first) / 4;

    for (uint64_t k = (from - block->first) / 4; block->atomics != NULL && k <= last; k++)
        if (block->atomics[k] > 0 && block->adders[k] != number)
            return true;
    return false;
}

/* The array is made when a launch first asks. Sectors lie on multiples of 32 in the address
 * space, not in the block, hence `base`. */
unsigned memory_fresh(struct memory_block *block, uint64_t from, uint64_t bytes, uint32_t number)
{
    uint64_t base = block->first / 32;
    unsigned count = 0;

    if (block->sectors == NULL &&
        rows_make(&block->sectors, ((block->end - block->first) / 4 + 1) / 8 + 2) != STATUS_OK)
        return 0;
    for (uint64_t sector = from / 32 - base; sector <= (from + bytes - 1) / 32 - base; sector++) {
        count += block->sectors[sector] != number;
        block->sectors[sector] = number;
    }
    return count;
}

struct simt_footprint memory_footprint(const struct memory *memory,
                                       const struct memory_block *block)
{
    struct simt_footprint footprint = { 0 };

    if (block->launch != memory->launch)
        return footprint;
    for (uint64_t k = 0; k < (block->end - block->first + 3) / 4; k++) {
        footprint.read +=
            4 * (uint64_t)(((block->reader[k] ^ block->number) >> MEMORY_STAMP_BITS) == 0);
        footprint.written +=
            4 * (uint64_t)(((block->writer[k] ^ block->number) >> MEMORY_STAMP_BITS) == 0);
        if (block->atomics == NULL || block->atomics[k] == 0)
            continue;
        footprint.atomic_words++;
        if (block->atomics[k] > footprint.atomic_most)
            footprint.atomic_most = block->atomics[k];
    }
    return footprint;
}

static const struct memory_use *use_of(const struct memory_block *block, uint32_t stamp)
{
    return &block->uses[stamp >> MEMORY_STAMP_BITS];
}

bool memory_unordered(const struct memory_block *block, uint64_t from, uint64_t bytes, bool store,
                      uint32_t *stream)
{
    uint32_t written = 0, read = 0;

    for (uint64_t k = (from - block->first + 3) / 4; k < (from - block->first + bytes) / 4; k++) {
        const struct memory_use *writer, *reader;
        if (block->writer[k] == written && block->reader[k] == read) /* as the word before */
            continue;
        written = block->writer[k];
        read = block->reader[k];
        writer = use_of(block, written);
        reader = use_of(block, read);
        if (writer->unordered || (store && reader->unordered)) {
            *stream = writer->unordered ? writer->stream : reader->stream;
            return true;
        }
    }
    return false;
}

void memory_stamp(struct memory_block *block, uint64_t from, uint64_t bytes, bool store)
{
    uint32_t *stamps = store ? block->writer : block->reader;

    for (uint64_t k = (from - block->first + 3) / 4; k < (from - block->first + bytes) / 4; k++)
        stamps[k] = block->number | 1;
}

void memory_around(const struct memory *memory, uint64_t address, char *text, size_t size)
{
    int64_t after = blocks_up_to(memory, address);

    text[0] = '\0';
    if (after > 0) {
        const struct memory_block *block = memory->blocks[after - 1];
        if (address < block->end)
            text_join(text, size, ", ", "byte %llu of %llu in a block, which is closed",
                      (unsigned long long)(address - block->first),
                      (unsigned long long)(block->end - block->first));
        else
            text_join(text, size, ", ", "%llu bytes after the end of a block of %llu",
                      (unsigned long long)(address - block->end),
                      (unsigned long long)(block->end - block->first));
    }
    if (after < memory->count) {
        const struct memory_block *block = memory->blocks[after];
        text_join(text, size, ", ", "%llu bytes before a block of %llu",
                  (unsigned long long)(block->first - address),
                  (unsigned long long)(block->end - block->first));
    }
}
