/* One pass chooses the points, a second one follows the categories and notes them at those points. */
#include "harness/desk/analysis/tables/memory_samples.h"

#include <math.h>
#include <stdlib.h>
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

enum status memory_samples_make(struct memory_samples *samples, const struct memory_curve *memory,
                                const struct memory_device *device, const struct trace_file *trace,
                                int64_t most)
{
    const struct memory_point *points = points_of(memory, device);
    size_t names = trace_file_name_count(trace), count = (size_t)device->point_count,
           categories = (size_t)device->category_count;
    bool *stays = calloc(count + 1, sizeof *stays);
    int *numbers = malloc((names + 1) * sizeof *numbers);
    double *now = calloc(categories + 1, sizeof *now);
    enum status status = STATUS_OK;

    *samples = (struct memory_samples){ .category_count = device->category_count };
    if (stays == NULL || numbers == NULL || now == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %zu points of a curve", count);
    if (count == 0)
        goto out;
    choose(stays, points, device->point_count, most);
    for (size_t i = 0; i < count; i++) samples->count += stays[i];
    samples->start_ns = points[0].event->start_ns;
    samples->at_ns = calloc((size_t)samples->count, sizeof *samples->at_ns);
    samples->allocated = calloc((size_t)samples->count, sizeof *samples->allocated);
    samples->reserved = calloc((size_t)samples->count, sizeof *samples->reserved);
    samples->categories =
        calloc((categories + 1) * (size_t)samples->count, sizeof *samples->categories);
    if (samples->at_ns == NULL || samples->allocated == NULL || samples->reserved == NULL ||
        samples->categories == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld points of a curve",
             (long long)samples->count);
    for (size_t i = 0; i < names; i++) numbers[i] = -1;
    for (size_t i = 0; i < categories; i++)
        numbers[memory->categories[device->first_category + (int64_t)i].name] = (int)i;
    follow(samples, points, device->point_count, trace, stays, numbers, now);

out:
    free(stays);
    free(numbers);
    free(now);
    return status;
}

void memory_samples_release(struct memory_samples *samples)
{
    free(samples->at_ns);
    free(samples->allocated);
    free(samples->reserved);
    free(samples->categories);
    *samples = (struct memory_samples){ .count = 0 };
}
