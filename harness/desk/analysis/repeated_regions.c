/* Annotations are sorted by thread, name and start, so that those of a kind are neighbours. */
#include "harness/desk/analysis/repeated_regions.h"

#include "harness/base/hash.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/phases.h"

#include <string.h>

struct annotation {
    const struct trace_event *event;
    uint64_t name; /* a hash, without digits */
};

struct annotations {
    struct annotation *items;
    int64_t count;
};

static uint64_t hash_of(const char *name)
{
    uint64_t hash = HASH_EMPTY;

    for (; *name != '\0'; name++)
        if (*name < '0' || *name > '9')
            hash = hash_add(hash, name, 1);
    return hash;
}

static bool has_meaning(const char *name)
{
    enum phase phase;

    return phase_of_name(name, &phase) || name_is_data_loading(name) || name_is_logging(name) ||
           name_is_saving(name) || name_compiles(name) || name_is_communication(name) ||
           name_is_host_communication(name) || strncmp(name, "Optimizer.", 10) == 0;
}

COMPARATOR(by_thread_and_name, struct annotation,
           ASCENDING(event->track) ?: ASCENDING(name) ?: ASCENDING(event->start_ns))

static struct annotations collect(struct arena *scratch, const struct timeline *timeline)
{
    struct annotations regions = { .items = ARENA_NEW(scratch, struct annotation,
                                                      timeline->host_count) };

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        const char *name = trace_file_name(timeline->trace, event->name);
        if (event->kind == EVENT_KIND_ANNOTATION && !has_meaning(name))
            regions.items[regions.count++] = (struct annotation){ event, hash_of(name) };
    }
    sort_items(regions.items, regions.count, sizeof *regions.items, by_thread_and_name);
    return regions;
}

/* The time that regions of a kind take, from number `first` to before `end`; 0: one is within
 * another. */
static int64_t covered_ns(const struct annotations *regions, int64_t first, int64_t end)
{
    int64_t ns = 0;

    for (int64_t i = first; i < end; i++) {
        const struct trace_event *event = regions->items[i].event;
        if (i > first && event->start_ns < regions->items[i - 1].event->end_ns)
            return 0;
        ns += event->end_ns - event->start_ns;
    }
    return ns;
}

/* From the first event of the host or of a device to the last. */
static int64_t recorded_ns(const struct timeline *timeline)
{
    int64_t start_ns = timeline->all.work_count > 0 ? timeline->all.start_ns : INT64_MAX;
    int64_t end_ns = timeline->all.work_count > 0 ? timeline->all.end_ns : INT64_MIN;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        start_ns = interval_earlier(start_ns, timeline->host[i]->start_ns);
        end_ns = interval_later(end_ns, timeline->host[i]->end_ns);
    }
    return start_ns < end_ns ? end_ns - start_ns : 0;
}

struct steps repeated_regions_of(struct arena *arena, const struct timeline *timeline)
{
    struct arena *scratch = arena_scratch(arena);
    struct annotations regions = collect(scratch, timeline);
    const struct trace_event **events =
        ARENA_NEW(scratch, const struct trace_event *, regions.count);
    double least_ns = REGIONS_SHARE * (double)recorded_ns(timeline);
    int64_t best = 0, best_count = 0, best_ns = 0, end;
    struct steps steps;

    for (int64_t first = 0; first < regions.count; first = end) {
        int64_t ns;
        for (end = first + 1; end < regions.count &&
                              regions.items[end].name == regions.items[first].name &&
                              regions.items[end].event->track == regions.items[first].event->track;)
            end++;
        ns = end - first >= REGIONS_LEAST ? covered_ns(&regions, first, end) : 0;
        if (ns > best_ns && (double)ns >= least_ns) {
            best = first;
            best_count = end - first;
            best_ns = ns;
        }
    }
    for (int64_t i = 0; i < best_count; i++) events[i] = regions.items[best + i].event;
    steps = steps_of_regions(arena, timeline, events, best_count);
    arena_close(scratch);
    return steps;
}
