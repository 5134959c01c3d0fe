/* Clocks of the nodes, and the critical rank of each step. A clock is a line through the ends of
 * collectives, which are the same moment on all ranks. The critical rank of a step is found by
 * following the latest entries back through the replay: on that path, the rank that is longest
 * beyond the others. */
#include "harness/fleet/job/job_causes.h"

#include "harness/base/figures/statistics.h"

#include <math.h>
#include <string.h>

/* --- Clocks --- */

/* Least squares, of the moments by this node's clock over those of the replay. Means first: the
 * times are large and the differences small. */
static void fit(struct job_node *node, const struct job_rank *rank, const struct job_course *course,
                int64_t zero_ns)
{
    double count = (double)rank->entry_count, x = 0, y = 0, xx = 0, xy = 0, middle;

    for (int64_t i = 0; i < rank->entry_count; i++) {
        x += course->end_ns[rank->entries[i].meeting] / count;
        y += (double)(rank->entries[i].end_ns - zero_ns) / count;
    }
    for (int64_t i = 0; i < rank->entry_count; i++) {
        middle = course->end_ns[rank->entries[i].meeting] - x;
        xx += middle * middle;
        xy += middle * ((double)(rank->entries[i].end_ns - zero_ns) - y);
    }
    node->drift = xx > 0 ? xy / xx : 1;
    node->offset_ns = y - x;
}

void job_clocks_find(struct arena *arena, struct job *job, const struct job_course *course)
{
    double *offsets = ARENA_NEW(arena, double, job->node_count);
    double *drifts = ARENA_NEW(arena, double, job->node_count);
    int64_t zero_ns = job->ranks[0].record.clock_ns;
    double offset_ns, drift;

    for (int64_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].place == 0 && job->ranks[i].entry_count > 0)
            fit(&job->nodes[job->ranks[i].node], &job->ranks[i], course, zero_ns);
    for (int64_t i = 0; i < job->node_count; i++) {
        offsets[i] = job->nodes[i].offset_ns;
        drifts[i] = job->nodes[i].drift;
    }
    /* There is no true clock, so the middle one is taken for right. */
    offset_ns = stats_median(offsets, (int)job->node_count);
    drift = stats_median(drifts, (int)job->node_count);
    for (int64_t i = 0; i < job->node_count; i++) {
        job->nodes[i].offset_ns -= offset_ns;
        job->nodes[i].drift -= drift;
    }
}

/* --- The critical rank --- */

/* On the longest path of a step, what each rank adds. */
struct path {
    double *own_ns; /* [rank_count]; zeros but for those on the path */
    int32_t *ranks; /* those */
    int64_t count;
};

/* From the end of the step back to its beginning. The 1 ns marks a rank as seen that adds no time
 * of its own. */
static void follow(const struct job *job, const struct job_course *course, int32_t meeting,
                   struct path *path)
{
    int32_t step = job->meetings[meeting].step;

    for (;;) {
        int32_t rank = course->last_rank[meeting];
        int64_t entry = course->last_entry[meeting];
        if (path->own_ns[rank] == 0)
            path->ranks[path->count++] = rank;
        path->own_ns[rank] += 1 + (double)job->ranks[rank].entries[entry].own_ns;
        if (entry == 0)
            return;
        meeting = job->ranks[rank].entries[entry - 1].meeting;
        if (job->meetings[meeting].step != step)
            return;
    }
}

/* The part of the step that is longest beyond the median of all ranks. */
static int part_of(struct arena *scratch, const struct job *job, int32_t which, int64_t step)
{
    double *others = ARENA_NEW(scratch, double, job->rank_count), most_ns = 0;
    int longest = -1;

    for (int part = 0; part < STEP_PART_COUNT; part++) {
        int64_t at = step * STEP_PART_COUNT + part;
        double beyond_ns;
        if (part == STEP_COMMUNICATION)
            continue;
        for (int64_t i = 0; i < job->rank_count; i++)
            others[i] = (double)job->ranks[i].record.part_ns[at];
        beyond_ns = (double)job->ranks[which].record.part_ns[at] -
                    stats_sort_median(others, (int)job->rank_count);
        if (beyond_ns > most_ns) {
            most_ns = beyond_ns;
            longest = part;
        }
    }
    return longest;
}

void job_critical_find(struct arena *arena, const struct job *job, const struct job_course *course,
                       struct job_causes *causes)
{
    SCRATCH_ARENA(scratch, arena);
    struct path path = { ARENA_NEW(scratch, double, job->rank_count),
                         ARENA_NEW(scratch, int32_t, job->rank_count), 0 };
    int32_t *last = ARENA_NEW(scratch, int32_t, job->step_count);

    for (int64_t i = 0; i < job->step_count; i++) last[i] = -1;
    for (int64_t i = 0; i < job->meeting_count; i++) {
        int32_t *of = &last[job->meetings[i].step];
        if (*of < 0 || course->end_ns[i] > course->end_ns[*of])
            *of = (int32_t)i;
    }
    for (int64_t step = 0; step < job->step_count; step++) {
        struct job_critical *critical = &causes->critical[step];
        *critical = (struct job_critical){ .rank = -1, .beyond_ns = -INFINITY, .part = -1 };
        if (last[step] < 0)
            continue;
        follow(job, course, last[step], &path);
        for (int64_t i = 0; i < path.count; i++) {
            int32_t rank = path.ranks[i];
            double beyond_ns = (double)causes->beyond_ns[rank * job->step_count + step];
            if (beyond_ns > critical->beyond_ns)
                *critical = (struct job_critical){ rank, path.own_ns[rank], beyond_ns, -1 };
            path.own_ns[rank] = 0;
        }
        path.count = 0;
        critical->part = part_of(scratch, job, critical->rank, step);
    }
}
