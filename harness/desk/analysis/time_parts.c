/* Kinds of work take their time in the order of their priority, each without what those before it
 * took. Gaps between work are split by idle.h. */
#include "harness/desk/analysis/time_parts.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/timeline/captures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

/* Time of a kernel, copy or operator, and its part. */
struct piece {
    int64_t start_ns, end_ns;
    int64_t part;
    uint32_t name;
    enum part_kind kind;
};

struct splitting {
    struct arena *arena, *scratch;
    struct time_parts *parts;
    int64_t room; /* for parts */
    const struct summary *summary;
    int64_t *row_of;      /* by event (host_operators.h) */
    int64_t *row_part;    /* by row of operator kinds; NONE: not yet known */
    int64_t *name_part;   /* by name */
    int64_t *begin_ns;    /* of each step (find_steps) */
    struct piece *pieces; /* by start */
    int64_t piece_count;
    struct intervals taken; /* by kinds that come first; merged */
};

/* --- Parts --- */

const char *part_kind_name(enum part_kind kind)
{
    static const char *const names[PART_KIND_COUNT] = { "computation", "communication", "copy",
                                                        "memset",      "idle",          "host" };

    return names[kind];
}

/* The number of the part, which is new if there is none yet. */
static int64_t find_part(struct splitting *splitting, enum part_kind kind, const char *name)
{
    struct time_parts *parts = splitting->parts;
    struct time_part *part;
    char text[KIND_NAME_SIZE];

    snprintf(text, sizeof text, "%s", name);
    for (int64_t i = 0; i < parts->count; i++)
        if (parts->items[i].kind == kind && strcmp(parts->items[i].name, text) == 0)
            return i;
    ARENA_ROOM(splitting->arena, parts->items, parts->count, splitting->room);
    part = &parts->items[parts->count];
    *part =
        (struct time_part){ .kind = kind,
                            .step_ns = ARENA_NEW(splitting->arena, int64_t, parts->step_count) };
    memcpy(part->name, text, sizeof text);
    return parts->count++;
}

/* Finds the begin of each step on the device: with the first computation that was launched in it.
 * One that launched none begins with its annotation. None begins before the one before it. */
static void find_steps(struct splitting *splitting)
{
    const struct steps *steps = &splitting->summary->steps;
    const struct timeline *timeline = &splitting->summary->timeline;
    int64_t *begin_ns = ARENA_NEW(splitting->scratch, int64_t, steps->count);

    splitting->begin_ns = begin_ns;
    for (int64_t i = 0; i < steps->count; i++) begin_ns[i] = INT64_MAX;
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        int64_t step = -1;
        if (work->kind == WORK_COMPUTATION && work->call != NULL)
            step = steps_last_begun(steps, work->call->start_ns);
        if (step >= 0)
            begin_ns[step] = interval_earlier(begin_ns[step], work->event->start_ns);
    }
    for (int64_t i = 0; i < steps->count; i++) {
        if (begin_ns[i] == INT64_MAX)
            begin_ns[i] = steps->items[i].event->start_ns;
        if (i > 0)
            begin_ns[i] = interval_later(begin_ns[i], begin_ns[i - 1]);
    }
}

/* The step that the moment is in; the first one before all. */
static int64_t step_at(const struct splitting *splitting, int64_t at_ns)
{
    int64_t low = 0, high = splitting->summary->steps.count;

    BISECT(low, high, i, splitting->begin_ns[i] <= at_ns);
    return low > 0 ? low - 1 : 0;
}

static void add_ns(struct splitting *splitting, int64_t part, int64_t step, int64_t ns)
{
    splitting->parts->items[part].step_ns[step] += ns;
    splitting->parts->items[part].total_ns += ns;
    splitting->parts->window_ns += ns;
}

/* Splits the time among the steps that it is in. */
static void add_time(struct splitting *splitting, int64_t part, int64_t start_ns, int64_t end_ns)
{
    int64_t step = step_at(splitting, start_ns), count = splitting->summary->steps.count;

    while (start_ns < end_ns) {
        int64_t until_ns = end_ns;
        if (step + 1 < count)
            until_ns = interval_earlier(end_ns, splitting->begin_ns[step + 1]);
        if (until_ns > start_ns)
            add_ns(splitting, part, step, until_ns - start_ns);
        start_ns = interval_later(start_ns, until_ns);
        step++;
    }
}

/* --- Work --- */

/* The row of the operator that launched the work, or else whether the optimizer did. */
static int64_t row_of_work(const struct splitting *splitting, const struct replayed *replayed,
                           const struct work *work, bool *optimizer)
{
    const struct trace_file *trace = splitting->summary->trace;
    const struct replayed_span *span = replayed_find(replayed, work);
    enum phase phase;

    *optimizer = false;
    if (work->call == NULL)
        return NONE;
    for (; span != NULL; span = span->parent >= 0 ? &replayed->items[span->parent] : NULL) {
        if (!span->is_phase)
            return splitting->row_of[span->event - trace->events];
        *optimizer =
            *optimizer || (phase_of_name(trace_file_name(trace, span->event->name), &phase) &&
                           phase == PHASE_OPTIMIZER);
    }
    *optimizer = *optimizer || intervals_contain(&splitting->summary->phases.times[PHASE_OPTIMIZER],
                                                 work->call->start_ns);
    return splitting->row_of[work->call - trace->events];
}

/* The part of an operator's kind; of a row NONE that of the name. */
static int64_t part_named(struct splitting *splitting, enum part_kind kind, int64_t row,
                          uint32_t name)
{
    int64_t *known = row != NONE ? &splitting->row_part[row] : &splitting->name_part[name];

    if (*known == NONE)
        *known = find_part(splitting, kind,
                           row != NONE ? splitting->summary->operator_kinds.rows[row].name
                                       : trace_file_name(splitting->summary->trace, name));
    return *known;
}

static void add_piece(struct splitting *splitting, const struct trace_event *event,
                      enum part_kind kind, int64_t part)
{
    splitting->pieces[splitting->piece_count++] =
        (struct piece){ event->start_ns, event->end_ns, part, event->name, kind };
}

static void add_work(struct splitting *splitting, const struct replayed *replayed,
                     const struct work *work)
{
    static const enum part_kind kinds[WORK_KIND_COUNT] = {
        [WORK_COMPUTATION] = PART_COMPUTATION,
        [WORK_COPY] = PART_COPY,
        [WORK_MEMSET] = PART_MEMSET,
        [WORK_COMMUNICATION] = PART_COMMUNICATION,
    };
    enum part_kind kind = kinds[work->kind];
    bool optimizer = false;
    int64_t row = NONE, part;

    if (kind == PART_COMPUTATION)
        row = row_of_work(splitting, replayed, work, &optimizer);
    if (row == NONE && optimizer)
        part = find_part(splitting, kind, phase_name(PHASE_OPTIMIZER));
    else
        part = part_named(splitting, kind, row, work->event->name);
    add_piece(splitting, work->event, kind, part);
}

COMPARATOR(by_start, struct piece, ASCENDING(start_ns) ?: DESCENDING(end_ns))

static void find_operators(struct splitting *splitting)
{
    const struct timeline *timeline = &splitting->summary->timeline;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        int64_t row = splitting->row_of[event - splitting->summary->trace->events];
        if (event->kind == EVENT_KIND_OPERATOR && row != NONE)
            add_piece(splitting, event, PART_COMPUTATION,
                      part_named(splitting, PART_COMPUTATION, row, event->name));
    }
    qsort(splitting->pieces, (size_t)splitting->piece_count, sizeof *splitting->pieces, by_start);
}

/* --- The window --- */

/* Takes the part of the piece that no earlier one has taken, of its own kind or of those that come
 * first. */
static void take_piece(struct splitting *splitting, const struct piece *piece, int64_t *until_ns,
                       struct intervals *own)
{
    const struct idle *window = &splitting->summary->idle;
    const struct intervals *taken = &splitting->taken;
    int64_t start_ns = interval_later(interval_later(piece->start_ns, *until_ns), window->start_ns);
    int64_t end_ns = interval_earlier(piece->end_ns, window->end_ns);

    if (start_ns >= end_ns)
        return;
    *until_ns = end_ns;
    splitting->parts->items[piece->part].count++;
    intervals_add(own, start_ns, end_ns);
    for (int64_t i = intervals_after(taken, start_ns);
         i < taken->count && taken->items[i].start_ns < end_ns; i++) {
        add_time(splitting, piece->part, start_ns, taken->items[i].start_ns);
        start_ns = interval_later(start_ns, taken->items[i].end_ns);
    }
    add_time(splitting, piece->part, start_ns, end_ns);
}

static void take_kind(struct splitting *splitting, enum part_kind kind)
{
    struct intervals own = { .arena = splitting->scratch };
    int64_t until_ns = INT64_MIN;

    for (int64_t i = 0; i < splitting->piece_count; i++)
        if (splitting->pieces[i].kind == kind)
            take_piece(splitting, &splitting->pieces[i], &until_ns, &own);
    for (int64_t i = 0; i < own.count; i++)
        intervals_add(&splitting->taken, own.items[i].start_ns, own.items[i].end_ns);
    intervals_merge(&splitting->taken);
}

/* --- Idle time --- */

static void add_idle(struct splitting *splitting, const char *cause, bool after_wait, int64_t at_ns,
                     int64_t ns)
{
    char name[KIND_NAME_SIZE];
    int64_t part;

    if (ns == 0)
        return;
    snprintf(name, sizeof name, "%s%s", cause, after_wait ? " after a wait" : "");
    part = find_part(splitting, PART_IDLE, name);
    add_ns(splitting, part, step_at(splitting, at_ns), ns);
}

static void add_gap(void *context, const struct idle_gap *gap)
{
    struct splitting *splitting = context;
    const struct idle_time *time = &gap->time;

    for (int cause = 0; cause < GAP_HOST; cause++)
        add_idle(splitting, gap_cause_name(cause), false, gap->start_ns, gap_cause_ns(time, cause));
    for (int activity = 0; activity < HOST_KIND_COUNT; activity++) {
        /* Time just before a launch counts as launching. */
        bool launches = activity == HOST_OUTSIDE || activity == HOST_OPERATOR;
        const char *cause = host_kind_name(launches ? HOST_LAUNCHING : (enum host_kind)activity);
        add_idle(splitting, cause, false, gap->start_ns, time->free_ns[activity]);
        add_idle(splitting, cause, activity != HOST_WAITING, gap->start_ns,
                 time->drained_ns[activity]);
    }
}

static void add_rest(void *context, int64_t start_ns, int64_t end_ns, enum host_kind activity)
{
    struct splitting *splitting = context;
    int64_t part = find_part(splitting, PART_HOST,
                             host_kind_name(activity == HOST_OPERATOR ? HOST_OUTSIDE : activity));

    add_time(splitting, part, start_ns, end_ns);
}

/* The window without operators, of a host that computes itself. */
static void add_rests(struct splitting *splitting)
{
    const struct summary *summary = splitting->summary;
    struct interval window = { summary->idle.start_ns, summary->idle.end_ns };
    struct intervals all = { .items = &window, .count = window.start_ns < window.end_ns };
    struct intervals rest = { .arena = splitting->scratch };

    intervals_without(&rest, &all, &splitting->taken);
    for (int64_t i = 0; i < rest.count; i++)
        host_activity_visit(&summary->host, summary->host.loop, rest.items[i].start_ns,
                            rest.items[i].end_ns, add_rest, splitting);
}

/* --- All --- */

COMPARATOR(by_part_and_name, struct piece, ASCENDING(part) ?: ASCENDING(name))

/* The kernel of each part that takes most of it; this sorts the pieces anew. */
static void find_kernels(struct splitting *splitting)
{
    const struct piece *pieces = splitting->pieces;
    int64_t part = NONE, most_ns = 0, sum_ns = 0;

    qsort(splitting->pieces, (size_t)splitting->piece_count, sizeof *pieces, by_part_and_name);
    for (int64_t i = 0; i < splitting->piece_count; i++) {
        if (pieces[i].kind != PART_COMPUTATION)
            continue;
        if (pieces[i].part != part)
            most_ns = sum_ns = 0;
        else if (pieces[i].name != pieces[i - 1].name)
            sum_ns = 0;
        part = pieces[i].part;
        sum_ns = intervals_sum_ns(sum_ns, pieces[i].end_ns - pieces[i].start_ns);
        if (sum_ns >= most_ns) {
            most_ns = sum_ns;
            splitting->parts->items[part].kernel = pieces[i].name;
        }
    }
}

COMPARATOR(by_total, struct time_part,
           DESCENDING(total_ns) ?: ASCENDING(kind) ?: strcmp(a->name, b->name))

static int64_t *no_parts(struct arena *scratch, int64_t count)
{
    int64_t *parts = ARENA_NEW(scratch, int64_t, count);

    for (int64_t i = 0; i < count; i++) parts[i] = NONE;
    return parts;
}

struct time_parts time_parts_of(struct arena *arena, const struct summary *summary)
{
    const struct timeline *timeline = &summary->timeline;
    SCRATCH_ARENA(scratch, arena);
    struct time_parts parts = { .step_count = summary->steps.count > 0 ? summary->steps.count : 1,
                                .has_steps = summary->steps.count > 0 };
    struct splitting splitting = {
        .arena = arena,
        .scratch = scratch,
        .parts = &parts,
        .summary = summary,
        .row_part = no_parts(scratch, summary->operator_kinds.count),
        .name_part = no_parts(scratch, trace_file_name_count(summary->trace)),
        .pieces = ARENA_NEW(scratch, struct piece, timeline->work_count + timeline->host_count),
        .taken.arena = scratch,
    };

    find_steps(&splitting);
    operator_kinds_of(scratch, timeline, &splitting.row_of);
    if (timeline->host_alone) {
        find_operators(&splitting);
    } else {
        struct replayed replayed = replayed_of(scratch, timeline);
        for (int64_t i = 0; i < timeline->work_count; i++)
            add_work(&splitting, &replayed, &timeline->work[i]);
    }
    for (int kind = 0; kind < PART_IDLE; kind++) take_kind(&splitting, (enum part_kind)kind);
    if (timeline->host_alone) {
        add_rests(&splitting);
    } else {
        idle_visit(scratch, timeline, &summary->steps, &summary->host, add_gap, &splitting);
        find_kernels(&splitting);
    }
    if (parts.count > 0)
        qsort(parts.items, (size_t)parts.count, sizeof *parts.items, by_total);
    return parts;
}
