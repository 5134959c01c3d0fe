/* Points are sorted by device and time. One pass over a device finds its curve and peak, a second
 * one its categories, with a look at them when the peak is reached. */
#include "harness/desk/analysis/tables/memory_curve.h"

#include "harness/base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

COMPARATOR(by_device_and_time, struct memory_point,
           ASCENDING(device) ?: ASCENDING(event->start_ns) ?: ASCENDING(event))

static const struct event_block *block_of(const struct trace_file *trace,
                                          const struct memory_point *point)
{
    return &trace->blocks[point->event->detail];
}

/* If any block is on a device, those of the host are left out. */
static void find_points(struct memory_curve *memory, struct arena *arena,
                        const struct trace_file *trace)
{
    bool on_device = false;

    memory->points = ARENA_NEW(arena, struct memory_point, trace->block_count);
    for (int64_t i = 0; i < trace->block_count; i++)
        on_device = on_device || trace->blocks[i].on_device;
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->kind != EVENT_KIND_MEMORY || trace->blocks[event->detail].on_device != on_device)
            continue;
        memory->points[memory->point_count++] =
            (struct memory_point){ .device = trace->blocks[event->detail].device, .event = event };
    }
    sort_items(memory->points, memory->point_count, sizeof *memory->points, by_device_and_time);
}

static bool is_first(const struct memory_curve *memory, int64_t i)
{
    return i == 0 || memory->points[i].device != memory->points[i - 1].device;
}

static void find_devices(struct memory_curve *memory, struct arena *arena)
{
    int64_t count = 0;

    for (int64_t i = 0; i < memory->point_count; i++) count += is_first(memory, i);
    memory->devices = ARENA_NEW(arena, struct memory_device, count);
    for (int64_t i = 0; i < memory->point_count; i++) {
        if (is_first(memory, i))
            memory->devices[memory->device_count++] =
                (struct memory_device){ .device = memory->points[i].device, .first_point = i };
        memory->devices[memory->device_count - 1].point_count++;
    }
}

/* The curve, as the trace states it at each point, or else as a sum of changes from 0 on. */
static void follow(struct memory_device *device, struct memory_point *points,
                   const struct trace_file *trace)
{
    int64_t sum = 0;

    device->stated = true;
    for (int64_t i = 0; i < device->point_count; i++)
        device->stated = device->stated && block_of(trace, &points[i])->allocated >= 0;
    device->reserved_at_peak = device->reserved_peak = -1;
    for (int64_t i = 0; i < device->point_count; i++) {
        struct memory_point *point = &points[i];
        int64_t reserved = block_of(trace, point)->reserved;
        /* A broken trace may overflow a sum, so it is made to wrap, which is defined. */
        sum = (int64_t)((uint64_t)sum + (uint64_t)point->event->bytes);
        point->allocated = device->stated ? block_of(trace, point)->allocated : sum;
        if (i == 0 || point->allocated > device->peak) {
            device->peak = point->allocated;
            device->peak_at_ns = point->event->start_ns;
            device->reserved_at_peak = reserved;
        }
        if (reserved > device->reserved_peak)
            device->reserved_peak = reserved;
    }
    device->first = points[0].allocated;
    device->last = points[device->point_count - 1].allocated;
}

struct category_now {
    bool seen;
    int64_t now, peak, at_peak;
};

COMPARATOR(by_share_of_peak, struct memory_category, DESCENDING(at_peak) ?: ASCENDING(name))

/* Only names that a block has as its category. */
static void add_categories(struct memory_device *device, struct arena *arena,
                           const struct category_now *now, uint32_t names)
{
    int64_t count = 0;

    for (uint32_t i = 0; i < names; i++) count += now[i].seen;
    device->categories = ARENA_NEW(arena, struct memory_category, count);
    for (uint32_t i = 0; i < names; i++)
        if (now[i].seen)
            device->categories[device->category_count++] =
                (struct memory_category){ i, now[i].at_peak, now[i].peak };
    qsort(device->categories, (size_t)count, sizeof *device->categories, by_share_of_peak);
}

/* The peak is first reached at a point; categories are as they stood then. */
static void find_categories(const struct memory_curve *memory, struct memory_device *device,
                            struct arena *arena, const struct trace_file *trace)
{
    uint32_t names = trace_file_name_count(trace);
    SCRATCH_ARENA(scratch, arena);
    struct category_now *now = ARENA_NEW(scratch, struct category_now, names);
    bool peak_seen = false;

    for (int64_t i = 0; i < device->point_count; i++) {
        const struct memory_point *point = &memory->points[device->first_point + i];
        const struct event_block *block = block_of(trace, point);
        if (block->category != 0 && block->category_allocated >= 0) {
            struct category_now *category = &now[block->category];
            category->seen = true;
            category->now = block->category_allocated;
            if (category->now > category->peak)
                category->peak = category->now;
        }
        if (!peak_seen && point->allocated == device->peak) {
            /* A row of 0 bytes tells more of the moment before it. */
            if (i + 1 < device->point_count && point[1].event->bytes == 0 &&
                point[1].allocated == device->peak)
                continue;
            peak_seen = true;
            for (uint32_t name = 0; name < names; name++) now[name].at_peak = now[name].now;
        }
    }
    add_categories(device, arena, now, names);
}

struct memory_curve memory_curve_of(struct arena *arena, const struct trace_file *trace)
{
    struct memory_curve memory = { .point_count = 0 };

    find_points(&memory, arena, trace);
    find_devices(&memory, arena);
    for (int64_t i = 0; i < memory.device_count; i++) {
        struct memory_device *device = &memory.devices[i];
        follow(device, memory.points + device->first_point, trace);
        find_categories(&memory, device, arena, trace);
    }
    return memory;
}

/* --- Samples for pictures --- */

/* One pass chooses the points, a second one follows the categories and notes them at those
 * points. */

/* Marks the points that stay: of each part the lowest and the highest, so that no peak is lost. */
static void choose(bool *stays, const struct memory_point *points, int64_t count, int64_t most)
{
    int64_t parts = most / 2;

    if (count <= most) {
        memset(stays, true, (size_t)count * sizeof *stays);
        return;
    }
    for (int64_t part = 0; part < parts; part++) {
        int64_t low = count * part / parts, high = low;
        for (int64_t i = low; i < count * (part + 1) / parts; i++) {
            low = points[i].allocated < points[low].allocated ? i : low;
            high = points[i].allocated > points[high].allocated ? i : high;
        }
        stays[low] = stays[high] = true;
    }
}

/* `numbers` gives the place of a name's category; -1: it is none. */
static void follow_samples(struct memory_samples *samples, const struct memory_point *points,
                           int64_t count, const struct trace_file *trace, const bool *stays,
                           const int *numbers, double *now)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < count; i++) {
        const struct event_block *block = &trace->blocks[points[i].event->detail];
        int number = numbers[block->category];
        if (number >= 0 && block->category_allocated >= 0)
            now[number] = (double)block->category_allocated;
        if (!stays[i])
            continue;
        samples->at_ns[kept] = (double)(points[i].event->start_ns - samples->start_ns);
        samples->allocated[kept] = (double)points[i].allocated;
        samples->reserved[kept] = block->reserved >= 0 ? (double)block->reserved : (double)NAN;
        for (int64_t j = 0; j < samples->category_count; j++)
            samples->categories[j * samples->count + kept] = now[j];
        kept++;
    }
}

struct memory_samples memory_samples_of(struct arena *arena, const struct memory_curve *memory,
                                        const struct memory_device *device,
                                        const struct trace_file *trace, int64_t most)
{
    const struct memory_point *points = memory->points + device->first_point;
    uint32_t names = trace_file_name_count(trace);
    int64_t count = device->point_count, categories = device->category_count;
    SCRATCH_ARENA(scratch, arena);
    bool *stays = ARENA_NEW(scratch, bool, count);
    int *numbers = ARENA_NEW(scratch, int, names);
    double *now = ARENA_NEW(scratch, double, categories);
    struct memory_samples samples = { .category_count = categories };

    choose(stays, points, count, most);
    for (int64_t i = 0; i < count; i++) samples.count += stays[i];
    samples.start_ns = count > 0 ? points[0].event->start_ns : 0;
    samples.at_ns = ARENA_NEW(arena, double, samples.count);
    samples.allocated = ARENA_NEW(arena, double, samples.count);
    samples.reserved = ARENA_NEW(arena, double, samples.count);
    samples.categories = ARENA_NEW(arena, double, categories *samples.count);
    for (uint32_t i = 0; i < names; i++) numbers[i] = -1;
    for (int64_t i = 0; i < categories; i++) numbers[device->categories[i].name] = (int)i;
    follow_samples(&samples, points, count, trace, stays, numbers, now);
    return samples;
}
