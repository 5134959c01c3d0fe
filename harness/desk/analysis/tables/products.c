/* Operators that state their work are sorted by thread and start. Each product counts for the
 * operator that its call was made in, and operators of equal work become one kind. */
#include "harness/desk/analysis/tables/kernel_table.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"

#include <math.h>
#include <stdlib.h>

/* If work differs by less, it is not known how time grows with it. */
#define WORK_RATIO_LEAST 4.0

/* An operator with the products that it launched, or all operators with the same work per
 * product. */
struct stated {
    const struct trace_event *event;
    double flops; /* per product */
    double count, ns;
};

COMPARATOR(by_place, struct stated, ASCENDING(event->track) ?: ASCENDING(event->start_ns))

COMPARATOR(by_flops, struct stated, ASCENDING(flops))

static struct stated *find_stated(struct arena *scratch, int64_t *count,
                                  const struct trace_file *trace)
{
    struct stated *stated = ARENA_NEW(scratch, struct stated, trace->operator_count);

    *count = 0;
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->kind == EVENT_KIND_OPERATOR && event->detail != NO_DETAIL &&
            trace->operators[event->detail].flops > 0)
            stated[(*count)++] =
                (struct stated){ .event = event,
                                 .flops = (double)trace->operators[event->detail].flops };
    }
    sort_items(stated, *count, sizeof *stated, by_place);
    return stated;
}

/* The last operator that begins on the call's thread before the call, if it has not ended then. */
static struct stated *around(struct stated *stated, int64_t count, const struct trace_event *call)
{
    int64_t low = 0, high = count;

    BISECT(low, high, i, trace_event_begins_by(stated[i].event, call));
    if (low == 0 || stated[low - 1].event->track != call->track ||
        call->start_ns >= stated[low - 1].event->end_ns)
        return NULL;
    return &stated[low - 1];
}

static void count_products(struct stated *stated, int64_t count, struct arena *scratch,
                           const struct timeline *timeline)
{
    const struct trace_file *trace = timeline->trace;
    uint32_t names = trace_file_name_count(trace);
    bool *is_product = ARENA_NEW(scratch, bool, names);

    for (uint32_t i = 0; i < names; i++) is_product[i] = name_is_product(trace_file_name(trace, i));
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        struct stated *one;
        if (work->call == NULL || work->kind != WORK_COMPUTATION || !is_product[work->event->name])
            continue;
        one = around(stated, count, work->call);
        if (one != NULL) {
            one->count++;
            one->ns += (double)(work->event->end_ns - work->event->start_ns);
        }
    }
}

/* Leaves kinds, by ascending work. */
static int64_t gather(struct stated *stated, int64_t count)
{
    int64_t kinds = 0, kept = 0;

    for (int64_t i = 0; i < count; i++)
        if (stated[i].count > 0) {
            stated[kept] = stated[i];
            stated[kept].flops /= stated[kept].count;
            kept++;
        }
    qsort(stated, (size_t)kept, sizeof *stated, by_flops);
    for (int64_t i = 0; i < kept; i++) {
        struct stated *last = kinds > 0 ? &stated[kinds - 1] : NULL;
        if (last != NULL && !(stated[i].flops > last->flops)) {
            last->count += stated[i].count;
            last->ns += stated[i].ns;
        } else {
            stated[kinds++] = stated[i];
        }
    }
    return kinds;
}

double products_fixed_ns(struct arena *arena, const struct timeline *timeline, double count_least)
{
    struct arena *scratch = arena_scratch(arena);
    int64_t count;
    struct stated *stated = find_stated(scratch, &count, timeline->trace);
    struct stated shortest = { .count = 0 }, largest = { .count = 0 };
    double least_ns, more_ns;

    count_products(stated, count, scratch, timeline);
    count = gather(stated, count);
    for (int64_t i = 0; i < count; i++) {
        const struct stated *kind = &stated[i];
        if (kind->count < count_least)
            continue;
        if (shortest.count == 0 || kind->ns / kind->count < shortest.ns / shortest.count)
            shortest = *kind;
        largest = *kind;
    }
    arena_close(scratch);
    if (shortest.count == 0 || !(largest.flops >= WORK_RATIO_LEAST * shortest.flops))
        return NAN;
    least_ns = shortest.ns / shortest.count;
    more_ns = largest.ns / largest.count - least_ns;
    return fmax(0, least_ns - shortest.flops * more_ns / (largest.flops - shortest.flops));
}
