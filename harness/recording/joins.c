/* Finds what belongs together in a trace: for a call the host span around it, and for device work
 * the call that caused it and the spans that it was done for. Host spans are sorted by thread and
 * start, outer ones first; then one pass with the chain of spans that are open finds each one's
 * parent. The span around a call is found by its start, walking up parents that had ended.
 *
 * A launch of a graph has no host spans for what runs in it, so the spans that were noted when the
 * graph was captured take their place (graph_spans.h), each as long as the work of its nodes. */
#include "harness/recording/joins.h"

#include "harness/base/bisect.h"
#include "harness/base/rows.h"
#include "harness/base/sort.h"

#include <stdlib.h>
#include <string.h>

struct span {
    const struct trace_row *row;
    int64_t start_ns, end_ns;
    int64_t external;
    int64_t parent;     /* index of the span around it; -1: none */
    int64_t projection; /* index of the newest; -1: none */
    uint32_t thread;
    bool annotation;
};

/* Beside each projection: the next older one of the same span. */
struct building {
    struct joins *joins;
    struct span *spans;
    int64_t span_count;
    int64_t *span_of_call; /* for each of joins->calls; -1: none */
    int64_t *older, older_room;
};

static bool is_host_span(const struct trace_row *row)
{
    return row->kind == TRACE_OPERATOR || row->kind == TRACE_STEP ||
           (row->kind == TRACE_ACTIVITY && row->activity.kind == ACTIVITY_PHASE);
}

/* A kernel, copy or memset. */
static bool is_device_work(const struct trace_row *row)
{
    return row->kind == TRACE_ACTIVITY &&
           (row->activity.kind == ACTIVITY_KERNEL || row->activity.kind == ACTIVITY_MEMCPY ||
            row->activity.kind == ACTIVITY_MEMSET);
}

static bool is_call(const struct trace_row *row)
{
    return row->kind == TRACE_ACTIVITY && row->activity.correlation != 0 &&
           (row->activity.kind == ACTIVITY_RUNTIME || row->activity.kind == ACTIVITY_DRIVER);
}

static struct span span_of(const struct trace_row *row, int64_t external)
{
    struct span span = { .row = row, .external = external, .parent = -1, .projection = -1 };

    if (row->kind == TRACE_OPERATOR) {
        span.start_ns = row->call.start_ns;
        span.end_ns = row->call.end_ns;
        span.thread = row->call.thread;
    } else if (row->kind == TRACE_STEP) {
        span.start_ns = row->step.start_ns;
        span.end_ns = row->step.end_ns;
        span.thread = row->step.thread;
    } else {
        span.start_ns = row->activity.start_ns;
        span.end_ns = row->activity.end_ns;
        span.thread = row->activity.thread;
    }
    span.annotation = row->kind != TRACE_OPERATOR;
    return span;
}

/* By thread, then by start, outer before inner. If two intervals are equal, the one recorded later
 * is the outer one, since spans are recorded when they end. */
COMPARATOR(compare_spans, struct span,
           ASCENDING(thread) ?: ASCENDING(start_ns) ?: DESCENDING(end_ns) ?: DESCENDING(external))

COMPARATOR(compare_calls, struct call_join, ASCENDING(call->correlation))

static enum status collect(struct building *building, const struct trace *trace)
{
    struct joins *joins = building->joins;
    int64_t rows = trace_row_count(trace);
    struct trace_cursor cursor = { 0 };
    const struct trace_row *row;
    bool sorted = true;

    TRY(rows_make(&building->spans, rows));
    TRY(rows_make(&joins->calls, rows));
    TRY(rows_make(&building->span_of_call, rows));
    while ((row = trace_next(trace, &cursor)) != NULL) {
        if (is_host_span(row)) {
            building->spans[building->span_count] = span_of(row, building->span_count + 1);
            building->span_count++;
        } else if (is_call(row)) {
            struct call_join *call = &joins->calls[joins->call_count++];
            *call = (struct call_join){ .call = &row->activity };
            sorted = sorted && (joins->call_count == 1 || compare_calls(call - 1, call) < 0);
        }
    }
    qsort(building->spans, (size_t)building->span_count, sizeof *building->spans, compare_spans);
    if (!sorted)
        qsort(joins->calls, (size_t)joins->call_count, sizeof *joins->calls, compare_calls);

    return STATUS_OK;
}

/* The innermost span that `call` starts in; -1: none. */
static int64_t span_around(const struct building *building, const struct activity *call)
{
    int64_t low = 0, high = building->span_count, at;

    /* the first span after the call's start */
    BISECT(low, high, i,
           building->spans[i].thread < call->thread ||
               (building->spans[i].thread == call->thread &&
                building->spans[i].start_ns <= call->start_ns));
    at = low - 1;
    if (at < 0 || building->spans[at].thread != call->thread)
        return -1;
    while (at >= 0 && building->spans[at].end_ns < call->start_ns) at = building->spans[at].parent;
    return at;
}

/* Widens the span's projection on the work's stream. */
static enum status project(struct building *building, struct span *span,
                           const struct activity *work)
{
    for (int64_t at = span->projection; at >= 0; at = building->older[at]) {
        struct projection *projection = &building->joins->projections[at];
        if (projection->stream != work->stream || projection->device != work->device)
            continue;
        if (projection->start_ns > work->start_ns)
            projection->start_ns = work->start_ns;
        if (projection->end_ns < work->end_ns)
            projection->end_ns = work->end_ns;
        return STATUS_OK;
    }
    struct joins *joins = building->joins;
    TRY(rows_grow(&joins->projections, joins->projection_count + 1, &joins->projection_room));
    TRY(rows_grow(&building->older, joins->projection_count + 1, &building->older_room));
    joins->projections[joins->projection_count] =
        (struct projection){ span->row,    span->external, work->device,
                             work->stream, work->start_ns, work->end_ns };
    building->older[joins->projection_count] = span->projection;
    span->projection = joins->projection_count++;

    return STATUS_OK;
}

/* --- Launches of graphs --- */

struct replays {
    const struct trace_replay **items; /* by thread and start */
    int64_t count;
};

COMPARATOR_OF_POINTERS(compare_replays, struct trace_replay,
                       ASCENDING(thread) ?: ASCENDING(start_ns))

static enum status collect_replays(struct replays *replays, const struct trace *trace)
{
    struct trace_cursor cursor = { 0 };
    const struct trace_row *row;
    size_t count = 1;

    while ((row = trace_next(trace, &cursor)) != NULL) count += row->kind == TRACE_REPLAY;
    TRY(rows_make(&replays->items, count));
    cursor = (struct trace_cursor){ 0 };
    while ((row = trace_next(trace, &cursor)) != NULL)
        if (row->kind == TRACE_REPLAY)
            replays->items[replays->count++] = &row->replay;
    qsort(replays->items, (size_t)replays->count, sizeof *replays->items, compare_replays);

    return STATUS_OK;
}

/* The launch that `call` was made in; NULL: none. */
static const struct trace_replay *replay_of(const struct replays *replays,
                                            const struct activity *call)
{
    int64_t low = 0, high = replays->count;
    const struct trace_replay *replay;

    BISECT(low, high, i,
           replays->items[i]->thread < call->thread ||
               (replays->items[i]->thread == call->thread &&
                replays->items[i]->start_ns <= call->start_ns));
    replay = low > 0 ? replays->items[low - 1] : NULL;
    return replay != NULL && replay->thread == call->thread && call->end_ns <= replay->end_ns
               ? replay
               : NULL;
}

static enum status join_replays(struct joins *joins, const struct trace *trace)
{
    struct replays replays = { 0 };
    enum status status = STATUS_OK;
    int64_t count = 0;

    TRY_OUT(collect_replays(&replays, trace));
    for (int64_t i = 0; i < joins->call_count && replays.count > 0; i++) {
        struct call_join *join = &joins->calls[i];
        const struct trace_replay *replay = strstr(join->call->name, "GraphLaunch") != NULL
                                                ? replay_of(&replays, join->call)
                                                : NULL;
        if (replay == NULL)
            continue;
        join->spans = replay->spans;
        join->replayed = count;
        count += replay->spans->count;
    }
    TRY_OUT(rows_make(&joins->replayed, count));
    for (int64_t i = 0; i < joins->call_count; i++) {
        const struct call_join *join = &joins->calls[i];
        for (int span = 0; join->spans != NULL && span < join->spans->count; span++)
            joins->replayed[joins->replayed_count++] =
                (struct graph_run){ .span = &join->spans->items[span],
                                    .call = join,
                                    .start_ns = INT64_MAX,
                                    .end_ns = INT64_MIN };
    }

out:
    free(replays.items);
    return status;
}

/* Work counts for every annotation around its call, from the innermost outwards. */
static enum status join_work(struct building *building, const struct trace *trace)
{
    struct trace_cursor cursor = { 0 };
    const struct trace_row *row;

    while ((row = trace_next(trace, &cursor)) != NULL) {
        struct call_join *call;
        if (!is_device_work(row))
            continue;
        call = (struct call_join *)joins_call(building->joins, row->activity.correlation);
        if (call == NULL)
            continue;
        if (call->first == NULL || row->activity.start_ns < call->first->start_ns)
            call->first = &row->activity;
        if (call->spans != NULL && row->activity.graph != 0) {
            /* Widens the spans that a node of a graph belongs to. */
            for (int i = 0; i < call->spans->count; i++) {
                struct graph_run *replayed = &building->joins->replayed[call->replayed + i];
                if (row->activity.graph_node < (uint32_t)replayed->span->first ||
                    row->activity.graph_node >= (uint32_t)replayed->span->end)
                    continue;
                replayed->device = row->activity.device;
                replayed->stream = row->activity.stream;
                if (replayed->start_ns > row->activity.start_ns)
                    replayed->start_ns = row->activity.start_ns;
                if (replayed->end_ns < row->activity.end_ns)
                    replayed->end_ns = row->activity.end_ns;
            }
        }
        for (int64_t at = building->span_of_call[call - building->joins->calls]; at >= 0;
             at = building->spans[at].parent)
            if (building->spans[at].annotation)
                TRY(project(building, &building->spans[at], &row->activity));
    }

    return STATUS_OK;
}

enum status joins_make(struct joins *joins, const struct trace *trace)
{
    struct building building = { .joins = joins };
    enum status status = STATUS_OK;

    memset(joins, 0, sizeof *joins);
    TRY_OUT(collect(&building, trace));
    /* `open` is the innermost span that has not ended; spans of a thread nest, so its chain of
     * parents is the stack. */
    int64_t open = -1;
    for (int64_t i = 0; i < building.span_count; i++) {
        struct span *span = &building.spans[i];
        while (open >= 0 && (building.spans[open].thread != span->thread ||
                             building.spans[open].end_ns <= span->start_ns))
            open = building.spans[open].parent;
        span->parent = open;
        open = i;
    }
    for (int64_t i = 0; i < joins->call_count; i++) {
        int64_t at = span_around(&building, joins->calls[i].call);
        building.span_of_call[i] = at;
        joins->calls[i].external = at >= 0 ? building.spans[at].external : 0;
    }
    TRY_OUT(join_replays(joins, trace));
    TRY_OUT(join_work(&building, trace));

out:
    free(building.spans);
    free(building.span_of_call);
    free(building.older);
    return status;
}

void joins_release(struct joins *joins)
{
    free(joins->calls);
    free(joins->projections);
    free(joins->replayed);
    memset(joins, 0, sizeof *joins);
}

const struct call_join *joins_call(const struct joins *joins, uint32_t correlation)
{
    int64_t low = 0, high = joins->call_count;

    BISECT(low, high, i, joins->calls[i].call->correlation < correlation);
    return low < joins->call_count && joins->calls[low].call->correlation == correlation
               ? &joins->calls[low]
               : NULL;
}
