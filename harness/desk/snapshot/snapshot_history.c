/* The history is gone through twice: once for the curve and its peak, once for who holds what then. */
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/desk/snapshot/snapshot_parts.h"

#include <stdlib.h>
#include <string.h>

enum action { ALLOC, FREE, SEGMENT_ALLOC, SEGMENT_FREE, MAP, UNMAP, OOM, OTHER };

/* An event of the history. */
struct memory_event {
    enum action action;
    uint32_t site;
    int64_t address, size, time_us;
};

/* Blocks by address: open addressing, at most half full. */
struct live_block {
    int64_t address, size;
    uint32_t site;
    bool used;
};

struct memory_history {
    struct snapshot_reading *reading;
    struct snapshot_device *device;
    struct memory_event *events;
    int64_t count;
    int64_t *marks; /* numbers of events, ascending */
    int64_t mark_count, mark_room;
    struct live_block *blocks;
    int64_t block_mask;
    struct snapshot_site *sites; /* by name */
    int64_t *live_of;            /* by name */
    int64_t name_count;
};

static enum action action_of(const struct pickle *pickle, int64_t node)
{
    static const char *const names[] = { [ALLOC] = "alloc",
                                         [FREE] = "free_completed",
                                         [SEGMENT_ALLOC] = "segment_alloc",
                                         [SEGMENT_FREE] = "segment_free",
                                         [MAP] = "segment_map",
                                         [UNMAP] = "segment_unmap",
                                         [OOM] = "oom" };

    for (size_t i = 0; node >= 0 && i < ARRAY_SIZE(names); i++)
        if (pickle_text_is(pickle, (uint32_t)node, names[i]))
            return (enum action)i;
    return OTHER;
}

static enum status take_event(struct memory_history *history, int64_t node)
{
    struct snapshot_reading *reading = history->reading;
    const struct pickle *pickle = &reading->pickle;
    struct memory_event *event = &history->events[history->count];

    event->action = action_of(pickle, pickle_member(pickle, node, "action"));
    event->address = pickle_integer(
        pickle, pickle_member(pickle, node, event->action == OOM ? "device_free" : "addr"), 0);
    event->size = pickle_integer(pickle, pickle_member(pickle, node, "size"), 0);
    event->time_us = pickle_integer(pickle, pickle_member(pickle, node, "time_us"), 0);
    event->site = 0;
    if (event->size < 0 || event->size > SNAPSHOT_SIZE_MOST)
        event->size = 0;
    if (event->action == ALLOC)
        TRY(snapshot_site_name(reading, pickle_member(pickle, node, "frames"), &event->site));
    history->count++;

    return STATUS_OK;
}

/* --- Sums --- */

static int64_t live_change(const struct memory_event *event)
{
    return event->action == ALLOC ? event->size : event->action == FREE ? -event->size : 0;
}

static int64_t reserved_change(const struct memory_event *event)
{
    return event->action == SEGMENT_ALLOC || event->action == MAP    ? event->size
           : event->action == SEGMENT_FREE || event->action == UNMAP ? -event->size
                                                                     : 0;
}

static void take_oom(struct snapshot_device *device, const struct memory_event *event, int64_t live,
                     int64_t reserved)
{
    if (device->oom_count < SNAPSHOT_OOMS)
        device->ooms[device->oom_count] =
            (struct snapshot_oom){ event->size, event->address, live, reserved };
    device->oom_count++;
}

static void take_counts(struct snapshot_device *device, const struct memory_event *event)
{
    device->alloc_count += event->action == ALLOC;
    device->segment_alloc_count += event->action == SEGMENT_ALLOC;
    device->segment_free_count += event->action == SEGMENT_FREE;
}

/* The curve; live_end and reserved are of the segments. */
static void follow(struct memory_history *history)
{
    struct snapshot_device *device = history->device;
    int64_t live, reserved = device->reserved, sum = 0;

    for (int64_t i = 0; i < history->count; i++) {
        sum += live_change(&history->events[i]);
        reserved -= reserved_change(&history->events[i]);
    }
    live = device->live_end - sum;
    device->live_start = live = live > 0 ? live : 0;
    device->live_peak = live;
    device->peak_event = -1;
    for (int64_t i = 0; i < history->count; i++) {
        const struct memory_event *event = &history->events[i];
        int64_t *piece = &device->curve[i * SNAPSHOT_CURVE / history->count];
        live += live_change(event);
        reserved += reserved_change(event);
        if (event->action == OOM)
            take_oom(device, event, live, reserved);
        take_counts(device, event);
        *piece = live > *piece ? live : *piece;
        if (live > device->live_peak) {
            device->live_peak = live;
            device->peak_event = i;
        }
    }
}

/* --- Who holds it --- */

static struct live_block *find_block(struct memory_history *history, int64_t address)
{
    uint64_t at = (uint64_t)address * UINT64_C(0x9e3779b97f4a7c15);

    for (at ^= at >> 29;; at++) {
        struct live_block *block = &history->blocks[at & (uint64_t)history->block_mask];
        if (!block->used || block->address == address)
            return block;
    }
}

/* Freed blocks keep their place, with no bytes, so a search never ends too early. */
static void hold(struct memory_history *history, const struct memory_event *event)
{
    struct live_block *block;

    if (event->action != ALLOC && event->action != FREE)
        return;
    block = find_block(history, event->address);
    if (block->used)
        history->live_of[block->site] -= block->size;
    if (event->action == FREE && !block->used)
        return; /* from before the history */
    if (event->action == ALLOC) {
        *block = (struct live_block){ event->address, event->size, event->site, true };
        history->live_of[event->site] += event->size;
        history->sites[event->site].count++;
    } else {
        block->size = 0;
    }
}

/* Marks that begin steps: annotations of a profiler or an optimizer, as far as they are within the history. */
static enum status add_mark(struct memory_history *history, int64_t time_us)
{
    int64_t low = 0, high = history->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (history->events[middle].time_us < time_us)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || low == history->count)
        return STATUS_OK;
    TRY(rows_grow(&history->marks, history->mark_count + 1, &history->mark_room));
    history->marks[history->mark_count++] = low;

    return STATUS_OK;
}

static bool text_begins(const struct pickle *pickle, int64_t node, const char *with)
{
    const struct pickle_node *one = node >= 0 ? &pickle->nodes[node] : NULL;

    return one != NULL && one->type == PICKLE_TEXT && one->count >= strlen(with) &&
           memcmp(pickle->bytes + one->at, with, strlen(with)) == 0;
}

static enum status find_marks(struct memory_history *history, const char *name)
{
    const struct pickle *pickle = &history->reading->pickle;
    int64_t list = pickle_member(pickle, pickle->root, "external_annotations");

    history->mark_count = 0;
    for (int64_t i = 0; i < pickle_length(pickle, list); i++) {
        int64_t one = pickle_item(pickle, list, i);
        int64_t stage = pickle_member(pickle, one, "stage");
        int64_t device = pickle_integer(pickle, pickle_member(pickle, one, "device"), -1);
        if (stage >= 0 && pickle_text_is(pickle, (uint32_t)stage, "START") &&
            device == history->device->device &&
            text_begins(pickle, pickle_member(pickle, one, "name"), name))
            TRY(add_mark(history,
                         pickle_integer(pickle, pickle_member(pickle, one, "time_us"), 0)));
    }
    sort_items(history->marks, history->mark_count, sizeof *history->marks, sort_by_int64);
    return STATUS_OK;
}

enum { STEPS_LEAST = 4, PIECES = 8 };

static enum status choose_marks(struct memory_history *history)
{
    struct snapshot_device *device = history->device;
    static const char *const names[] = { "ProfilerStep#", "Optimizer.step#" };

    for (size_t i = 0; i < ARRAY_SIZE(names) && history->mark_count < STEPS_LEAST; i++)
        TRY(find_marks(history, names[i]));
    device->has_steps = history->mark_count >= STEPS_LEAST;
    device->mark_count = history->mark_count;
    if (device->has_steps || history->count < 10 * PIECES)
        return STATUS_OK;
    history->mark_count = 0;
    for (int64_t i = 1; i <= PIECES; i++) {
        TRY(rows_grow(&history->marks, history->mark_count + 1, &history->mark_room));
        history->marks[history->mark_count++] = i * history->count / PIECES - 1;
    }
    device->mark_count = history->mark_count;
    return STATUS_OK;
}

/* Compares the bytes live at each mark, or, without steps, the least since the mark before: steps come and go in it. */
static void compare_marks(struct memory_history *history)
{
    struct snapshot_device *device = history->device;
    int64_t live = device->live_start, before = 0, first = 0, at = 0, least = live, segments = 0;

    for (int64_t i = 0; i < history->count && at < history->mark_count; i++) {
        int64_t value;
        live += live_change(&history->events[i]);
        least = live < least ? live : least;
        segments += 2 * at >= history->mark_count && history->events[i].action == SEGMENT_ALLOC;
        for (; at < history->mark_count && history->marks[at] <= i; at++) {
            value = device->has_steps ? live : least;
            first = at == 0 ? value : first;
            device->grows += at > 0 && value > before;
            device->grown = value - first;
            before = value;
            least = live;
        }
    }
    if (device->has_steps)
        device->churn_per_step = segments / (history->mark_count - history->mark_count / 2);
}

static void note_sites(struct memory_history *history, bool last)
{
    for (int64_t i = 0; i < history->name_count; i++)
        *(last ? &history->sites[i].last : &history->sites[i].first) = history->live_of[i];
}

static void hold_all(struct memory_history *history)
{
    struct snapshot_device *device = history->device;
    int64_t held = 0, first = history->mark_count > 0 ? history->marks[0] : -1,
            last = history->mark_count > 0 ? history->marks[history->mark_count - 1] : -1;

    for (int64_t i = 0; i < history->count; i++) {
        hold(history, &history->events[i]);
        if (i == first)
            note_sites(history, false);
        if (i == last)
            note_sites(history, true);
        if (i == device->peak_event)
            for (int64_t j = 0; j < history->name_count; j++)
                held += history->sites[j].at_peak = history->live_of[j];
    }
    device->before = device->live_peak > held ? device->live_peak - held : 0;
}

static int by_peak(const void *left, const void *right)
{
    const struct snapshot_site *a = left, *b = right;

    if (a->at_peak != b->at_peak)
        return a->at_peak > b->at_peak ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

static enum status find_holders(struct memory_history *history)
{
    struct snapshot_device *device = history->device;
    int64_t slots = 16;

    while (slots < 2 * (device->alloc_count + 1)) slots *= 2;
    history->block_mask = slots - 1;
    history->name_count = intern_count(history->reading->snapshot->names);
    TRY(rows_make(&history->blocks, slots));
    TRY(rows_make(&history->live_of, history->name_count));
    TRY(rows_make(&history->sites, history->name_count));
    for (int64_t i = 0; i < history->name_count; i++) history->sites[i].name = (uint32_t)i;
    hold_all(history);
    sort_items(history->sites, history->name_count, sizeof *history->sites, by_peak);
    device->sites = history->sites;
    device->site_count = history->name_count;
    history->sites = NULL;

    return STATUS_OK;
}

enum status snapshot_history(struct snapshot_reading *reading, struct snapshot_device *device,
                             int64_t trace)
{
    enum status status = STATUS_OK;
    struct memory_history history = { .reading = reading, .device = device };
    int64_t count = pickle_length(&reading->pickle, trace);

    if (count > SNAPSHOT_COUNT_MOST)
        FAIL_OUT(STATUS_BAD_INPUT, "its history has more than %d events", SNAPSHOT_COUNT_MOST);
    TRY_OUT(rows_make(&history.events, count));
    for (int64_t i = 0; i < count; i++)
        TRY_OUT(take_event(&history, pickle_item(&reading->pickle, trace, i)));
    device->event_count = count;
    if (count > 0) {
        device->start_us = history.events[0].time_us;
        device->end_us = history.events[count - 1].time_us;
    }
    follow(&history);
    TRY_OUT(choose_marks(&history));
    compare_marks(&history);
    TRY_OUT(find_holders(&history));

out:
    free(history.events);
    free(history.marks);
    free(history.blocks);
    free(history.live_of);
    free(history.sites);
    return status;
}
