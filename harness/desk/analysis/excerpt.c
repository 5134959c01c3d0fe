/* A stretch of a trace as bars in rows: the steps that are most like the mean step, or all of it.
 * Each row is one pass over events that are sorted by their start already; neighbours that would be
 * too narrow to see become one bar. */
#include "harness/desk/analysis/excerpt.h"

#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"

#include <math.h>
#include <stdlib.h>

/* --- Names --- */

const char *excerpt_kind_name(enum excerpt_kind kind)
{
    static const char *const names[] = { "steps", "phases", "operators", "calls", "work", "idle" };

    return (unsigned)kind < EXCERPT_KIND_COUNT ? names[kind] : "unknown";
}

const char *excerpt_category_name(enum excerpt_kind kind, int category)
{
    switch (kind) {
    case EXCERPT_PHASE:
        return phase_name((enum phase)category);
    case EXCERPT_OPERATOR:
    case EXCERPT_CALL:
        return host_kind_name((enum host_kind)category);
    case EXCERPT_WORK:
        return work_kind_name((enum work_kind)category);
    case EXCERPT_IDLE:
        return gap_cause_name(category);
    default:
        return NULL;
    }
}

/* --- The steps that stand for all --- */

/* How far the parts of the steps from `first` on, `count` of them, are from those of the mean
 * step. */
static double distance(const struct steps *steps, int64_t first, int64_t count)
{
    double distance = 0;

    for (int part = 0; part < STEP_PART_COUNT; part++) {
        double ns = 0;
        for (int64_t i = first; i < first + count; i++) ns += (double)steps->items[i].part_ns[part];
        distance += fabs(ns / (double)count - steps->mean_part_ns[part]);
    }
    return distance;
}

static void choose_steps(struct excerpt *excerpt, const struct steps *steps, int64_t count)
{
    double least = INFINITY;

    count = count < 1 ? 1 : count > EXCERPT_STEPS ? EXCERPT_STEPS : count;
    excerpt->step_count = count < steps->count ? count : steps->count;
    excerpt->end_ns = 0;
    for (int64_t i = 0; i + excerpt->step_count <= steps->count; i++) {
        double here = distance(steps, i, excerpt->step_count);
        if (here < least) {
            least = here;
            excerpt->first_step = i;
        }
    }
    excerpt->start_ns = steps->items[excerpt->first_step].event->start_ns;
    for (int64_t i = 0; i < excerpt->step_count; i++)
        excerpt->end_ns =
            interval_later(excerpt->end_ns, steps->items[excerpt->first_step + i].event->end_ns);
}

/* --- Rows and bars --- */

struct drawing {
    struct arena *arena, *scratch;
    struct excerpt *excerpt;
    const struct summary *summary;
    int64_t bar_room, row_room;
    int64_t narrow_ns; /* bars below it grow */
};

static void begin_row(struct drawing *drawing, struct excerpt_row row)
{
    struct excerpt *excerpt = drawing->excerpt;

    ARENA_ROOM(drawing->arena, excerpt->rows, excerpt->row_count, drawing->row_room);
    row.first_bar = excerpt->bar_count;
    excerpt->rows[excerpt->row_count++] = row;
}

/* A row without bars is taken back. */
static void end_row(struct drawing *drawing)
{
    struct excerpt *excerpt = drawing->excerpt;
    struct excerpt_row *row = &excerpt->rows[excerpt->row_count - 1];

    row->bar_count = excerpt->bar_count - row->first_bar;
    if (row->bar_count == 0)
        excerpt->row_count--;
}

static bool is_within(const struct excerpt *excerpt, int64_t start_ns, int64_t end_ns)
{
    return end_ns > excerpt->start_ns && start_ns < excerpt->end_ns;
}

/* Takes the bar into the one before it, if both together are still narrow. */
static bool merge(const struct drawing *drawing, const struct excerpt_row *row,
                  const struct excerpt_bar *bar)
{
    const struct excerpt *excerpt = drawing->excerpt;
    struct excerpt_bar *last;

    if (excerpt->bar_count == row->first_bar)
        return false;
    last = &excerpt->bars[excerpt->bar_count - 1];
    if (bar->start_ns < last->start_ns ||
        interval_later(last->end_ns, bar->end_ns) - last->start_ns >= drawing->narrow_ns)
        return false;
    last->end_ns = interval_later(last->end_ns, bar->end_ns);
    last->covered_ns = intervals_sum_ns(last->covered_ns, bar->covered_ns);
    last->count++;
    if (bar->longest_ns > last->longest_ns) {
        last->longest_ns = bar->longest_ns;
        last->name = bar->name;
        last->category = bar->category;
    }
    return true;
}

/* Adds what lies within the excerpt to the last row. */
static void add_bar(struct drawing *drawing, int64_t start_ns, int64_t end_ns, uint32_t name,
                    int category)
{
    struct excerpt *excerpt = drawing->excerpt;
    const struct excerpt_row *row = &excerpt->rows[excerpt->row_count - 1];
    int64_t ns = end_ns - start_ns;
    struct excerpt_bar bar = { start_ns, end_ns, 1, ns, ns, name, category };

    if (!is_within(excerpt, start_ns, end_ns) || merge(drawing, row, &bar))
        return;
    ARENA_ROOM(drawing->arena, excerpt->bars, excerpt->bar_count, drawing->bar_room);
    excerpt->bars[excerpt->bar_count++] = bar;
}

static void add_event(struct drawing *drawing, const struct trace_event *event, int category)
{
    add_bar(drawing, event->start_ns, event->end_ns, event->name, category);
}

static void draw_steps(struct drawing *drawing)
{
    const struct excerpt *excerpt = drawing->excerpt;
    const struct steps *steps = &drawing->summary->steps;

    begin_row(drawing, (struct excerpt_row){ .kind = EXCERPT_STEP });
    for (int64_t i = 0; i < excerpt->step_count; i++)
        add_event(drawing, steps->items[excerpt->first_step + i].event, 0);
    end_row(drawing);
}

/* --- Threads --- */

enum { NO_CATEGORY = -1 }; /* an event that is in no bar */

struct track_range {
    uint32_t track;
    int64_t first, count; /* in timeline.host */
};

static int phase_of(const struct drawing *drawing, const struct trace_event *event)
{
    const struct summary *summary = drawing->summary;
    enum phase phase;

    return summary->host.has_loop && event->track == summary->host.loop &&
                   !trace_event_is_call(event) &&
                   phase_of_name(trace_file_name(summary->trace, event->name), &phase)
               ? (int)phase
               : NO_CATEGORY;
}

static int kind_of_call(const struct drawing *drawing, const struct trace_event *event)
{
    const struct summary *summary = drawing->summary;

    if (!trace_event_is_call(event))
        return NO_CATEGORY;
    if (host_activity_wait(&summary->host, event->track, event->start_ns) == event)
        return HOST_WAITING;
    return is_within(drawing->excerpt, event->start_ns, event->end_ns)
               ? (int)host_kind_of_name(trace_file_name(summary->trace, event->name), true)
               : HOST_OUTSIDE; /* no bar shows it */
}

/* A phase within a phase is left out, and a call within a call, of the driver mostly. */
static void
draw_outermost(struct drawing *drawing, struct excerpt_row row, const struct track_range *range,
               int (*category_of)(const struct drawing *drawing, const struct trace_event *event))
{
    int64_t until_ns = INT64_MIN;

    begin_row(drawing, row);
    for (int64_t i = 0; i < range->count; i++) {
        const struct trace_event *event = drawing->summary->timeline.host[range->first + i];
        int category = event->start_ns < until_ns ? NO_CATEGORY : category_of(drawing, event);
        if (category == NO_CATEGORY)
            continue;
        until_ns = event->end_ns;
        add_event(drawing, event, category);
    }
    end_row(drawing);
}

/* Operators of one depth. Phases do not count as a level: they have a row of their own. */
static void draw_operators(struct drawing *drawing, struct excerpt_row row,
                           const struct track_range *range)
{
    const struct summary *summary = drawing->summary;
    int64_t ends_ns[EXCERPT_DEPTH];
    int depth = 0;

    begin_row(drawing, row);
    for (int64_t i = 0; i < range->count; i++) {
        const struct trace_event *event = summary->timeline.host[range->first + i];
        const char *name = trace_file_name(summary->trace, event->name);
        if (trace_event_is_call(event) || phase_of(drawing, event) != NO_CATEGORY)
            continue;
        while (depth > 0 && ends_ns[depth - 1] <= event->start_ns) depth--;
        if (depth == row.depth)
            add_event(drawing, event, (int)host_kind_of_name(name, false));
        if (depth < EXCERPT_DEPTH)
            ends_ns[depth++] = event->end_ns;
    }
    end_row(drawing);
}

static void draw_thread(struct drawing *drawing, const struct track_range *range)
{
    const struct summary *summary = drawing->summary;
    const struct event_track *track = &summary->trace->tracks[range->track];
    struct excerpt_row row = {
        .process = track->process,
        .thread = track->thread,
        .is_loop = summary->host.has_loop && summary->host.loop == range->track,
    };

    row.kind = EXCERPT_PHASE;
    draw_outermost(drawing, row, range, phase_of);
    row.kind = EXCERPT_OPERATOR;
    for (row.depth = 0; row.depth < EXCERPT_DEPTH; row.depth++) draw_operators(drawing, row, range);
    row.kind = EXCERPT_CALL;
    row.depth = 0;
    draw_outermost(drawing, row, range, kind_of_call);
}

/* The threads that do something within the excerpt, the loop's first. */
static struct track_range *find_threads(const struct drawing *drawing, int64_t *count)
{
    const struct summary *summary = drawing->summary;
    const struct timeline *timeline = &summary->timeline;
    struct track_range *found =
        ARENA_NEW(drawing->scratch, struct track_range, summary->trace->track_count + 2);
    bool seen = false;

    *count = 1; /* the first: the loop's */
    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        struct track_range *range = &found[*count];
        if (i == 0 || event->track != timeline->host[i - 1]->track) {
            *range = (struct track_range){ .track = event->track, .first = i };
            seen = false;
        }
        range->count++;
        seen = seen || is_within(drawing->excerpt, event->start_ns, event->end_ns);
        if (!seen || (i + 1 < timeline->host_count && timeline->host[i + 1]->track == event->track))
            continue;
        if (summary->host.has_loop && summary->host.loop == event->track)
            found[0] = *range;
        else
            ++*count;
    }
    return found;
}

static void draw_threads(struct drawing *drawing)
{
    int64_t count;
    struct track_range *ranges = find_threads(drawing, &count);

    for (int64_t i = 0; i < count && i <= EXCERPT_TRACKS; i++)
        if (ranges[i].count > 0)
            draw_thread(drawing, &ranges[i]);
    drawing->excerpt->tracks_left_out +=
        count > EXCERPT_TRACKS + 1 ? count - EXCERPT_TRACKS - 1 : 0;
}

/* --- Devices --- */

static void draw_stream(struct drawing *drawing, const struct track_usage *stream)
{
    const struct timeline *timeline = &drawing->summary->timeline;
    const struct event_track *tracks = drawing->summary->trace->tracks;

    begin_row(drawing, (struct excerpt_row){ .kind = EXCERPT_WORK,
                                             .process = stream->device,
                                             .thread = stream->stream });
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        const struct event_track *track = &tracks[work->event->track];
        if (track->process == stream->device && track->thread == stream->stream)
            add_event(drawing, work->event, (int)work->kind);
    }
    end_row(drawing);
}

static void draw_gap(void *context, const struct idle_gap *gap)
{
    add_bar(context, gap->start_ns, gap->end_ns, 0, gap_cause_longest(&gap->time));
}

/* The end of the window is visited before its start, so bars are sorted. */
COMPARATOR(by_start, struct excerpt_bar, ASCENDING(start_ns))

static void draw_idle(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    struct excerpt *excerpt = drawing->excerpt;
    int64_t first = excerpt->bar_count;

    begin_row(drawing, (struct excerpt_row){ .kind = EXCERPT_IDLE });
    idle_visit(drawing->scratch, &summary->timeline, &summary->steps, &summary->host, draw_gap,
               drawing);
    if (excerpt->bar_count > first)
        qsort(excerpt->bars + first, (size_t)(excerpt->bar_count - first), sizeof *excerpt->bars,
              by_start);
    end_row(drawing);
}

struct excerpt excerpt_of(struct arena *arena, const struct summary *summary, int64_t steps)
{
    const struct timeline *timeline = &summary->timeline;
    struct excerpt excerpt = { .start_ns = summary->idle.start_ns, .end_ns = summary->idle.end_ns };
    struct drawing drawing = {
        .arena = arena, .scratch = arena_scratch(arena), .excerpt = &excerpt, .summary = summary
    };

    /* Without steps it is all of the trace: where the device worked, or else where the host did. */
    if (summary->steps.count > 0) {
        choose_steps(&excerpt, &summary->steps, steps);
    } else if (timeline->work_count == 0) {
        excerpt.start_ns = timeline->host_count > 0 ? INT64_MAX : 0;
        excerpt.end_ns = 0;
        for (int64_t i = 0; i < timeline->host_count; i++) {
            excerpt.start_ns = interval_earlier(excerpt.start_ns, timeline->host[i]->start_ns);
            excerpt.end_ns = interval_later(excerpt.end_ns, timeline->host[i]->end_ns);
        }
    }
    drawing.narrow_ns = (excerpt.end_ns - excerpt.start_ns) / EXCERPT_PARTS;
    draw_steps(&drawing);
    draw_threads(&drawing);
    for (int64_t i = 0; i < timeline->stream_count; i++) {
        if (i < EXCERPT_TRACKS)
            draw_stream(&drawing, &timeline->streams[i]);
        else
            excerpt.tracks_left_out++;
    }
    draw_idle(&drawing);
    arena_close(drawing.scratch);
    return excerpt;
}
