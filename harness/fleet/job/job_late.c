/* Who is later than the others, and what would change if that were not so. A rank's own time is
 * compared with the median of the same slot, that is of the same collective of the same step on all
 * ranks alike. Candidates are those ranks, nodes, racks, places or groups whose mean lies far
 * beyond the others'.
 *
 * A candidate comes with a change: for each place of the step, by how much its ranks are to be
 * faster. job_causes.c makes the change and replays the job to see what it is worth. */
#include "harness/fleet/job/job_causes.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LATE_LEAST 0.005 /* of a step: less is not looked at */
#define SPREADS_LEAST                                                                              \
    6.0                /* beyond the median of all, in their deviations: one in 1e9 by chance      \
                        */
#define OFTEN     0.75 /* of the steps, or of a node's ranks */
#define GOES_WITH 0.3  /* correlation of own time and tokens */

/* --- Own times beyond the others' --- */

/* The median of each slot's times: a counting sort by slot, then each slot is sorted. INFINITY for
 * one that has fewer than `least`. */
static void find_slot_medians(struct arena *arena, double *slot_ns, int64_t slot_count,
                              const int32_t *slots, const double *times_ns, int64_t count,
                              int64_t least)
{
    SCRATCH_ARENA(scratch, arena);
    int64_t *begin = ARENA_NEW(scratch, int64_t, slot_count + 1);
    int64_t *filled = ARENA_NEW(scratch, int64_t, slot_count);
    double *sorted = ARENA_NEW(scratch, double, count);

    for (int64_t i = 0; i < count; i++) begin[slots[i] + 1]++;
    for (int64_t i = 0; i < slot_count; i++) begin[i + 1] += begin[i];
    for (int64_t i = 0; i < count; i++) sorted[begin[slots[i]] + filled[slots[i]]++] = times_ns[i];
    for (int64_t i = 0; i < slot_count; i++)
        slot_ns[i] =
            filled[i] < least ? INFINITY : stats_sort_median(sorted + begin[i], (int)filled[i]);
}

/* An entry of a rank, with its place in the step and what it is beyond the others. */
struct visited {
    const struct job_late *late;
    int64_t rank, next; /* among the rank's entries */
    int32_t step;
    int64_t place, at; /* at: among all entries */
    double beyond_ns;
};

static struct visited visit(const struct job_late *late, int64_t rank)
{
    return (struct visited){ .late = late, .rank = rank, .step = -1 };
}

/* The next entry, or the first; false: there is none. */
static bool next_entry(struct visited *entry)
{
    const struct job_late *late = entry->late;
    const struct job_rank *rank = &late->job->ranks[entry->rank];
    const struct job_meeting *meeting;

    if (entry->next == rank->entry_count)
        return false;
    meeting = &late->job->meetings[rank->entries[entry->next].meeting];
    entry->place = meeting->step == entry->step ? entry->place + 1 : 0;
    entry->step = meeting->step;
    entry->at = late->times->first[entry->rank] + entry->next++;
    if (late->slot_ns != NULL)
        entry->beyond_ns = late->times->own_ns[entry->at] - late->slot_ns[meeting->slot];
    return true;
}

struct job_late job_late_of(struct arena *arena, const struct job *job,
                            const struct job_times *times)
{
    struct job_late late = { .job = job,
                             .times = times,
                             .slot_ns = ARENA_NEW(arena, double, job->slot_count),
                             .beyond_ns =
                                 ARENA_NEW(arena, float, job->rank_count * job->step_count),
                             .mean_ns = ARENA_NEW(arena, double, job->rank_count) };

    struct arena *scratch = arena_scratch(arena);
    int64_t all = times->first[job->rank_count];
    int32_t *slots = ARENA_NEW(scratch, int32_t, all);
    for (int64_t i = 0; i < job->rank_count; i++)
        for (int64_t j = 0; j < job->ranks[i].entry_count; j++)
            slots[times->first[i] + j] = job->meetings[job->ranks[i].entries[j].meeting].slot;
    find_slot_medians(scratch, late.slot_ns, job->slot_count, slots, times->own_ns, all, 0);
    arena_close(scratch);
    for (int64_t i = 0; i < job->rank_count; i++) {
        double sum_ns = 0;
        for (struct visited entry = visit(&late, i); next_entry(&entry);) {
            late.beyond_ns[i * job->step_count + entry.step] += (float)entry.beyond_ns;
            sum_ns += entry.beyond_ns;
            if (entry.place >= late.places)
                late.places = entry.place + 1;
        }
        late.mean_ns[i] = sum_ns / (double)job->step_count;
    }
    return late;
}

/* --- Changes --- */

/* The set of ranks that a rank is in, of the sets that a kind of cause is about; -1: none. */
static int64_t set_of(const struct job_rank *rank, enum job_cause_kind kind)
{
    switch (kind) {
    case JOB_LATE_NODE:
    case JOB_DRIFTING_NODE:
        return rank->node;
    case JOB_LATE_RACK:
        return rank->rack;
    case JOB_LATE_PLACE:
        return rank->place;
    default:
        return -1;
    }
}

static bool is_of(const struct job_rank *rank, int64_t number, const struct job_cause *cause)
{
    return cause->which >= 0 &&
           cause->which == (cause->kind == JOB_LATE_RANK ? number : set_of(rank, cause->kind));
}

void job_change_make(const struct job *job, struct job_times *times,
                     const struct job_change *change, double sign)
{
    const struct job_late all = { .job = job, .times = times };

    for (int64_t i = 0; i < job->rank_count; i++)
        if (is_of(&job->ranks[i], i, &change->cause))
            for (struct visited entry = visit(&all, i); next_entry(&entry);)
                if (entry.place < change->places)
                    times->own_ns[entry.at] -=
                        sign * (change->shift_ns[entry.place] +
                                change->slope_ns[entry.place] * (double)entry.step);
    for (int64_t i = 0; i < job->meeting_count && change->cause.kind == JOB_SLOW_LINK; i++)
        if (job->meetings[i].group == change->cause.which)
            times->transfer_ns[i] -= sign * change->transfer_ns;
    for (int64_t i = 0; i < times->first[job->rank_count] && change->all_ns != NULL; i++)
        times->own_ns[i] -= sign * change->all_ns[i];
}

/* The line through what the cause's ranks are beyond the others at a place of the step, over the
 * steps; level, unless they drift. */
static void fit_change(struct arena *arena, const struct job_late *late, struct job_change *change)
{
    struct sums {
        double count, x, y, xx, xy;
    } *places = ARENA_NEW(arena, struct sums, late->places);

    change->places = late->places;
    change->shift_ns = ARENA_NEW(arena, double, late->places);
    change->slope_ns = ARENA_NEW(arena, double, late->places);
    for (int64_t i = 0; i < late->job->rank_count; i++)
        if (is_of(&late->job->ranks[i], i, &change->cause))
            for (struct visited entry = visit(late, i); next_entry(&entry);) {
                struct sums *sums = &places[entry.place];
                double x = (double)entry.step, y = entry.beyond_ns;
                sums->count++;
                sums->x += x;
                sums->y += y;
                sums->xx += x * x;
                sums->xy += x * y;
            }
    for (int64_t i = 0; i < late->places; i++) {
        const struct sums *sums = &places[i];
        double width = sums->count * sums->xx - sums->x * sums->x;
        if (sums->count > 0 && width > 0 && change->cause.kind == JOB_DRIFTING_NODE)
            change->slope_ns[i] = (sums->count * sums->xy - sums->x * sums->y) / width;
        if (sums->count > 0)
            change->shift_ns[i] = (sums->y - change->slope_ns[i] * sums->x) / sums->count;
    }
}

/* --- Candidates --- */

/* Values of ranks, nodes, places or groups that are alike, and from where on one is late. */
struct crowd {
    double median, least;
};

static struct crowd crowd_of(struct arena *arena, const double *values, int64_t count,
                             double step_ns)
{
    double *room = ARENA_NEW(arena, double, count);
    struct stats_bulk bulk;

    memcpy(room, values, (size_t)count * sizeof *room);
    bulk = stats_bulk(room, (int)count);
    /* If all are nearly the same, a little would be many deviations: less than LATE_LEAST of a step
     * is never late. */
    bulk.deviation = fmax(bulk.deviation, LATE_LEAST / SPREADS_LEAST * step_ns);
    return (struct crowd){ bulk.median, bulk.median + SPREADS_LEAST * bulk.deviation };
}

/* The highest value that is out, below `below`; -1: none. */
static int64_t highest(const double *values, int64_t count, const struct crowd *crowd, double below)
{
    int64_t best = -1;

    for (int64_t i = 0; i < count; i++)
        if (values[i] >= crowd->least && values[i] < below &&
            (best < 0 || values[i] > values[best]))
            best = i;
    return best;
}

struct looking {
    struct arena *arena;
    const struct job *job;
    const struct job_late *late;
    struct job_change *items;
    int count, most;
};

/* One long step in a trace makes a mean late too, and is no cause that could be removed. */
static bool is_often_late(const struct looking *looking, int64_t rank)
{
    const struct job *job = looking->job;
    int64_t late = 0;

    for (int64_t i = 0; i < job->step_count; i++)
        late += (double)looking->late->beyond_ns[rank * job->step_count + i] >
                looking->late->mean_ns[rank] / 4;
    return (double)late >= OFTEN * (double)job->step_count;
}

static struct job_change *add_candidate(struct looking *looking, enum job_cause_kind kind,
                                        int64_t which, double late_ns)
{
    struct job_change *change;

    if (looking->count == looking->most)
        return NULL;
    change = &looking->items[looking->count++];
    *change = (struct job_change){ .cause = { .kind = kind, .which = which, .late_ns = late_ns } };
    if (kind != JOB_SLOW_LINK)
        fit_change(looking->arena, looking->late, change);
    return change;
}

/* At most two, of eight that are looked at: each candidate costs a replay. */
static void look_at_ranks(struct looking *looking)
{
    const double *values = looking->late->mean_ns;
    struct crowd crowd =
        crowd_of(looking->arena, values, looking->job->rank_count, looking->job->replayed_ns);
    double below = INFINITY;

    for (int taken = 0, tried = 0; taken < 2 && tried < 8; tried++) {
        int64_t which = highest(values, looking->job->rank_count, &crowd, below);
        if (which < 0)
            return;
        below = values[which];
        if (!is_often_late(looking, which))
            continue;
        add_candidate(looking, JOB_LATE_RANK, which, values[which] - crowd.median);
        taken++;
    }
}

/* Whether most ranks of the cause's set are late, and the set has more than one. */
static bool are_mostly_late(const struct looking *looking, const struct job_cause *cause,
                            double least)
{
    int64_t count = 0, late = 0;

    for (int64_t i = 0; i < looking->job->rank_count; i++)
        if (is_of(&looking->job->ranks[i], i, cause)) {
            count++;
            late += looking->late->mean_ns[i] >= least;
        }
    return count > 1 && (double)late >= OFTEN * (double)count;
}

/* Means of all ranks of a node, or at a place, if there are three or more. */
static void look_at_sets(struct looking *looking, enum job_cause_kind kind, int64_t count,
                         const double *values)
{
    struct crowd crowd;
    double below = INFINITY;

    if (count < 3)
        return;
    crowd = crowd_of(looking->arena, values, count, looking->job->replayed_ns);
    for (int taken = 0; taken < 2; taken++) {
        int64_t which = highest(values, count, &crowd, below);
        struct job_cause cause = { .kind = kind, .which = which };
        if (which < 0)
            return;
        below = values[which];
        if (are_mostly_late(looking, &cause, crowd.median + (values[which] - crowd.median) / 2))
            add_candidate(looking, kind, which, values[which] - crowd.median);
    }
}

static void look_at_nodes(struct looking *looking)
{
    const struct job *job = looking->job;
    double *values = ARENA_NEW(looking->arena, double, job->node_count);

    for (int64_t i = 0; i < job->rank_count; i++)
        values[job->ranks[i].node] +=
            looking->late->mean_ns[i] / (double)job->nodes[job->ranks[i].node].rank_count;
    look_at_sets(looking, JOB_LATE_NODE, job->node_count, values);
}

/* The mean of each set of ranks: those of a rack, or those at the same place of their nodes. */
static void look_at_means(struct looking *looking, enum job_cause_kind kind)
{
    const struct job *job = looking->job;
    int64_t count = 0;
    double *values, *ranks;

    for (int64_t i = 0; i < job->rank_count; i++)
        if (set_of(&job->ranks[i], kind) >= count)
            count = set_of(&job->ranks[i], kind) + 1;
    values = ARENA_NEW(looking->arena, double, count);
    ranks = ARENA_NEW(looking->arena, double, count);
    for (int64_t i = 0; i < job->rank_count; i++) {
        int64_t set = set_of(&job->ranks[i], kind);
        if (set < 0)
            continue;
        values[set] += looking->late->mean_ns[i];
        ranks[set]++;
    }
    for (int64_t i = 0; i < count; i++) values[i] /= ranks[i];
    look_at_sets(looking, kind, count, values);
}

/* By how much each node gets later from the first step to the last. */
static void look_at_drifts(struct looking *looking)
{
    const struct job *job = looking->job;
    double middle = (double)(job->step_count - 1) / 2, width = 0;
    double *values = ARENA_NEW(looking->arena, double, job->node_count);
    struct crowd crowd;
    int64_t which;

    if (job->step_count < 4 || job->node_count < 3)
        return;
    for (int64_t i = 0; i < job->step_count; i++)
        width += ((double)i - middle) * ((double)i - middle);
    for (int64_t i = 0; i < job->rank_count; i++)
        for (int64_t j = 0; j < job->step_count; j++)
            values[job->ranks[i].node] +=
                ((double)j - middle) * (double)looking->late->beyond_ns[i * job->step_count + j] *
                2 * middle / width / (double)job->nodes[job->ranks[i].node].rank_count;
    crowd = crowd_of(looking->arena, values, job->node_count, job->replayed_ns);
    which = highest(values, job->node_count, &crowd, INFINITY);
    if (which >= 0)
        add_candidate(looking, JOB_DRIFTING_NODE, which, values[which] - crowd.median);
}

/* Groups whose transfers take longer than those of other groups in the same slot of a step. */
static void look_at_links(struct looking *looking)
{
    const struct job *job = looking->job;
    struct arena *arena = looking->arena;
    double *slot_ns = ARENA_NEW(arena, double, job->slot_count);
    double *values = ARENA_NEW(arena, double, job->group_count);
    int32_t *slots = ARENA_NEW(arena, int32_t, job->meeting_count);
    struct crowd crowd;
    double below = INFINITY;

    for (int64_t i = 0; i < job->meeting_count; i++) slots[i] = job->meetings[i].slot;
    find_slot_medians(arena, slot_ns, job->slot_count, slots, looking->late->times->transfer_ns,
                      job->meeting_count, 3);
    for (int64_t i = 0; i < job->meeting_count; i++)
        if (isfinite(slot_ns[job->meetings[i].slot]))
            values[job->meetings[i].group] +=
                (looking->late->times->transfer_ns[i] - slot_ns[job->meetings[i].slot]) /
                (double)job->step_count;
    crowd = crowd_of(arena, values, job->group_count, job->replayed_ns);
    for (int taken = 0; taken < 2; taken++) {
        int64_t which = highest(values, job->group_count, &crowd, below);
        struct job_change *change;
        if (which < 0)
            return;
        below = values[which];
        change = add_candidate(looking, JOB_SLOW_LINK, which, values[which] - crowd.median);
        if (change != NULL)
            change->transfer_ns = (values[which] - crowd.median) * (double)job->step_count /
                                  (double)job->groups[which].meeting_count;
    }
}

int job_candidates(struct arena *arena, const struct job_late *late, struct job_change *candidates,
                   int most)
{
    struct looking looking = { arena, late->job, late, candidates, 0, most };

    look_at_ranks(&looking);
    look_at_nodes(&looking);
    look_at_means(&looking, JOB_LATE_RACK);
    look_at_drifts(&looking);
    if (late->job->node_count >= 3)
        look_at_means(&looking, JOB_LATE_PLACE);
    look_at_links(&looking);
    return looking.count;
}

/* --- What is uneven --- */

/* [rank_count][step_count], beyond the median of the step; NULL: not all state them. */
static double *tokens_of(struct arena *arena, const struct job *job)
{
    double *tokens = ARENA_NEW(arena, double, job->rank_count * job->step_count);
    double *sorted = ARENA_NEW(arena, double, job->rank_count);

    for (int64_t step = 0; step < job->step_count; step++) {
        double median;
        for (int64_t i = 0; i < job->rank_count; i++) {
            if (job->ranks[i].record.tokens[step] < 0)
                return NULL;
            sorted[i] = (double)job->ranks[i].record.tokens[step];
            tokens[i * job->step_count + step] = sorted[i];
        }
        median = stats_sort_median(sorted, (int)job->rank_count);
        for (int64_t i = 0; i < job->rank_count; i++) tokens[i * job->step_count + step] -= median;
    }
    return tokens;
}

/* Time that goes with tokens: a line through zero for each place of the step, if the correlation is
 * strong enough. */
bool job_imbalance(struct arena *arena, const struct job_late *late, struct job_change *change)
{
    const struct job *job = late->job;
    const double *tokens = tokens_of(arena, job);
    struct sums {
        double xx, xy, yy; /* xx is 0 where own time does not go with tokens */
    } *places = ARENA_NEW(arena, struct sums, late->places);
    bool goes_with = false;

    *change = (struct job_change){ .cause = { .kind = JOB_IMBALANCE, .which = -1 } };
    if (tokens == NULL)
        return false;
    for (int64_t i = 0; i < job->rank_count; i++)
        for (struct visited entry = visit(late, i); next_entry(&entry);) {
            double x = tokens[i * job->step_count + entry.step], y = entry.beyond_ns;
            places[entry.place].xx += x * x;
            places[entry.place].xy += x * y;
            places[entry.place].yy += y * y;
        }
    for (int64_t i = 0; i < late->places; i++) {
        double xx = places[i].xx, xy = places[i].xy;
        if (!(xx > 0 && xy >= GOES_WITH * sqrt(xx * places[i].yy))) {
            places[i].xx = 0;
            continue;
        }
        goes_with = true;
        change->cause.late_ns += xy / xx * sqrt(xx / (double)(job->rank_count * job->step_count));
    }
    change->all_ns = ARENA_NEW(arena, double, late->times->first[job->rank_count]);
    for (int64_t i = 0; i < job->rank_count; i++)
        for (struct visited entry = visit(late, i); next_entry(&entry);)
            if (places[entry.place].xx > 0)
                change->all_ns[entry.at] = tokens[i * job->step_count + entry.step] *
                                           places[entry.place].xy / places[entry.place].xx;
    return goes_with;
}

/* If every rank took what the median takes at each place. */
void job_evenness(struct arena *arena, const struct job_late *late, struct job_change *change)
{
    int64_t all = late->times->first[late->job->rank_count];

    *change = (struct job_change){ .cause = { .kind = JOB_WANDERING, .which = -1 },
                                   .all_ns = ARENA_NEW(arena, double, all) };
    for (int64_t i = 0; i < late->job->rank_count; i++)
        for (struct visited entry = visit(late, i); next_entry(&entry);)
            change->all_ns[entry.at] = entry.beyond_ns;
}

/* --- Without the latest --- */

struct by_mean {
    double mean_ns;
    int64_t rank;
};

COMPARATOR(compare_means, struct by_mean, DESCENDING(mean_ns))

void job_without(struct arena *arena, const struct job_late *late, struct job_times *times,
                 int64_t count)
{
    int64_t all = late->job->rank_count;
    struct by_mean *sorted = ARENA_NEW(arena, struct by_mean, all);

    for (int64_t i = 0; i < all; i++) sorted[i] = (struct by_mean){ late->mean_ns[i], i };
    qsort(sorted, (size_t)all, sizeof *sorted, compare_means);
    for (int64_t i = 0; i < count && i < all; i++) {
        struct job_change change = { .cause = { .kind = JOB_LATE_RANK, .which = sorted[i].rank } };
        fit_change(arena, late, &change);
        job_change_make(late->job, times, &change, 1);
    }
}
