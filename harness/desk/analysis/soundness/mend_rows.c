/* Checks of rows: each by itself, rows that are alike, and device work beside its stream and its
 * calls, whose times cannot contradict the order in which things happen. */
#include "harness/base/figures/quantity.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/soundness/mends.h"

#include <stdio.h>
#include <string.h>

/* --- The recording --- */

static void say(struct sound_row *row, int64_t count, const char *text)
{
    size_t length = strlen(row->found);

    row->count += count;
    snprintf(row->found + length, sizeof row->found - length, "%s%s", length > 0 ? "; " : "", text);
}

void mend_whole(struct sound_row *row, const struct trace_file *trace)
{
    char text[sizeof row->found], first[160];

    if (trace->partial) {
        snprintf(text, sizeof text, "the file is incomplete: %s", trace->partial_reason);
        say(row, 1, text);
    }
    if (trace->bad_count > 0) {
        trace_file_first_bad(trace, first);
        snprintf(text, sizeof text, "%lld event%s damaged, the first %s",
                 SOUND_EVENTS(trace->bad_count), first);
        say(row, trace->bad_count, text);
        snprintf(row->mended, sizeof row->mended, "left out");
    }
    if (trace->dropped_count > 0) {
        snprintf(text, sizeof text, "the recorder dropped %lld record%s: its buffer was full",
                 (long long)trace->dropped_count, trace->dropped_count == 1 ? "" : "s");
        say(row, trace->dropped_count, text);
    }
    /* Writers put one kind of rows after the other, so that what is lost is not the same share of
     * each. */
    if (trace->partial)
        row->trust = TRUST_LESS;
    /* Other rules look at what is missing; only a trace of which much is lost is not worth
     * reading. */
    if (trust_without(trace->bad_count + trace->dropped_count,
                      trace->event_count + trace->bad_count + trace->dropped_count) == TRUST_LITTLE)
        row->trust = TRUST_LITTLE;
}

void mend_times(struct sound_row *row, const struct trace_file *trace)
{
    row->count = trace->stray_count;
    if (row->count == 0)
        return;
    snprintf(row->found, sizeof row->found, "%lld event%s far from all others, or at a time of 0",
             SOUND_EVENTS(row->count));
    snprintf(row->mended, sizeof row->mended, "left out");
    row->trust = trust_without(row->count, trace->event_count + row->count);
}

/* --- Events that are there twice --- */

/* Rows that are known by a number besides their time: two of them are never alike by chance. */
static bool is_numbered(const struct trace_event *event)
{
    if (trace_event_is_call(event) || trace_event_is_device_work(event))
        return event->correlation != 0;
    return (event->kind == EVENT_KIND_OPERATOR || event->kind == EVENT_KIND_ANNOTATION) &&
           event->external != 0;
}

static uint64_t mix(uint64_t hash, int64_t value)
{
    hash = (hash ^ (uint64_t)value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct trace_event *event)
{
    uint64_t hash = mix(mix(0, event->start_ns), event->end_ns);

    hash = mix(hash, (int64_t)event->name << 32 | event->track);
    hash = mix(hash, event->correlation * EVENT_KIND_COUNT + event->kind);
    return mix(mix(hash, event->external), event->bytes);
}

COMPARATOR(by_value, uint64_t, COMPARE(*a, *b))

enum { SAMPLES = 4096 };

/* A sample of the numbered rows is looked at, by their hashes, so that of rows that are alike all
 * are in it, or none. */
static bool has_doubles(struct arena *arena, const struct trace_file *trace)
{
    SCRATCH_ARENA(scratch, arena);
    uint64_t *hashes = NULL, most = UINT64_MAX / ((uint64_t)trace->event_count / SAMPLES + 1);
    int64_t count = 0, room = 0;
    bool found = false;

    for (int64_t i = 0; i < trace->event_count; i++) {
        uint64_t hash = is_numbered(&trace->events[i]) ? hash_of(&trace->events[i]) : UINT64_MAX;
        if (hash >= most)
            continue;
        ARENA_ROOM(scratch, hashes, count, room);
        hashes[count++] = hash;
    }
    sort_items(hashes, count, sizeof *hashes, by_value);
    for (int64_t i = 1; i < count && !found; i++) found = hashes[i] == hashes[i - 1];
    return found;
}

static int compare(const struct trace_event *a, const struct trace_event *b)
{
#define BY(member)                                                                                 \
    if (a->member != b->member)                                                                    \
    return a->member < b->member ? -1 : 1
    BY(kind);
    BY(track);
    BY(start_ns);
    BY(end_ns);
    BY(name);
    BY(correlation);
    BY(external);
    BY(bytes);
#undef BY
    return 0;
}

COMPARATOR_OF_POINTERS(by_likeness, struct trace_event, compare(a, b) ?: COMPARE(a, b))

static bool is_double(const struct trace_file *trace, const struct trace_event *event)
{
    int64_t step;

    return is_numbered(event) || event->kind == EVENT_KIND_GPU_ANNOTATION ||
           event->kind == EVENT_KIND_SYNC ||
           name_is_step(trace_file_name(trace, event->name), &step);
}

static int64_t remove_marked(struct trace_file *trace, const bool *marked)
{
    int64_t kept = 0, removed;

    for (int64_t i = 0; i < trace->event_count; i++)
        if (!marked[i])
            trace->events[kept++] = trace->events[i];
    removed = trace->event_count - kept;
    trace->event_count = kept;
    return removed;
}

bool mend_duplicates(struct sound_row *row, struct arena *arena, struct trace_file *trace)
{
    struct arena *scratch;
    const struct trace_event **sorted;
    bool *marked;
    int64_t all = trace->event_count;

    if (!has_doubles(arena, trace))
        return false;
    scratch = arena_scratch(arena);
    sorted = ARENA_NEW(scratch, const struct trace_event *, all);
    marked = ARENA_NEW(scratch, bool, all);
    for (int64_t i = 0; i < all; i++) sorted[i] = &trace->events[i];
    sort_items(sorted, all, sizeof *sorted, by_likeness);
    for (int64_t i = 1; i < all; i++)
        if (compare(sorted[i - 1], sorted[i]) == 0 && is_double(trace, sorted[i]))
            marked[sorted[i] - trace->events] = true;
    row->count = remove_marked(trace, marked);
    arena_close(scratch);
    if (row->count == 0)
        return false;
    snprintf(row->found, sizeof row->found, "%lld event%s in the file twice",
             SOUND_EVENTS(row->count));
    snprintf(row->mended, sizeof row->mended, "each counts once");
    return true;
}

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
        struct trace_event *event = &trace->events[overlaps[i].work->event - trace->events];
        int64_t usual = usual_ns[event->name];
        event->end_ns = overlaps[i].next->event->start_ns;
        if (usual > 0)
            event->end_ns = interval_earlier(event->end_ns, event->start_ns + usual);
    }
    arena_close(scratch);
    if (row->count == 0)
        return false;
    snprintf(
        row->found, sizeof row->found,
        "%lld of %lld pieces of device work end%s after the next one on its stream began, by up "
        "to %s",
        (long long)row->count, (long long)timeline->work_count, row->count == 1 ? "s" : "",
        quantity_time((double)longest_ns).text);
    snprintf(row->mended, sizeof row->mended,
             "each takes as long as others of its name, and ends before the next");
    row->trust = trust_without(row->count, timeline->work_count);
    row->trust = row->trust == TRUST_WHOLE ? TRUST_LESS : row->trust;
    return true;
}
