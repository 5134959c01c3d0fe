/* The slow rank is the one that communicates least; the others' medians say how long all others do,
 * and which part of its step is longer than theirs. */
#include "harness/desk/diagnosis/facts/ranks.h"

#include "harness/base/figures/statistics.h"

#include <math.h>
#include <string.h>

static struct rank_figures figures_of(const struct summary *summary, bool by_step)
{
    const struct usage *usage = &summary->usage;
    const struct trace_file *trace = summary->trace;
    double steps = by_step ? (double)summary->steps.count : 1;
    double window_ns = (double)(summary->idle.end_ns - summary->idle.start_ns);
    struct rank_figures figures = {
        .step_ns = window_ns / steps,
        .busy_share = window_ns > 0 ? (double)summary->idle.busy_ns / window_ns : NAN,
        .compute_ns = (double)usage->kind_ns[WORK_COMPUTATION] / steps,
        .communication_ns = (double)usage->kind_ns[WORK_COMMUNICATION] / steps,
        .exposed_ns = (double)usage->communication_exposed_ns / steps,
        .waits_ns = NAN,
    };

    memcpy(figures.part_ns, summary->steps.mean_part_ns, sizeof figures.part_ns);
    if (summary->timeline.host_alone && by_step) {
        figures.communication_ns = figures.part_ns[STEP_COMMUNICATION];
        figures.exposed_ns = figures.communication_ns;
    }
    figures.is_compared =
        !trace->partial && trace->dropped_count == 0 && figures.communication_ns > 0;
    return figures;
}

/* Figures per step and of whole traces cannot be compared. */
static bool all_have_steps(const struct summary *ranks, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (ranks[i].steps.count == 0 && !ranks[i].trace->partial)
            return false;
    return true;
}

/* From PARTS on one for each part of a step. */
enum figure { STEP, COMMUNICATION, EXPOSED, PARTS };

static double figure_of(const struct rank_figures *figures, int figure)
{
    return figure == STEP            ? figures->step_ns
           : figure == COMMUNICATION ? figures->communication_ns
           : figure == EXPOSED       ? figures->exposed_ns
                                     : figures->part_ns[figure - PARTS];
}

/* The median of a figure over the ranks that are compared, without rank `without`. */
static double median(const struct rank_figures *figures, int64_t count, int figure, int64_t without,
                     double *room)
{
    int taken = 0;

    for (int64_t i = 0; i < count; i++)
        if (figures[i].is_compared && i != without)
            room[taken++] = figure_of(&figures[i], figure);
    return stats_sort_median(room, taken);
}

bool rank_is_slow(const struct slow_rank *slow, const struct rank_figures *figures)
{
    return slow->which >= 0 && figures->is_compared &&
           figures->communication_ns - slow->least_ns <=
               slow->typical_ns - figures->communication_ns;
}

static void find_part(struct slow_rank *slow, const struct rank_figures *figures, int64_t count,
                      double *room)
{
    double longest_ns = (slow->typical_ns - slow->least_ns) / 2;

    for (int part = 0; part < STEP_PART_COUNT; part++) {
        double own_ns = figures[slow->which].part_ns[part];
        double others_ns = median(figures, count, PARTS + part, slow->which, room);
        if (part == STEP_COMMUNICATION || !(longest_ns > 0) || !(own_ns - others_ns >= longest_ns))
            continue;
        longest_ns = own_ns - others_ns;
        slow->part = (enum step_part)part;
        slow->part_ns = own_ns;
        slow->part_typical_ns = others_ns;
    }
}

static void find_slow(struct slow_rank *slow, struct rank_figures *figures, int64_t count,
                      double *room)
{
    double next_ns = INFINITY;

    for (int64_t i = 0; i < count; i++)
        if (figures[i].is_compared &&
            (slow->which < 0 ||
             figures[i].communication_ns < figures[slow->which].communication_ns))
            slow->which = i;
    if (slow->which < 0)
        return;
    slow->step_ns = median(figures, count, STEP, -1, room);
    slow->least_ns = figures[slow->which].communication_ns;
    slow->typical_ns = median(figures, count, COMMUNICATION, slow->which, room);
    if (isnan(slow->typical_ns)) {
        slow->which = -1;
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (!figures[i].is_compared)
            continue;
        figures[i].waits_ns = figures[i].communication_ns - slow->least_ns;
        if (i == slow->which)
            continue;
        if (rank_is_slow(slow, &figures[i]))
            slow->near++;
        else
            next_ns = fmin(next_ns, figures[i].communication_ns);
    }
    find_part(slow, figures, count, room);
    if (next_ns < INFINITY)
        slow->lost_ns =
            fmin(next_ns - slow->least_ns, median(figures, count, EXPOSED, slow->which, room));
}

struct slow_rank slow_rank_of(struct arena *arena, struct rank_figures *figures,
                              const struct summary *ranks, int64_t count)
{
    struct slow_rank slow = { .which = -1, .part = STEP_PART_COUNT };
    SCRATCH_ARENA(scratch, arena);
    bool by_step = all_have_steps(ranks, count);

    for (int64_t i = 0; i < count; i++)
        figures[i] = figures_of(&ranks[i], by_step && ranks[i].steps.count > 0);
    find_slow(&slow, figures, count, ARENA_NEW(scratch, double, count));
    return slow;
}

struct ranks_together ranks_together(struct arena *arena, const struct summary *ranks,
                                     int64_t count)
{
    struct ranks_together together = { .figures = ARENA_NEW(arena, struct rank_figures, count) };
    double least_ns = 0;

    together.slow = slow_rank_of(arena, together.figures, ranks, count);
    /* A rank of a pipeline whose part of the model takes longer waits less for its neighbours. */
    for (int64_t i = 0; i < count; i++) {
        double ns = (double)ranks[i].messages.peer_exposed_ns / (double)ranks[i].steps.count;
        if (ranks[i].steps.count > 0 && ns > 0)
            least_ns = least_ns > 0 ? fmin(least_ns, ns) : ns;
    }
    together.peer_wait_ns = least_ns;
    return together;
}

const char *slow_rank_does(const struct slow_rank *slow)
{
    static const char *const texts[STEP_PART_COUNT + 1] = {
        [STEP_KERNEL] = "computes",
        [STEP_COPY] = "copies",
        [STEP_MEMSET] = "clears memory",
        [STEP_RUNTIME] = "is in calls of the runtime",
        [STEP_DATA_LOADING] = "loads data or waits for it",
        [STEP_HOST] = "is in operators of the host",
        [STEP_OTHER] = "does what the trace does not show",
    };

    return texts[slow->part];
}

const char *slow_rank_advice(const struct slow_rank *slow)
{
    static const char *const texts[STEP_PART_COUNT + 1] = {
        [STEP_KERNEL] = "look at the trace of that rank: its share of the work, the clocks of its "
                        "device",
        [STEP_DATA_LOADING] = "look at the trace of that rank: its loader, and its samples",
        [STEP_HOST] = "look at the trace of that rank: what its host does meanwhile",
        [STEP_OTHER] = "look at what that rank does meanwhile (record it with stacks)",
    };

    return texts[slow->part];
}

bool slow_rank_matters(const struct slow_rank *slow)
{
    return slow->which >= 0 && slow->lost_ns >= SLOW_RANK_LEAST * slow->step_ns;
}
