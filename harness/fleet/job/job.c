/* Lays the records of a job's ranks beside each other. Ranks are joined by names and numbers: each
 * collective of a digest is looked up by its group, step and place in the step, in tables that
 * number their keys as they come.
 *
 * Ranks that are not of this job, or whose steps begin elsewhere, are left out with a reason: what
 * most ranks state counts. A "meeting" is one collective of one group in one step, a "slot" all
 * meetings that are alike: of groups of the same kind and size, at the same place of the same
 * step. */
#include "harness/fleet/job/job.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/hash.h"
#include "harness/base/sort.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- A table from keys to numbers --- */

struct table {
    struct arena *arena;
    struct slot {
        const char *text;
        int64_t numbers[4];
        int32_t value; /* + 1; 0: free */
    } * slots;
    int64_t size, count;
};

/* Linear probing; a table is at most half full. */
static struct slot *find_slot(const struct table *table, const char *text, const int64_t numbers[4])
{
    uint64_t at = hash_add(hash_add(HASH_EMPTY, text, strlen(text)), numbers, 4 * sizeof *numbers);

    at ^= at >> 29;

    for (;; at++) {
        struct slot *slot = &table->slots[at & (uint64_t)(table->size - 1)];
        if (slot->value == 0 || (memcmp(slot->numbers, numbers, sizeof slot->numbers) == 0 &&
                                 strcmp(slot->text, text) == 0))
            return slot;
    }
}

/* The number of a key, the next one if it is new; *is_new says so. */
static int32_t number_of(struct table *table, const char *text, int64_t a, int64_t b, int64_t c,
                         bool *is_new)
{
    int64_t numbers[4] = { a, b, c, 0 };
    struct slot *slot;

    if (2 * table->count >= table->size) {
        struct table old = *table;

        table->size = old.size > 0 ? 2 * old.size : 1024;
        table->slots = ARENA_NEW(table->arena, struct slot, table->size);
        for (int64_t i = 0; i < old.size; i++)
            if (old.slots[i].value != 0)
                *find_slot(table, old.slots[i].text, old.slots[i].numbers) = old.slots[i];
    }
    slot = find_slot(table, text, numbers);
    *is_new = slot->value == 0;
    if (*is_new) {
        slot->text = text;
        memcpy(slot->numbers, numbers, sizeof numbers);
        slot->value = (int32_t)++table->count;
    }
    return slot->value - 1;
}

/* --- Which ranks --- */

COMPARATOR(by_rank, struct job_rank, ASCENDING(rank) ?: strcmp(a->file, b->file))

struct joining {
    struct job *job;
    struct table groups, meetings, slots, nodes;
    struct job_stranger *strangers;
    int64_t stranger_count, group_room, meeting_room, node_room;
    int64_t first_step;
};

static void leave_out(struct joining *joining, const struct job_rank *rank, const char *why)
{
    struct job_stranger *stranger = &joining->strangers[joining->stranger_count++];

    stranger->file = rank->file;
    snprintf(stranger->why, sizeof stranger->why, "%s", why);
}

/* The number that most have: of an odd one out, all others agree. */
static int64_t usual(struct arena *arena, const int64_t *values, int64_t count)
{
    double *sorted = ARENA_NEW(arena, double, count);

    for (int64_t i = 0; i < count; i++) sorted[i] = (double)values[i];
    stats_sort(sorted, (int)count);
    return (int64_t)sorted[count / 2];
}

/* The name of the job that most ranks have: Boyer's and Moore's vote. */
static const char *usual_job(const struct job_rank *ranks, int64_t count)
{
    const char *job = "";
    int64_t votes = 0;

    for (int64_t i = 0; i < count; i++) {
        if (votes == 0)
            job = ranks[i].record.job;
        votes += strcmp(ranks[i].record.job, job) == 0 ? 1 : -1;
    }
    return job;
}

static void choose_ranks(struct joining *joining, struct job_rank *ranks, const int64_t *worlds,
                         int64_t count)
{
    struct job *job = joining->job;
    int64_t world = usual(job->arena, worlds, count), kept = 0, step;
    int64_t *first = ARENA_NEW(job->arena, int64_t, count);
    const char *name = usual_job(ranks, count);
    char why[160];

    for (int64_t i = 0; i < count; i++)
        first[i] = ranks[i].record.step_count > 0 ? ranks[i].record.number[0] : 0;
    step = usual(job->arena, first, count);
    for (int64_t i = 0; i < count; i++) {
        const struct rank_record *record = &ranks[i].record;
        why[0] = '\0';
        if (worlds[i] != world)
            snprintf(why, sizeof why, "it is of a job of %lld ranks, the others of one of %lld",
                     (long long)worlds[i], (long long)world);
        else if (strcmp(record->job, name) != 0)
            snprintf(why, sizeof why, "it is of job \"%.40s\", the others of \"%.40s\"",
                     record->job, name);
        else if (record->step_count == 0)
            snprintf(why, sizeof why, "its trace marks no steps");
        else if (first[i] != step)
            snprintf(why, sizeof why,
                     "its steps begin with number %lld, those of the others with %lld",
                     (long long)first[i], (long long)step);
        if (why[0] != '\0')
            leave_out(joining, &ranks[i], why);
        else
            ranks[kept++] = ranks[i];
    }
    job->world_size = world;
    job->ranks = ranks;
    job->rank_count = kept;
    joining->first_step = step;
}

/* Two digests may be of one rank: the first by the name of its file stays. */
static void drop_doubles(struct joining *joining)
{
    struct job *job = joining->job;
    int64_t kept = 0;

    qsort(job->ranks, (size_t)job->rank_count, sizeof *job->ranks, by_rank);
    for (int64_t i = 0; i < job->rank_count; i++) {
        if (kept > 0 && job->ranks[kept - 1].rank == job->ranks[i].rank)
            leave_out(joining, &job->ranks[i], "another digest is of the same rank");
        else
            job->ranks[kept++] = job->ranks[i];
    }
    job->rank_count = kept;
}

/* --- Nodes, steps --- */

static void find_nodes(struct joining *joining)
{
    struct job *job = joining->job;

    for (int64_t i = 0; i < job->rank_count; i++) {
        struct job_rank *rank = &job->ranks[i];
        bool is_new;
        rank->rack = -1;
        rank->node = number_of(&joining->nodes, rank->record.node, 0, 0, 0, &is_new);
        if (is_new) {
            ARENA_ROOM(job->arena, job->nodes, job->node_count, joining->node_room);
            job->nodes[job->node_count++] =
                (struct job_node){ .name = rank->record.node, .rack = -1 };
        }
        rank->place = (int32_t)job->nodes[rank->node].rank_count++;
    }
}

/* Steps that all ranks have. Their mean length is from the start of the first to the end of the
 * last. */
static void find_steps(struct joining *joining)
{
    struct job *job = joining->job;
    double *means = ARENA_NEW(job->arena, double, job->rank_count);

    job->step_count = job->rank_count > 0 ? INT64_MAX : 0;
    for (int64_t i = 0; i < job->rank_count; i++)
        if (job->ranks[i].record.step_count < job->step_count)
            job->step_count = job->ranks[i].record.step_count;
    if (job->step_count == 0)
        return;
    job->numbers = job->ranks[0].record.number;
    for (int64_t i = 0; i < job->rank_count; i++) {
        const struct rank_record *record = &job->ranks[i].record;
        int64_t last = job->step_count - 1;
        means[i] = (double)(record->start_ns[last] + record->ns[last] - record->start_ns[0]) /
                   (double)job->step_count;
    }
    job->step_ns = stats_sort_median(means, (int)job->rank_count);
}

/* --- Groups --- */

/* By what its makers call it, or else by what it sends. */
static const char *kind_of(const struct record_group *group)
{
    static const struct {
        const char *kind, *words[4];
    } kinds[] = {
        { "expert", { "ep", "expert", "moe" } },
        { "tensor", { "tp", "tensor", "model_parallel" } },
        { "pipeline", { "pp", "pipe", "stage" } },
        { "data", { "dp", "data", "shard", "replicate" } },
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        for (size_t j = 0; j < ARRAY_SIZE(kinds->words) && kinds[i].words[j] != NULL; j++)
            if (strstr(group->about, kinds[i].words[j]) != NULL)
                return kinds[i].kind;
    return strcmp(group->kind, "all_to_all") == 0 || strcmp(group->kind, "all_to_allv") == 0
               ? "expert"
           : strcmp(group->kind, "send") == 0 || strcmp(group->kind, "recv") == 0 ? "pipeline"
                                                                                  : "group";
}

/* By the list of its ranks if the digest has it: names of groups may be the same on all ranks and
 * mean different groups. */
static int32_t find_group(struct joining *joining, const struct record_group *of)
{
    struct job *job = joining->job;
    const char *name = of->ranks[0] != '\0' ? of->ranks : of->name;
    bool is_new;
    int32_t number = number_of(&joining->groups, name, of->size, 0, 0, &is_new);

    if (is_new) {
        ARENA_ROOM(job->arena, job->groups, job->group_count, joining->group_room);
        job->groups[job->group_count++] = (struct job_group){ .name = of->name,
                                                              .ranks = of->ranks,
                                                              .kind = kind_of(of),
                                                              .collective = of->kind,
                                                              .size = of->size };
    }
    job->groups[number].member_count++;
    return number;
}

static int32_t find_meeting(struct joining *joining, int32_t number, int64_t step, int64_t at,
                            int64_t ns)
{
    struct job *job = joining->job;
    const struct job_group *group = &job->groups[number];
    bool is_new, is_new_slot;
    int32_t meeting = number_of(&joining->meetings, "", number, step, at, &is_new);
    struct job_meeting *of;

    if (is_new) {
        ARENA_ROOM(job->arena, job->meetings, job->meeting_count, joining->meeting_room);
        job->meetings[job->meeting_count++] =
            (struct job_meeting){ .group = number,
                                  .step = (int32_t)step,
                                  .slot = number_of(&joining->slots, group->kind, step, at,
                                                    group->size, &is_new_slot),
                                  .transfer_ns = INT64_MAX };
    }
    of = &job->meetings[meeting];
    of->member_count++;
    /* The rank that came last did not wait, so the shortest stay of all is the transfer itself. */
    if (ns < of->transfer_ns)
        of->transfer_ns = ns;
    return meeting;
}

COMPARATOR(by_end, struct job_entry, ASCENDING(end_ns))

static void enter_group(struct joining *joining, struct job_rank *rank,
                        const struct record_group *group)
{
    struct job *job = joining->job;
    int32_t number = find_group(joining, group);
    int64_t in_step = 0;

    for (int64_t i = 0; i < group->count; i++) {
        struct job_entry *entry = &rank->entries[rank->entry_count];
        /* The place among the group's collectives of that step, which is the same on all
         * members. */
        in_step = i > 0 && group->step[i] == group->step[i - 1] ? in_step + 1 : 0;
        if (group->step[i] >= job->step_count)
            break;
        entry->meeting = find_meeting(joining, number, group->step[i], in_step, group->ns[i]);
        entry->own_ns = group->own_ns[i];
        entry->ns = group->ns[i];
        entry->end_ns = rank->record.clock_ns + group->start_ns[i] + group->ns[i];
        rank->entry_count++;
        if (group->bytes[i] > 0 && rank->record.groups[0].count > 0)
            job->groups[number].bytes += group->bytes[i];
    }
}

/* In the order of ranks, each once. */
static void find_members(struct job *job)
{
    int64_t *filled = ARENA_NEW(job->arena, int64_t, job->group_count);
    int32_t *last = ARENA_NEW(job->arena, int32_t, job->group_count);

    for (int64_t i = 0; i < job->group_count; i++)
        job->groups[i].members = ARENA_NEW(job->arena, int32_t, job->groups[i].member_count);
    for (int64_t i = 0; i < job->rank_count; i++)
        for (int64_t j = 0; j < job->ranks[i].entry_count; j++) {
            int32_t group = job->meetings[job->ranks[i].entries[j].meeting].group;
            if (last[group] == i + 1 || filled[group] == job->groups[group].member_count)
                continue;
            last[group] = (int32_t)i + 1;
            job->groups[group].members[filled[group]++] = (int32_t)i;
        }
    for (int64_t i = 0; i < job->group_count; i++) job->groups[i].member_count = filled[i];
}

/* Sums of all steps, made means. */
static void weigh_groups(struct job *job)
{
    double steps = (double)job->step_count;

    for (int64_t i = 0; i < job->rank_count; i++)
        for (int64_t j = 0; j < job->ranks[i].entry_count; j++) {
            const struct job_entry *entry = &job->ranks[i].entries[j];
            const struct job_meeting *meeting = &job->meetings[entry->meeting];
            job->groups[meeting->group].wait_ns += (double)(entry->ns - meeting->transfer_ns);
        }
    for (int64_t i = 0; i < job->meeting_count; i++) {
        job->groups[job->meetings[i].group].transfer_ns += (double)job->meetings[i].transfer_ns;
        job->groups[job->meetings[i].group].meeting_count++;
    }
    for (int64_t i = 0; i < job->group_count; i++) {
        struct job_group *group = &job->groups[i];
        double members = group->member_count > 0 ? (double)group->member_count : 1;
        group->transfer_ns /= steps;
        group->wait_ns /= steps * members;
        group->bytes = (int64_t)((double)group->bytes / (steps * members));
    }
}

void job_join(struct job *job, struct arena *arena, struct job_rank *ranks,
              const int64_t *world_sizes, int64_t count, struct job_stranger **strangers,
              int64_t *stranger_count)
{
    struct joining joining = { .job = job,
                               .groups.arena = arena,
                               .meetings.arena = arena,
                               .slots.arena = arena,
                               .nodes.arena = arena,
                               .strangers = ARENA_NEW(arena, struct job_stranger, count) };

    *job = (struct job){ .arena = arena };
    if (count > 0)
        choose_ranks(&joining, ranks, world_sizes, count);
    drop_doubles(&joining);
    *strangers = joining.strangers;
    *stranger_count = joining.stranger_count;
    find_nodes(&joining);
    find_steps(&joining);
    if (job->step_count == 0)
        return;
    for (int64_t i = 0; i < job->rank_count; i++) {
        struct job_rank *rank = &job->ranks[i];
        int64_t entries = 0;
        for (int64_t j = 0; j < rank->record.group_count; j++)
            entries += rank->record.groups[j].count;
        rank->entries = ARENA_NEW(arena, struct job_entry, entries);
        for (int64_t j = 0; j < rank->record.group_count; j++)
            enter_group(&joining, rank, &rank->record.groups[j]);
        qsort(rank->entries, (size_t)rank->entry_count, sizeof *rank->entries, by_end);
    }
    find_members(job);
    job->slot_count = joining.slots.count;
    weigh_groups(job);
}
