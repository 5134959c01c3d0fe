/* Blocks of memory from their allocation to their release, by the stack that asked for them.
 *
 * A block that is live at the end, and was not taken in the history, was live all along: its
 * segment still names its stack. */
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/desk/snapshot/snapshot_parts.h"

#include <stdlib.h>
#include <string.h>

/* Blocks by address: open addressing, at most half full. */
struct live_block {
    int64_t address, size;
    uint32_t stack;
    bool used;
};

struct holders {
    struct memory_history *history;
    struct live_block *blocks;
    int64_t block_count, block_mask;
    int64_t *live, *all_along; /* bytes, by stack */
    int64_t stack_count;
    struct snapshot_site *sites; /* by name */
    int64_t name_count;
};

/* --- Blocks --- */

static struct live_block *find_block(struct live_block *blocks, int64_t mask, int64_t address)
{
    uint64_t at = (uint64_t)address * UINT64_C(0x9e3779b97f4a7c15);

    for (at ^= at >> 29;; at++) {
        struct live_block *block = &blocks[at & (uint64_t)mask];
        if (!block->used || block->address == address)
            return block;
    }
}

static enum status grow_blocks(struct holders *holders)
{
    int64_t mask = holders->blocks != NULL ? 2 * holders->block_mask + 1 : 1023;
    struct live_block *blocks;

    TRY(rows_make(&blocks, mask + 1));
    for (int64_t i = 0; holders->blocks != NULL && i <= holders->block_mask; i++)
        if (holders->blocks[i].used)
            *find_block(blocks, mask, holders->blocks[i].address) = holders->blocks[i];
    free(holders->blocks);
    holders->blocks = blocks;
    holders->block_mask = mask;

    return STATUS_OK;
}

/* Takes a block. One that has the address already was released, and the history lost that. */
static enum status take_block(struct holders *holders, const struct memory_event *event)
{
    struct live_block *block = find_block(holders->blocks, holders->block_mask, event->address);

    if (!block->used && 2 * ++holders->block_count > holders->block_mask) {
        TRY(grow_blocks(holders));
        block = find_block(holders->blocks, holders->block_mask, event->address);
    }
    if (block->used)
        holders->live[block->stack] -= block->size;
    *block = (struct live_block){ event->address, event->size, event->stack, true };
    holders->live[event->stack] += event->size;

    return STATUS_OK;
}

/* Released blocks keep their place, with no bytes, so a search never ends too early. The event
 * learns whose block it was; that of a block from before the history is none. */
static void release_block(struct holders *holders, struct memory_event *event)
{
    struct live_block *block = find_block(holders->blocks, holders->block_mask, event->address);

    if (!block->used || block->size == 0) {
        event->action = OTHER;
        return;
    }
    event->stack = block->stack;
    event->size = block->size;
    holders->live[block->stack] -= block->size;
    block->size = 0;
}

/* --- The peak and the marks --- */

static struct snapshot_site *site_of(const struct holders *holders, int64_t stack)
{
    return &holders->sites[holders->history->reading->stacks[stack].site];
}

static void note_marks(struct holders *holders, int64_t event)
{
    const struct memory_history *history = holders->history;
    int64_t first = history->mark_count > 0 ? history->marks[0] : -1,
            last = history->mark_count > 0 ? history->marks[history->mark_count - 1] : -1;

    for (int64_t i = 0; event == first && i < holders->stack_count; i++)
        site_of(holders, i)->first += holders->live[i];
    for (int64_t i = 0; event == last && i < holders->stack_count; i++)
        site_of(holders, i)->last += holders->live[i];
}

static enum status follow_blocks(struct holders *holders)
{
    struct memory_history *history = holders->history;

    for (int64_t i = 0; i < history->count; i++) {
        struct memory_event *event = &history->events[i];
        if (event->action == ALLOC) {
            TRY(take_block(holders, event));
            site_of(holders, event->stack)->count++;
        } else if (event->action == FREE) {
            release_block(holders, event);
        }
        note_marks(holders, i);
        if (i == history->device->peak_event)
            memcpy(holders->history->at_peak, holders->live,
                   (size_t)holders->stack_count * sizeof *holders->live);
    }
    return STATUS_OK;
}

/* --- What was live all along --- */

typedef enum status block_task(struct holders *holders, uint32_t block);

static enum status for_blocks(struct holders *holders, block_task *task)
{
    const struct pickle *pickle = &holders->history->reading->pickle;
    uint32_t segments = pickle_member(pickle, pickle->root, WORD_SEGMENTS);

    for (int64_t i = 0; i < pickle_length(pickle, segments); i++) {
        uint32_t segment = pickle_item(pickle, segments, i);
        uint32_t blocks = pickle_member(pickle, segment, WORD_BLOCKS);
        if (!snapshot_is_of(pickle, segment, holders->history->device->device))
            continue;
        for (int64_t j = 0; j < pickle_length(pickle, blocks); j++)
            TRY(task(holders, pickle_item(pickle, blocks, j)));
    }
    return STATUS_OK;
}

static enum status number_block(struct holders *holders, uint32_t block)
{
    struct snapshot_reading *reading = holders->history->reading;
    uint32_t number;

    return snapshot_stack_number(reading, pickle_member(&reading->pickle, block, WORD_FRAMES),
                                 &number);
}

static enum status take_all_along(struct holders *holders, uint32_t block)
{
    struct snapshot_reading *reading = holders->history->reading;
    const struct pickle *pickle = &reading->pickle;
    int64_t address = pickle_integer(pickle, pickle_member(pickle, block, WORD_ADDRESS), 0);
    uint32_t stack;

    if (address == 0 ||
        pickle_is(pickle, pickle_member(pickle, block, WORD_STATE), WORD_INACTIVE) ||
        find_block(holders->blocks, holders->block_mask, address)->used)
        return STATUS_OK;
    TRY(snapshot_stack_number(reading, pickle_member(pickle, block, WORD_FRAMES), &stack));
    if (stack != 0)
        holders->all_along[stack] += snapshot_requested(pickle, block);

    return STATUS_OK;
}

/* --- Sites --- */

COMPARATOR(by_peak, struct snapshot_site, DESCENDING(at_peak) ?: ASCENDING(name))

/* Sites in their order, those alone that hold or take something. */
static void sort_sites(struct holders *holders)
{
    struct snapshot_device *device = holders->history->device;
    int64_t held = 0, kept = 0;

    for (int64_t i = 0; i < holders->stack_count; i++) {
        holders->history->at_peak[i] += holders->all_along[i];
        site_of(holders, i)->at_peak += holders->history->at_peak[i];
        held += holders->history->at_peak[i];
    }
    device->before = device->live_peak > held ? device->live_peak - held : 0;
    for (int64_t i = 0; i < holders->name_count; i++)
        if (holders->sites[i].count > 0 || holders->sites[i].at_peak > 0) {
            holders->sites[kept] = holders->sites[i];
            holders->sites[kept++].name = (uint32_t)i;
        }
    sort_items(holders->sites, kept, sizeof *holders->sites, by_peak);
    device->sites = holders->sites;
    device->site_count = kept;
    holders->sites = NULL;
}

/* --- The curve --- */

/* The place of a stack's site among those with a curve; -1: it has none. */
static int place_of(const struct holders *holders, int64_t stack)
{
    const struct snapshot_device *device = holders->history->device;

    for (int i = 0; i < SNAPSHOT_HOLDERS && i < device->site_count; i++)
        if (device->sites[i].name == holders->history->reading->stacks[stack].site)
            return i;
    return -1;
}

static enum status draw_curves(struct holders *holders)
{
    const struct memory_history *history = holders->history;
    struct snapshot_device *device = history->device;
    int64_t live[SNAPSHOT_HOLDERS] = { 0 }, point = 0;
    int8_t *places;

    TRY(rows_make(&places, holders->stack_count));
    for (int64_t i = 0; i < holders->stack_count; i++) {
        places[i] = (int8_t)place_of(holders, i);
        if (places[i] >= 0)
            live[places[i]] += holders->all_along[i];
    }
    for (int64_t i = 0; i < history->count && point < device->point_count; i++) {
        const struct memory_event *event = &history->events[i];
        bool takes = event->action == ALLOC, gives = event->action == FREE;
        if ((takes || gives) && places[event->stack] >= 0)
            live[places[event->stack]] += takes ? event->size : -event->size;
        if (i == device->points[point].event)
            memcpy(device->points[point++].of_site, live, sizeof live);
    }
    free(places);
    return STATUS_OK;
}

/* --- All --- */

enum status snapshot_holders(struct memory_history *history)
{
    enum status status = STATUS_OK;
    struct holders holders = { .history = history };

    TRY_OUT(for_blocks(&holders, number_block));
    holders.stack_count = history->reading->stack_count; /* all are known now */
    holders.name_count = intern_count(history->reading->snapshot->names);
    TRY_OUT(grow_blocks(&holders));
    TRY_OUT(rows_make(&holders.live, holders.stack_count));
    TRY_OUT(rows_make(&holders.all_along, holders.stack_count));
    TRY_OUT(rows_make(&history->at_peak, holders.stack_count));
    TRY_OUT(rows_make(&holders.sites, holders.name_count));
    TRY_OUT(follow_blocks(&holders));
    TRY_OUT(for_blocks(&holders, take_all_along));
    sort_sites(&holders);
    TRY_OUT(draw_curves(&holders));

out:
    free(holders.blocks);
    free(holders.live);
    free(holders.all_along);
    free(holders.sites);
    return status;
}
