/* A stack holds the ranks that can go on. A rank that is the last to come to a collective ends it,
 * and all members go on from there.
 *
 * No order of ranks is needed: a rank waits only for collectives, and the order in which ranks
 * go on does not change when a collective ends. So a replay takes time in proportion to the
 * entries. */
#include "harness/fleet/job/job_replay.h"

#include <math.h>

struct job_times job_times_of(struct arena *arena, const struct job *job)
{
    struct job_times times = { .first = ARENA_NEW(arena, int64_t, job->rank_count + 1) };

    for (int64_t i = 0; i < job->rank_count; i++)
        times.first[i + 1] = times.first[i] + job->ranks[i].entry_count;
    times.own_ns = ARENA_NEW(arena, double, times.first[job->rank_count]);
    times.transfer_ns = ARENA_NEW(arena, double, job->meeting_count);
    for (int64_t i = 0; i < job->rank_count; i++)
        for (int64_t j = 0; j < job->ranks[i].entry_count; j++)
            times.own_ns[times.first[i] + j] = (double)job->ranks[i].entries[j].own_ns;
    for (int64_t i = 0; i < job->meeting_count; i++)
        times.transfer_ns[i] = (double)job->meetings[i].transfer_ns;
    return times;
}

/* A group whose digests are not all there seems to transfer longer, as the one that came last may
 * be missing. It gets the shortest transfer of those that are alike. */
bool job_times_complete(struct arena *arena, const struct job *job, struct job_times *times)
{
    SCRATCH_ARENA(scratch, arena);
    double *least_ns = ARENA_NEW(scratch, double, job->slot_count);
    bool any = false;

    for (int64_t i = 0; i < job->slot_count; i++) least_ns[i] = INFINITY;
    for (int64_t i = 0; i < job->meeting_count; i++)
        least_ns[job->meetings[i].slot] =
            fmin(least_ns[job->meetings[i].slot], times->transfer_ns[i]);
    for (int64_t i = 0; i < job->meeting_count; i++)
        if (job->meetings[i].member_count < job->groups[job->meetings[i].group].size) {
            times->transfer_ns[i] = least_ns[job->meetings[i].slot];
            any = true;
        }
    return any;
}

struct replaying {
    const struct job *job;
    const struct job_times *times;
    const struct job_course *course;
    double *at_ns;     /* [rank_count] */
    int64_t *next;     /* [rank_count], entry */
    int32_t *arrived;  /* [meeting_count] */
    double *latest_ns; /* [meeting_count] */
    int32_t *ready;    /* [rank_count], a stack */
    int64_t ready_count;
};

static void end_meeting(struct replaying *replaying, int32_t number)
{
    const struct job *job = replaying->job;
    const struct job_group *group = &job->groups[job->meetings[number].group];
    double end_ns = replaying->latest_ns[number] + replaying->times->transfer_ns[number];

    if (replaying->course != NULL)
        replaying->course->end_ns[number] = end_ns;
    for (int64_t i = 0; i < group->member_count; i++) {
        int32_t member = group->members[i];
        const struct job_rank *rank = &job->ranks[member];
        if (replaying->next[member] >= rank->entry_count ||
            rank->entries[replaying->next[member]].meeting != number)
            continue;
        replaying->at_ns[member] = end_ns;
        replaying->next[member]++;
        replaying->ready[replaying->ready_count++] = member;
    }
}

static void arrive(struct replaying *replaying, int32_t number)
{
    const struct job_rank *rank = &replaying->job->ranks[number];
    int64_t next = replaying->next[number];
    double at_ns = replaying->at_ns[number];
    int32_t meeting;

    if (next == rank->entry_count)
        return;
    meeting = rank->entries[next].meeting;
    at_ns += replaying->times->own_ns[replaying->times->first[number] + next];
    if (replaying->arrived[meeting]++ == 0 || at_ns > replaying->latest_ns[meeting]) {
        replaying->latest_ns[meeting] = at_ns;
        if (replaying->course != NULL) {
            replaying->course->last_rank[meeting] = number;
            replaying->course->last_entry[meeting] = next;
        }
    }
    if (replaying->arrived[meeting] == replaying->job->meetings[meeting].member_count)
        end_meeting(replaying, meeting);
}

double job_replay(struct arena *arena, const struct job *job, const struct job_times *times,
                  const struct job_course *course)
{
    SCRATCH_ARENA(scratch, arena);
    struct replaying replaying = { .job = job,
                                   .times = times,
                                   .course = course,
                                   .at_ns = ARENA_NEW(scratch, double, job->rank_count),
                                   .next = ARENA_NEW(scratch, int64_t, job->rank_count),
                                   .arrived = ARENA_NEW(scratch, int32_t, job->meeting_count),
                                   .latest_ns = ARENA_NEW(scratch, double, job->meeting_count),
                                   .ready = ARENA_NEW(scratch, int32_t, job->rank_count) };
    double sum_ns = 0;
    bool whole = true;

    for (int64_t i = job->rank_count; i-- > 0;)
        replaying.ready[replaying.ready_count++] = (int32_t)i;
    while (replaying.ready_count > 0) arrive(&replaying, replaying.ready[--replaying.ready_count]);
    for (int64_t i = 0; i < job->rank_count; i++) {
        sum_ns += replaying.at_ns[i];
        whole = whole && replaying.next[i] == job->ranks[i].entry_count;
    }
    return whole ? sum_ns / (double)job->rank_count / (double)job->step_count : NAN;
}
