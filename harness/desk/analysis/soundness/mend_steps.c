/* The marked steps: what lies between, across and before them. */
#include "harness/base/bisect.h"
#include "harness/base/figures/quantity.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/soundness/mends.h"
#include "harness/desk/analysis/timeline/steps.h"

#include <stdio.h>

COMPARATOR(by_start, struct step_mark, ASCENDING(start_ns) ?: ASCENDING(number))

struct marks marks_of(struct arena *arena, const struct trace_file *trace)
{
    struct marks marks = { .count = 0 };
    int64_t room = 0, number;

    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (!step_is_marked(trace, event, &number))
            continue;
        ARENA_ROOM(arena, marks.items, marks.count, room);
        marks.items[marks.count++] =
            (struct step_mark){ number, event->start_ns, event->end_ns, event->track };
    }
    sort_items(marks.items, marks.count, sizeof *marks.items, by_start);
    return marks;
}

/* --- Holes between cycles --- */

/* The longest time between two steps in which no event is under way, or none of the host. */
static struct interval quiet_between(struct arena *scratch, const struct trace_file *trace,
                                     int64_t start_ns, int64_t end_ns, bool on_host)
{
    struct intervals events = { .arena = scratch }, all = { .arena = scratch },
                     quiet = { .arena = scratch };
    struct interval longest = { start_ns, start_ns };

    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->start_ns < end_ns && event->end_ns > start_ns &&
            event->kind != EVENT_KIND_MEMORY && !(on_host && trace->tracks[event->track].on_device))
            intervals_add(&events, interval_later(event->start_ns, start_ns),
                          interval_earlier(event->end_ns, end_ns));
    }
    intervals_merge(&events);
    intervals_add(&all, start_ns, end_ns);
    intervals_without(&quiet, &all, &events);
    for (int64_t i = 0; i < quiet.count; i++)
        if (quiet.items[i].end_ns - quiet.items[i].start_ns > longest.end_ns - longest.start_ns)
            longest = quiet.items[i];
    return longest;
}

/* A time after a hole moves to its start, so that what follows it comes next. */
static int64_t without_hole(int64_t at_ns, const struct interval *hole)
{
    if (at_ns <= hole->start_ns)
        return at_ns;
    return at_ns < hole->end_ns ? hole->start_ns : at_ns - (hole->end_ns - hole->start_ns);
}

static void remove_hole(struct trace_file *trace, const struct interval *hole)
{
    for (int64_t i = 0; i < trace->event_count; i++) {
        trace->events[i].start_ns = without_hole(trace->events[i].start_ns, hole);
        trace->events[i].end_ns = without_hole(trace->events[i].end_ns, hole);
    }
    for (int64_t i = 0; i < trace->frame_count; i++) {
        trace->frames[i].start_ns = without_hole(trace->frames[i].start_ns, hole);
        trace->frames[i].end_ns = without_hole(trace->frames[i].end_ns, hole);
    }
}

/* Steps whose numbers do not follow, with nothing of the host for most of the time between them:
 * the profiler did not record then. The work of the last step may go on for a while. */
static bool find_hole(struct interval *hole, struct arena *scratch, const struct trace_file *trace,
                      const struct step_mark *before, const struct step_mark *after)
{
    int64_t gap_ns = after->start_ns - before->end_ns;
    int64_t step_ns = before->end_ns - before->start_ns;

    if (after->number - before->number < 2 || after->track != before->track ||
        2 * gap_ns < step_ns || gap_ns <= 0)
        return false;
    *hole = quiet_between(scratch, trace, before->end_ns, after->start_ns, true);
    if (2 * (hole->end_ns - hole->start_ns) < gap_ns)
        return false;
    *hole = quiet_between(scratch, trace, before->end_ns, after->start_ns, false);
    return hole->end_ns > hole->start_ns;
}

/* The time between two steps that is no part of the hole, beyond a fiftieth of a step: work that
 * ends late or begins late, which then seems to be idle time of the next step. */
static int64_t work_beside(const struct step_mark *before, const struct step_mark *after,
                           const struct interval *hole)
{
    int64_t beside_ns = after->start_ns - before->end_ns - (hole->end_ns - hole->start_ns);

    return interval_later(0, beside_ns - (before->end_ns - before->start_ns) / 50);
}

bool mend_cycles(struct sound_row *row, struct arena *arena, struct trace_file *trace,
                 const struct marks *marks)
{
    struct arena *scratch = arena_scratch(arena);
    struct interval hole;
    double hole_ns = 0, work_ns = 0;

    for (int64_t i = marks->count; i-- > 1;) /* from the last on: times before a hole stay */
        if (find_hole(&hole, scratch, trace, &marks->items[i - 1], &marks->items[i])) {
            remove_hole(trace, &hole);
            hole_ns += (double)(hole.end_ns - hole.start_ns);
            work_ns += (double)work_beside(&marks->items[i - 1], &marks->items[i], &hole);
            row->count++;
        }
    arena_close(scratch);
    if (row->count == 0)
        return false;
    snprintf(row->found, sizeof row->found,
             "the steps are of %lld cycles of the profiler's schedule, with %s between them that "
             "were not recorded",
             (long long)row->count + 1, quantity_time(hole_ns).text);
    snprintf(row->mended, sizeof row->mended, "that time is part of no step");
    row->trust = work_ns > 0 ? TRUST_LESS : TRUST_WHOLE;
    return true;
}

/* --- Annotations across a mark --- */

/* The step in which an event begins and after whose end it goes on; NULL: there is none. A mark
 * that begins with the step is around it. */
static const struct step_mark *crossed(const struct marks *marks, const struct trace_event *event)
{
    enum { MARK_NS = 1000 }; /* whole microseconds are a unit of traces */
    int64_t low = 0, high = marks->count;
    const struct step_mark *mark;

    BISECT(low, high, i, marks->items[i].start_ns < event->start_ns);
    if (low == 0)
        return NULL;
    mark = &marks->items[low - 1];
    return mark->track == event->track && event->start_ns < mark->end_ns &&
                   event->end_ns > mark->end_ns + MARK_NS
               ? mark
               : NULL;
}

bool mend_annotations(struct sound_row *row, struct trace_file *trace, const struct marks *marks)
{
    const char *name = NULL;
    int64_t number;

    for (int64_t i = 0; marks->count > 0 && i < trace->event_count; i++) {
        struct trace_event *event = &trace->events[i];
        const struct step_mark *mark;
        if (event->kind != EVENT_KIND_ANNOTATION || step_is_marked(trace, event, &number))
            continue;
        mark = crossed(marks, event);
        if (mark == NULL)
            continue;
        event->end_ns = mark->end_ns;
        name = trace_file_name(trace, event->name);
        row->count++;
    }
    if (row->count == 0)
        return false;
    snprintf(row->found, sizeof row->found, "%lld annotation%s over the mark of a step: %.100s",
             (long long)row->count, row->count == 1 ? " runs" : "s run", name);
    snprintf(row->mended, sizeof row->mended, "each counts until the end of its step");
    return true;
}

/* --- Before the first step --- */

void mend_beginning(struct sound_row *row, const struct timeline *timeline,
                    const struct marks *marks)
{
    for (int64_t i = 0; marks->count > 0 && i < timeline->work_count &&
                        timeline->work[i].event->start_ns < marks->items[0].start_ns;
         i++)
        row->count += timeline->work[i].event->end_ns <= marks->items[0].start_ns;
    if (row->count == 0)
        return;
    snprintf(row->found, sizeof row->found,
             "%lld piece%s of device work ended before the first marked step",
             (long long)row->count, row->count == 1 ? "" : "s");
    snprintf(row->mended, sizeof row->mended, "totals of the findings leave them out");
}
