#include "harness/desk/snapshot/snapshot.h"

#include "harness/base/rows.h"
#include "harness/desk/read/input/read_ahead.h"
#include "harness/desk/snapshot/snapshot_parts.h"

#include <stdlib.h>
#include <string.h>

/* Nodes are numbered with 32 bits, and take three bytes of the file each at least. */
#define BYTES_MOST (INT64_C(8) << 30)

static enum status read_bytes(const char *path, char **bytes, int64_t *size)
{
    enum status status = STATUS_OK;
    struct read_ahead *text = NULL;
    const char *piece;
    int64_t room = 0;
    size_t count;

    TRY_OUT(read_ahead_open(&text, path));
    do {
        TRY_OUT(read_ahead_next(text, &piece, &count));
        if (*size + (int64_t)count > BYTES_MOST)
            FAIL_OUT(STATUS_BAD_INPUT, "it is larger than 8 GiB");
        TRY_OUT(rows_grow(bytes, *size + (int64_t)count, &room));
        memcpy(*bytes + *size, piece, count);
        *size += (int64_t)count;
    } while (count > 0);

out:
    read_ahead_close(text);
    return status;
}

/* --- Segments --- */

static int64_t number(const struct pickle *pickle, int64_t node, const char *name)
{
    int64_t value = pickle_integer(pickle, pickle_member(pickle, node, name), 0);

    return value > 0 && value <= SNAPSHOT_SIZE_MOST ? value : 0;
}

/* Before PyTorch 2.1 a block has a history in place of its own figures. */
static int64_t requested(const struct pickle *pickle, int64_t block)
{
    int64_t history = pickle_member(pickle, block, "history");

    if (pickle_member(pickle, block, "requested_size") >= 0)
        return number(pickle, block, "requested_size");
    if (pickle_length(pickle, history) > 0)
        return number(pickle, pickle_item(pickle, history, 0), "real_size");
    return number(pickle, block, "size");
}

static void take_blocks(struct snapshot_device *device, const struct pickle *pickle, int64_t blocks)
{
    int64_t unused = 0, largest = 0, held = 0;

    for (int64_t i = 0; i < pickle_length(pickle, blocks); i++) {
        int64_t block = pickle_item(pickle, blocks, i), size = number(pickle, block, "size");
        int64_t state = pickle_member(pickle, block, "state");
        if (state >= 0 && pickle_text_is(pickle, (uint32_t)state, "inactive")) {
            unused += size;
            largest = size > largest ? size : largest;
            continue;
        }
        held += size;
        device->live_end += requested(pickle, block);
        device->rounding +=
            size - requested(pickle, block) > 0 ? size - requested(pickle, block) : 0;
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
                                int64_t segment)
{
    const struct pickle *pickle = &reading->pickle;
    int64_t blocks = pickle_member(pickle, segment, "blocks");
    int64_t pool = pickle_member(pickle, segment, "segment_pool_id");
    int64_t size = number(pickle, segment, "total_size");

    /* The same list may be in many places of a made-up file. */
    reading->blocks_left -= 1 + pickle_length(pickle, blocks);
    if (reading->blocks_left < 0)
        FAIL(STATUS_BAD_INPUT, "it has more blocks of memory than the file has room for");
    device->segment_count++;
    device->reserved += size;
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

static enum status take_devices(struct snapshot_reading *reading)
{
    struct snapshot *snapshot = reading->snapshot;
    const struct pickle *pickle = &reading->pickle;
    int64_t segments = pickle_member(pickle, pickle->root, "segments");
    int64_t traces = pickle_member(pickle, pickle->root, "device_traces");

    for (int i = 0; i < SNAPSHOT_DEVICES; i++) {
        struct snapshot_device *device = &snapshot->devices[snapshot->device_count];
        int64_t trace = -1;
        *device = (struct snapshot_device){ .device = i };
        for (int64_t j = 0; j < pickle_length(pickle, segments); j++) {
            int64_t segment = pickle_item(pickle, segments, j);
            if (pickle_integer(pickle, pickle_member(pickle, segment, "device"), 0) == i)
                TRY(take_segment(reading, device, segment));
        }
        if (i < pickle_length(pickle, traces))
            trace = pickle_item(pickle, traces, i);
        if (trace >= 0 || device->segment_count > 0)
            TRY(snapshot_history(reading, device, trace));
        snapshot_judge(snapshot, device);
        if (has_anything(device))
            snapshot->device_count++;
        else
            free(device->sites);
    }
    return STATUS_OK;
}

static enum status take_snapshot(struct snapshot_reading *reading)
{
    const struct pickle *pickle = &reading->pickle;
    int64_t settings = pickle_member(pickle, pickle->root, "allocator_settings");
    uint32_t unknown;

    if (pickle_member(pickle, pickle->root, "segments") < 0 &&
        pickle_member(pickle, pickle->root, "device_traces") < 0)
        FAIL(STATUS_BAD_INPUT, "it is a pickle, but no snapshot of PyTorch's memory: that has "
                               "\"segments\" and \"device_traces\"");
    reading->blocks_left = reading->snapshot->bytes < SNAPSHOT_COUNT_MOST ? reading->snapshot->bytes
                                                                          : SNAPSHOT_COUNT_MOST;
    TRY(rows_make(&reading->site_of, pickle->count));
    TRY(intern_open(&reading->snapshot->names, 1000));
    TRY(intern_add(reading->snapshot->names, "", 0, &unknown));
    reading->snapshot->expandable =
        pickle_integer(pickle, pickle_member(pickle, settings, "expandable_segments"), 0) != 0;
    return take_devices(reading);
}

enum status snapshot_read(struct snapshot *snapshot, const char *path)
{
    enum status status = STATUS_OK;
    struct snapshot_reading reading = { .snapshot = snapshot };
    char *bytes = NULL;

    *snapshot = (struct snapshot){ .names = NULL };
    TRY_OUT(read_bytes(path, &bytes, &snapshot->bytes));
    TRY_OUT(pickle_read(&reading.pickle, bytes, (size_t)snapshot->bytes));
    TRY_OUT(take_snapshot(&reading));

out:
    if (status != STATUS_OK)
        status_context("reading %s", path);
    pickle_release(&reading.pickle);
    free(reading.site_of);
    free(bytes);
    return status;
}

void snapshot_release(struct snapshot *snapshot)
{
    for (int i = 0; i < snapshot->device_count; i++) free(snapshot->devices[i].sites);
    if (snapshot->names != NULL)
        intern_close(snapshot->names);
    *snapshot = (struct snapshot){ .names = NULL };
}
