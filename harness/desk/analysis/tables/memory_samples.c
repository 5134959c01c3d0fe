/* One pass chooses the points, a second one follows the categories and notes them at those
 * points. */
#include "harness/desk/analysis/tables/memory_samples.h"

#include <math.h>
#include <string.h>

static const struct memory_point *points_of(const struct memory_curve *memory,
                                            const struct memory_device *device)
{
    return memory->points + device->first_point;
}

/* Marks the points that stay. */
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
static void follow(struct memory_samples *samples, const struct memory_point *points, int64_t count,
                   const struct trace_file *trace, const bool *stays, const int *numbers,
                   double *now)
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
    const struct memory_point *points = points_of(memory, device);
    uint32_t names = trace_file_name_count(trace);
    int64_t count = device->point_count, categories = device->category_count;
    struct arena *scratch = arena_scratch(arena);
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
    follow(&samples, points, count, trace, stays, numbers, now);
    arena_close(scratch);
    return samples;
}
