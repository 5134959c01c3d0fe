/* The totals of each device, from the blocks of its segments; other files of this folder read the
 * history. */
#include "harness/desk/snapshot/snapshot.h"

#include "harness/desk/snapshot/snapshot_parts.h"

#include <stdlib.h>
#include <string.h>

/* --- Segments --- */

int64_t snapshot_size(const struct pickle *pickle, uint32_t dict, enum snapshot_word name)
{
    int64_t value = pickle_integer(pickle, pickle_member(pickle, dict, name), 0);

    return value > 0 && value <= SNAPSHOT_SIZE_MOST ? value : 0;
}

/* Before PyTorch 2.1 a block has a history in place of its own figures. */
int64_t snapshot_requested(const struct pickle *pickle, uint32_t block)
{
    uint32_t history = pickle_member(pickle, block, WORD_HISTORY);

    if (pickle_member(pickle, block, WORD_REQUESTED_SIZE) != 0)
        return snapshot_size(pickle, block, WORD_REQUESTED_SIZE);
    if (pickle_length(pickle, history) > 0)
        return snapshot_size(pickle, pickle_item(pickle, history, 0), WORD_REAL_SIZE);
    return snapshot_size(pickle, block, WORD_SIZE);
}

bool snapshot_is_of(const struct pickle *pickle, uint32_t segment, int64_t device)
{
    return pickle_integer(pickle, pickle_member(pickle, segment, WORD_DEVICE), 0) == device;
}

/* Unused memory of a segment with a block in use is free in pieces; a segment without one could go
 * back to the driver as a whole. */
static void take_blocks(struct snapshot_device *device, const struct pickle *pickle,
                        uint32_t blocks)
{
    int64_t unused = 0, largest = 0, held = 0;

    for (int64_t i = 0; i < pickle_length(pickle, blocks); i++) {
        uint32_t block = pickle_item(pickle, blocks, i);
        int64_t size = snapshot_size(pickle, block, WORD_SIZE);
        int64_t asked = snapshot_requested(pickle, block);
        if (pickle_is(pickle, pickle_member(pickle, block, WORD_STATE), WORD_INACTIVE)) {
            unused += size;
            largest = size > largest ? size : largest;
            continue;
        }
        held += size;
        device->live_end += asked;
        device->rounding += size > asked ? size - asked : 0;
    }
    device->active += held;
    if (held == 0) {
        device->free_whole += unused;
        return;
    }
    device->free_pieces += unused;
    device->largest_piece = largest > device->largest_piece ? largest : device->largest_piece;
}

static enum status take_segment(struct snapshot_reading *reading, struct snapshot_device *device,
                                uint32_t segment)
{
    const struct pickle *pickle = &reading->pickle;
    uint32_t blocks = pickle_member(pickle, segment, WORD_BLOCKS);
    uint32_t pool = pickle_member(pickle, segment, WORD_SEGMENT_POOL_ID);
    int64_t size = snapshot_size(pickle, segment, WORD_TOTAL_SIZE);

    /* A pickle may name one list of blocks in many segments, so a small file could take very long.
     */
    reading->blocks_left -= 1 + pickle_length(pickle, blocks);
    if (reading->blocks_left < 0)
        FAIL(STATUS_BAD_INPUT, "it has more blocks of memory than the file has room for");
    device->segment_count++;
    device->reserved += size;
    /* The general pool is (0, 0); any other is one of a CUDA graph. */
    for (int64_t i = 0; i < pickle_length(pickle, pool) && i < 2; i++)
        if (pickle_integer(pickle, pickle_item(pickle, pool, i), 0) != 0) {
            device->pool_reserved += size;
            break;
        }
    take_blocks(device, pickle, blocks);

    return STATUS_OK;
}

/* --- Devices --- */

static bool has_anything(const struct snapshot_device *device)
{
    return device->segment_count > 0 || device->event_count > 0;
}

enum { EVENT_BYTES_LEAST = 8 }; /* PyTorch's take 40 and more */

static void release_device(struct snapshot_device *device)
{
    free(device->points);
    free(device->sites);
    free(device->calls);
    *device = (struct snapshot_device){ .device = 0 };
}

static enum status take_device(struct snapshot_reading *reading, struct snapshot_device *device)
{
    const struct pickle *pickle = &reading->pickle;
    uint32_t segments = pickle_member(pickle, pickle->root, WORD_SEGMENTS);
    uint32_t traces = pickle_member(pickle, pickle->root, WORD_DEVICE_TRACES), trace = 0;

    for (int64_t i = 0; i < pickle_length(pickle, segments); i++) {
        uint32_t segment = pickle_item(pickle, segments, i);
        if (snapshot_is_of(pickle, segment, device->device))
            TRY(take_segment(reading, device, segment));
    }
    if (device->device < pickle_length(pickle, traces))
        trace = pickle_item(pickle, traces, device->device);
    if (pickle_length(pickle, trace) > 0 || device->segment_count > 0)
        TRY(snapshot_history(reading, device, trace));
    snapshot_judge(reading->snapshot, device);

    return STATUS_OK;
}

static enum status take_devices(struct snapshot_reading *reading)
{
    struct snapshot *snapshot = reading->snapshot;

    for (int i = 0; i < SNAPSHOT_DEVICES; i++) {
        struct snapshot_device *device = &snapshot->devices[snapshot->device_count];
        enum status status;
        device->device = i;
        status = take_device(reading, device);
        if (status == STATUS_OK && has_anything(device))
            snapshot->device_count++;
        else
            release_device(device);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status take_snapshot(struct snapshot_reading *reading)
{
    const struct pickle *pickle = &reading->pickle;
    struct snapshot *snapshot = reading->snapshot;
    uint32_t settings = pickle_member(pickle, pickle->root, WORD_ALLOCATOR_SETTINGS), number;

    if (pickle_member(pickle, pickle->root, WORD_SEGMENTS) == 0 &&
        pickle_member(pickle, pickle->root, WORD_DEVICE_TRACES) == 0)
        FAIL(STATUS_BAD_INPUT, "it is a pickle, but no snapshot of PyTorch's memory: that has "
                               "\"segments\" and \"device_traces\"");
    snapshot->bytes = pickle->bytes;
    reading->blocks_left =
        snapshot->bytes < SNAPSHOT_COUNT_MOST ? snapshot->bytes : SNAPSHOT_COUNT_MOST;
    reading->events_left = snapshot->bytes / EVENT_BYTES_LEAST;
    TRY(intern_open(&snapshot->names, SNAPSHOT_LABEL));
    TRY(snapshot_stack_number(reading, 0, &number)); /* number 0: memory without a stack */
    snapshot->expandable =
        pickle_integer(pickle, pickle_member(pickle, settings, WORD_EXPANDABLE_SEGMENTS), 0) != 0;
    return take_devices(reading);
}

enum status snapshot_read(struct snapshot *snapshot, const char *path)
{
    static const char *const words[WORD_COUNT] = {
#define SNAPSHOT_WORD(name, text) [WORD_##name] = (text),
        SNAPSHOT_MEMBERS(SNAPSHOT_WORD) SNAPSHOT_WORDS(SNAPSHOT_WORD)
#undef SNAPSHOT_WORD
    };
    enum status status = STATUS_OK;
    struct snapshot_reading reading = { .snapshot = snapshot };

    *snapshot = (struct snapshot){ .names = NULL };
    TRY_OUT(pickle_read(&reading.pickle, path, words, WORD_COUNT, WORD_MEMBERS));
    TRY_OUT(take_snapshot(&reading));

out:
    if (status != STATUS_OK)
        status_context("reading %s", path);
    pickle_release(&reading.pickle);
    free(reading.stacks);
    return status;
}

void snapshot_release(struct snapshot *snapshot)
{
    for (int i = 0; i < snapshot->device_count; i++) release_device(&snapshot->devices[i]);
    intern_close(snapshot->names);
    *snapshot = (struct snapshot){ .names = NULL };
}
