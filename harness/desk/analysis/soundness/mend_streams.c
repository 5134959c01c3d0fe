/* Device work beside its stream and its calls: its times cannot contradict the order in which
 * things happen. */
#include "harness/base/figures/quantity.h"
#include "harness/desk/analysis/soundness/mends.h"

#include <stdio.h>

/* --- Durations --- */

/* Recorders of whole microseconds round a short kernel to nothing: in traces of a V100 of 2021, 7
 * of 100. */
#define ROUNDED_MOST 0.2

void mend_durations(struct sound_row *row, const struct timeline *timeline)
{
    int64_t kernels = 0;
    bool rounded = true;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct trace_event *event = timeline->work[i].event;
        if (event->kind != EVENT_KIND_KERNEL)
            continue;
        kernels++;
        row->count += event->end_ns == event->start_ns;
        rounded = rounded && event->start_ns % 1000 == 0 && event->end_ns % 1000 == 0;
    }
    if (rounded && (double)row->count <= ROUNDED_MOST * (double)kernels)
        row->count = 0;
    if (row->count == 0)
        return;
    snprintf(row->found, sizeof row->found, "%lld of %lld kernels take no time",
             (long long)row->count, (long long)kernels);
    row->trust = trust_without(row->count, kernels);
}

/* --- Streams --- */

/* Launches that overlap on purpose (programmatic dependent launch) do so for less. */
enum { OVERLAP_NS = 5000 };

/* Work of one graph may run side by side, whatever stream its rows name. */
static bool same_launch(const struct work *a, const struct work *b)
{
    return a->event->correlation != 0 && a->event->correlation == b->event->correlation;
}

/* The event, whose row is to be changed. */
static struct trace_event *row_of(struct trace_file *trace, const struct trace_event *event)
{
    return &trace->events[event - trace->events];
}

/* Work on a stream, and the next launch's first piece there if the work runs over it. */
struct overlap {
    const struct work *work, *next;
};

/* Where the work of one launch ends on a stream, all pieces of it must have ended. */
static int64_t find_overlaps(struct overlap *overlaps, struct arena *scratch,
                             const struct timeline *timeline, int64_t *longest_ns)
{
    const struct work **last =
        ARENA_NEW(scratch, const struct work *, timeline->trace->track_count);
    const struct work **before = ARENA_NEW(scratch, const struct work *, timeline->work_count);
    int64_t count = 0;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i], *piece = last[work->event->track];
        last[work->event->track] = work;
        before[i] = piece;
        if (piece == NULL || same_launch(piece, work))
            continue;
        for (const struct work *one = piece;
             one != NULL && (one == piece || same_launch(one, piece));
             one = before[one - timeline->work]) {
            int64_t over_ns = one->event->end_ns - work->event->start_ns;
            if (over_ns <= OVERLAP_NS)
                continue;
            overlaps[count++] = (struct overlap){ one, work };
            *longest_ns = interval_later(*longest_ns, over_ns);
        }
    }
    return count;
}

/* The longest that work of each name takes if it does not overlap; 0: all of it does. */
static int64_t *find_longest(struct arena *scratch, const struct timeline *timeline,
                             const struct overlap *overlaps, int64_t count)
{
    int64_t *longest_ns = ARENA_NEW(scratch, int64_t, trace_file_name_count(timeline->trace));
    bool *overlaps_next = ARENA_NEW(scratch, bool, timeline->work_count);

    for (int64_t i = 0; i < count; i++) overlaps_next[overlaps[i].work - timeline->work] = true;
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct trace_event *event = timeline->work[i].event;
        if (!overlaps_next[i])
            longest_ns[event->name] =
                interval_later(longest_ns[event->name], event->end_ns - event->start_ns);
    }
    return longest_ns;
}

bool mend_streams(struct sound_row *row, struct arena *arena, struct trace_file *trace,
                  const struct timeline *timeline)
{
    struct arena *scratch = arena_scratch(arena);
    struct overlap *overlaps = ARENA_NEW(scratch, struct overlap, timeline->work_count);
    int64_t longest_ns = 0, *usual_ns;

    row->count = find_overlaps(overlaps, scratch, timeline, &longest_ns);
    usual_ns = row->count > 0 ? find_longest(scratch, timeline, overlaps, row->count) : NULL;
    for (int64_t i = 0; i < row->count; i++) {
        struct trace_event *event = row_of(trace, overlaps[i].work->event);
        int64_t usual = usual_ns[event->name];
        event->end_ns = overlaps[i].next->event->start_ns;
        if (usual > 0)
            event->end_ns = interval_earlier(event->end_ns, event->start_ns + usual);
    }
    arena_close(scratch);
    if (row->count == 0)
        return false;
    snprintf(row->found, sizeof row->found,
             "%lld of %lld pieces of device work end after the next one on their stream began, by "
             "up to %s",
             (long long)row->count, (long long)timeline->work_count,
             quantity_time((double)longest_ns).text);
    snprintf(row->mended, sizeof row->mended,
             "each takes as long as others of its name, and ends before the next");
    row->trust = trust_without(row->count, timeline->work_count);
    row->trust = row->trust == TRUST_WHOLE ? TRUST_LESS : row->trust;
    return true;
}
