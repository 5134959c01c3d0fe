/* Candidates come from job_late.c; a replay without one says what it costs. The dearest is taken
 * out for good and the rest is looked at again, so that what it causes elsewhere accuses nobody. */
#include "harness/fleet/job/job_causes.h"

#include "harness/base/figures/statistics.h"
#include <math.h>
#include <string.h>

#define HOLDS_WITHIN  0.05
#define WANDERS_LEAST 0.1 /* of a step: ranks that are alike differ by chance */

const char *job_cause_name(enum job_cause_kind kind)
{
    static const char *const names[JOB_CAUSE_COUNT] = {
        [JOB_LATE_RANK] = "late_rank",   [JOB_LATE_NODE] = "late_node",
        [JOB_LATE_RACK] = "late_rack",   [JOB_DRIFTING_NODE] = "drifting_node",
        [JOB_LATE_PLACE] = "late_place", [JOB_SLOW_LINK] = "slow_link",
        [JOB_IMBALANCE] = "imbalance",   [JOB_WANDERING] = "wandering",
    };

    return names[kind];
}

struct finding_causes {
    struct arena *arena;
    struct job *job;
    struct job_causes *causes;
    struct job_times times; /* without the causes that were found */
    double step_ns;         /* the same */
    struct job_late late;
};

/* The gain of a step by a change, which is made for good if `keep`. */
static double try_change(struct finding_causes *finding, const struct job_change *change, bool keep)
{
    double gained_ns;

    job_change_make(finding->job, &finding->times, change, 1);
    gained_ns = finding->step_ns - job_replay(finding->arena, finding->job, &finding->times, NULL);
    if (keep)
        finding->step_ns -= gained_ns;
    else
        job_change_make(finding->job, &finding->times, change, -1);
    return gained_ns;
}

/* The dearest of the candidates; false: none costs enough. */
static bool find_next(struct finding_causes *finding)
{
    enum { CANDIDATES = 12 };
    struct job_change candidates[CANDIDATES];
    SCRATCH_ARENA(scratch, finding->arena);
    int count, best = -1;
    double most_ns = JOB_CAUSE_LEAST * finding->job->replayed_ns;
    struct job_cause *cause = &finding->causes->items[finding->causes->count];

    finding->late = job_late_of(scratch, finding->job, &finding->times);
    count = job_candidates(scratch, &finding->late, candidates, CANDIDATES);
    for (int i = 0; i < count; i++) {
        double gained_ns = try_change(finding, &candidates[i], false);
        if (gained_ns > most_ns) {
            most_ns = gained_ns;
            best = i;
        }
    }
    if (best >= 0) {
        *cause = candidates[best].cause;
        cause->lost_ns = try_change(finding, &candidates[best], true);
        finding->causes->count++;
    }
    return best >= 0;
}

/* Time that goes with tokens and time that does not, after all that stays. */
static void find_uneven(struct finding_causes *finding)
{
    SCRATCH_ARENA(scratch, finding->arena);
    struct job_change change;
    struct job_cause cause;
    double least = JOB_CAUSE_LEAST;

    finding->late = job_late_of(scratch, finding->job, &finding->times);
    if (!job_imbalance(scratch, &finding->late, &change)) {
        job_evenness(scratch, &finding->late, &change);
        least = WANDERS_LEAST;
    }
    cause = change.cause;
    cause.lost_ns = try_change(finding, &change, true);
    if (cause.lost_ns >= least * finding->job->replayed_ns && finding->causes->count < JOB_CAUSES)
        finding->causes->items[finding->causes->count++] = cause;
}

/* --- What else the ranks show --- */

/* The step if the latest ranks were like the others. */
static void find_without(struct finding_causes *finding)
{
    struct job *job = finding->job;
    /* One rank, eight (a machine often has so many), and one in a hundred. */
    int64_t counts[JOB_WITHOUT] = { 1, 8, job->rank_count / 100 };

    for (int i = 0; i < JOB_WITHOUT; i++) {
        struct arena *scratch = arena_scratch(finding->arena);
        struct job_times times = job_times_of(scratch, job);
        job_without(scratch, &finding->late, &times, counts[i]);
        finding->causes->without[i] = counts[i];
        finding->causes->without_ns[i] = job_replay(scratch, job, &times, NULL);
        arena_close(scratch);
    }
}

/* A replay that does not give back the measured step explains nothing. */
static bool gives_back(const struct job *job, double replayed_ns)
{
    return fabs(replayed_ns - job->step_ns) <= HOLDS_WITHIN * job->step_ns;
}

struct job_causes job_causes_of(struct arena *arena, struct job *job)
{
    struct job_causes causes = { .count = 0 };
    struct finding_causes finding = { .arena = arena, .job = job, .causes = &causes };
    struct job_course course = { ARENA_NEW(arena, double, job->meeting_count),
                                 ARENA_NEW(arena, int32_t, job->meeting_count),
                                 ARENA_NEW(arena, int64_t, job->meeting_count) };

    causes.critical = ARENA_NEW(arena, struct job_critical, job->step_count);
    if (job->meeting_count == 0)
        return causes;
    finding.times = job_times_of(arena, job);
    job->replayed_ns = finding.step_ns = job_replay(arena, job, &finding.times, &course);
    causes.holds = gives_back(job, job->replayed_ns);
    finding.late = job_late_of(arena, job, &finding.times);
    causes.beyond_ns = finding.late.beyond_ns;
    for (int64_t i = 0; i < job->rank_count; i++) job->ranks[i].late_ns = finding.late.mean_ns[i];
    if (!causes.holds)
        return causes;
    job_clocks_find(arena, job, &course);
    job_critical_find(arena, job, &course, &causes);
    find_without(&finding);
    while (causes.count < JOB_CAUSES - 1 && find_next(&finding)) continue;
    /* If digests are missing, a group may seem to transfer for long, as its last rank is not there.
     * Such transfers are cut to the shortest of those that are alike, and all is looked at once
     * more. */
    if (causes.count == 0 && job_times_complete(arena, job, &finding.times)) {
        finding.step_ns = job_replay(arena, job, &finding.times, NULL);
        while (gives_back(job, finding.step_ns) && causes.count < JOB_CAUSES - 1 &&
               find_next(&finding))
            continue;
    }
    find_uneven(&finding);
    return causes;
}
