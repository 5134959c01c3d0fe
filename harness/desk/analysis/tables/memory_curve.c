/* Points are sorted by device and time. One pass over a device finds its curve and peak, a second one its
 * categories, with a look at them when the peak is reached. */
#include "harness/desk/analysis/tables/memory_curve.h"

#include "harness/base/sort.h"

#include <stdlib.h>
#include <string.h>

static int by_device_and_time(const void *left, const void *right)
{
    const struct memory_point *a = left, *b = right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->event->start_ns != b->event->start_ns)
        return a->event->start_ns < b->event->start_ns ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

static const struct event_block *block_of(const struct trace_file *trace,
                                          const struct memory_point *point)
{
    return &trace->blocks[point->event->detail];
}

static enum status find_points(struct memory_curve *memory, const struct trace_file *trace)
{
    enum status status = STATUS_OK;
    bool on_device = false;

    memory->points = malloc(((size_t)trace->block_count + 1) * sizeof *memory->points);
    if (memory->points == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld points of a curve",
             (long long)trace->block_count);
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

out:
    return status;
}

static bool is_first(const struct memory_curve *memory, int64_t i)
{
    return i == 0 || memory->points[i].device != memory->points[i - 1].device;
}

static enum status find_devices(struct memory_curve *memory)
{
    enum status status = STATUS_OK;
    size_t count = 0;

    for (int64_t i = 0; i < memory->point_count; i++) count += is_first(memory, i);
    memory->devices = calloc(count + 1, sizeof *memory->devices);
    if (memory->devices == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %zu devices", count);
    for (int64_t i = 0; i < memory->point_count; i++) {
        if (is_first(memory, i))
            memory->devices[memory->device_count++] =
                (struct memory_device){ .device = memory->points[i].device, .first_point = i };
        memory->devices[memory->device_count - 1].point_count++;
    }

out:
    return status;
}

/* A broken trace may overflow a sum, so it is made to wrap, which is defined. */
static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

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
        sum = plus(sum, point->event->bytes);
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

static int by_share_of_peak(const void *left, const void *right)
{
    const struct memory_category *a = left, *b = right;

    if (a->at_peak != b->at_peak)
        return a->at_peak > b->at_peak ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

static enum status add_categories(struct memory_curve *memory, struct memory_device *device,
                                  const struct category_now *now, size_t names)
{
    enum status status = STATUS_OK;
    struct memory_category *grown;
    int64_t count = 0;

    for (size_t i = 0; i < names; i++) count += now[i].seen;
    grown =
        realloc(memory->categories, (size_t)(memory->category_count + count + 1) * sizeof *grown);
    if (grown == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld categories", (long long)count);
    memory->categories = grown;
    device->first_category = memory->category_count;
    device->category_count = count;
    for (size_t i = 0; i < names; i++)
        if (now[i].seen)
            grown[memory->category_count++] =
                (struct memory_category){ (uint32_t)i, now[i].at_peak, now[i].peak };
    qsort(grown + device->first_category, (size_t)count, sizeof *grown, by_share_of_peak);

out:
    return status;
}

/* The peak is first reached at a point; categories are as they stood then. */
static enum status find_categories(struct memory_curve *memory, struct memory_device *device,
                                   const struct trace_file *trace)
{
    enum status status = STATUS_OK;
    size_t names = trace_file_name_count(trace);
    struct category_now *now = calloc(names, sizeof *now);
    bool peak_seen = false;

    if (now == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %zu categories", names);
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
            for (size_t name = 0; name < names; name++) now[name].at_peak = now[name].now;
        }
    }
    TRY(add_categories(memory, device, now, names));

out:
    free(now);
    return status;
}

enum status memory_curve_make(struct memory_curve *memory, const struct trace_file *trace)
{
    enum status status = STATUS_OK;

    memset(memory, 0, sizeof *memory);
    TRY(find_points(memory, trace));
    TRY(find_devices(memory));
    for (int64_t i = 0; i < memory->device_count; i++) {
        struct memory_device *device = &memory->devices[i];
        follow(device, memory->points + device->first_point, trace);
        TRY(find_categories(memory, device, trace));
    }

out:
    return status;
}

void memory_curve_release(struct memory_curve *memory)
{
    free(memory->points);
    free(memory->devices);
    free(memory->categories);
    memset(memory, 0, sizeof *memory);
}
