/* Operators that state their work are sorted by thread and start. Each product counts for the operator that
 * its call was made in, and operators of equal work become one kind. */
#include "harness/desk/analysis/tables/products.h"

#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"

#include <math.h>
#include <stdlib.h>

/* If work differs by less, it is not known how time grows with it. */
#define WORK_RATIO_LEAST 4.0

/* An operator with the products that it launched, or all operators with the same work per product. */
struct stated {
    const struct trace_event *event;
    double flops; /* per product */
    double count, ns;
};

static int by_place(const void *left, const void *right)
{
    const struct trace_event *a = ((const struct stated *)left)->event;
    const struct trace_event *b = ((const struct stated *)right)->event;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static int by_flops(const void *left, const void *right)
{
    const struct stated *a = left, *b = right;

    return (a->flops > b->flops) - (a->flops < b->flops);
}

static enum status find_stated(struct stated **stated, int64_t *count,
                               const struct trace_file *trace)
{
    enum status status = STATUS_OK;

    *count = 0;
    *stated = malloc(((size_t)trace->operator_count + 1) * sizeof **stated);
    if (*stated == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld operators",
             (long long)trace->operator_count);
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->kind == EVENT_KIND_OPERATOR && event->detail != NO_DETAIL &&
            trace->operators[event->detail].flops > 0)
            (*stated)[(*count)++] =
                (struct stated){ .event = event,
                                 .flops = (double)trace->operators[event->detail].flops };
    }
    sort_items(*stated, *count, sizeof **stated, by_place);

out:
    return status;
}

/* The last operator that begins on the call's thread before the call, if it has not ended then. */
static struct stated *around(struct stated *stated, int64_t count, const struct trace_event *call)
{
    int64_t low = 0, high = count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const struct trace_event *event = stated[middle].event;
        if (event->track < call->track ||
            (event->track == call->track && event->start_ns <= call->start_ns))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || stated[low - 1].event->track != call->track ||
        call->start_ns >= stated[low - 1].event->end_ns)
        return NULL;
    return &stated[low - 1];
}

static enum status count_products(struct stated *stated, int64_t count,
                                  const struct timeline *timeline)
{
    enum status status = STATUS_OK;
    const struct trace_file *trace = timeline->trace;
    uint32_t names = trace_file_name_count(trace);
    bool *is_product = calloc((size_t)names + 1, sizeof *is_product);

    if (is_product == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %u names", names);
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

out:
    free(is_product);
    return status;
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

enum status products_fixed_ns(double *fixed_ns, const struct timeline *timeline, double count_least)
{
    enum status status = STATUS_OK;
    struct stated *stated = NULL;
    const struct stated *shortest = NULL, *largest = NULL;
    int64_t count;
    double least_ns, more_ns;

    *fixed_ns = NAN;
    TRY(find_stated(&stated, &count, timeline->trace));
    TRY(count_products(stated, count, timeline));
    count = gather(stated, count);
    for (int64_t i = 0; i < count; i++) {
        const struct stated *kind = &stated[i];
        if (kind->count < count_least)
            continue;
        if (shortest == NULL || kind->ns / kind->count < shortest->ns / shortest->count)
            shortest = kind;
        largest = kind;
    }
    if (shortest == NULL || !(largest->flops >= WORK_RATIO_LEAST * shortest->flops))
        goto out;
    least_ns = shortest->ns / shortest->count;
    more_ns = largest->ns / largest->count - least_ns;
    *fixed_ns = fmax(0, least_ns - shortest->flops * more_ns / (largest->flops - shortest->flops));

out:
    free(stated);
    return status;
}
