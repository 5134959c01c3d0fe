#include "tests/fleet/job/made_job.h"

#include "harness/base/random.h"
#include "harness/desk/diagnosis/digest/digest.h"
#include "harness/desk/read/input/deflate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 8, LAYERS = 4, BUCKETS = 2, ENTRIES = LAYERS + BUCKETS };

#define LAYER_NS  20e6
#define BUCKET_NS 2e6
#define TENSOR_NS 1e6 /* transfers */
#define DATA_NS   4e6
#define NOISE     0.01
#define END_NS    3e3 /* by which members of a collective end apart */

struct simulating {
    const struct made_job *job;
    struct arena *arena;
    struct made_ranks *made;
    double fault; /* 1: as planted; 0: without */
    bool records;
    double *at_ns, *from_ns;   /* [ranks] */
    double *offset_ns, *drift; /* [nodes] */
    struct random noise, ends; /* of times; of the ends of a collective's members */
};

static double normal(struct simulating *simulating)
{
    return (double)random_normal(&simulating->noise);
}

static bool is_faulty(const struct made_job *job, int64_t rank)
{
    switch (job->fault) {
    case JOB_LATE_RANK:
        return rank == job->which;
    case JOB_LATE_NODE:
    case JOB_DRIFTING_NODE:
        return rank / PLACES == job->which;
    case JOB_LATE_RACK:
        return rank / PLACES / MADE_RACK == job->which;
    case JOB_LATE_PLACE:
        return rank % PLACES == job->which;
    default:
        return false;
    }
}

/* Own time before an entry, with the fault. */
static double own_ns(struct simulating *simulating, int64_t rank, int64_t step, int entry,
                     double tokens)
{
    const struct made_job *job = simulating->job;
    double base = entry < LAYERS ? LAYER_NS : BUCKET_NS,
           own = base * (1 + NOISE * normal(simulating));
    double late = simulating->fault * job->strength;

    if (job->healthy)
        return own;
    if (job->fault == JOB_DRIFTING_NODE)
        late *= 2 * (double)step / (double)(job->steps - 1);
    if (is_faulty(job, rank) && (job->fault != JOB_LATE_RANK || entry == 0))
        own += late * (job->fault == JOB_LATE_RANK ? LAYERS * LAYER_NS : base);
    if (job->fault == JOB_IMBALANCE && entry < LAYERS)
        own += simulating->fault * base * tokens;
    return own;
}

static double transfer_ns(struct simulating *simulating, int entry, int64_t place)
{
    const struct made_job *job = simulating->job;
    double ns = entry < LAYERS ? TENSOR_NS : DATA_NS;

    if (!job->healthy && job->fault == JOB_SLOW_LINK && entry >= LAYERS && place == job->which)
        ns += simulating->fault * job->strength * LAYERS * LAYER_NS / BUCKETS;
    return ns * (1 + NOISE * normal(simulating));
}

/* --- Records --- */

static int64_t on_clock(const struct simulating *simulating, int64_t rank, double ns)
{
    int64_t node = rank / PLACES;

    return (int64_t)(1e18 + ns * (1 + simulating->drift[node]) + simulating->offset_ns[node]);
}

static void write_entry(struct simulating *simulating, int64_t rank, int64_t step, int entry,
                        double start_ns, double end_ns)
{
    struct rank_record *record = &simulating->made->ranks[rank].record;
    struct record_group *group = &record->groups[entry < LAYERS ? 0 : 1];
    int64_t at = group->count, start = on_clock(simulating, rank, start_ns),
            end = on_clock(simulating, rank,
                           end_ns + END_NS * fabs((double)random_normal(&simulating->ends)));

    group->step[at] = step;
    group->start_ns[at] = start - record->clock_ns;
    group->ns[at] = end > start ? end - start : 1;
    group->own_ns[at] = start - (int64_t)simulating->from_ns[rank] > 0
                            ? start - (int64_t)simulating->from_ns[rank]
                            : 0;
    group->bytes[at] = entry < LAYERS ? 32 << 20 : 256 << 20;
    group->count = group->total = at + 1;
    simulating->from_ns[rank] = (double)end;
}

static void make_group(struct simulating *simulating, struct record_group *group, int64_t size,
                       int64_t rank, bool data)
{
    int64_t room = simulating->job->steps * (data ? BUCKETS : LAYERS);
    char *name = arena_alloc(simulating->arena, 40, 1);

    snprintf(name, 40, "%s of %lld", data ? "place" : "node",
             (long long)(data ? rank % PLACES : rank / PLACES));
    *group = (struct record_group){ .name = name,
                                    .about = data ? "mesh_dp" : "mesh_tp",
                                    .ranks = "",
                                    .kind = "allreduce",
                                    .size = size,
                                    .every = 1,
                                    .step = ARENA_NEW(simulating->arena, int64_t, room),
                                    .start_ns = ARENA_NEW(simulating->arena, int64_t, room),
                                    .ns = ARENA_NEW(simulating->arena, int64_t, room),
                                    .own_ns = ARENA_NEW(simulating->arena, int64_t, room),
                                    .bytes = ARENA_NEW(simulating->arena, int64_t, room) };
}

static void make_record(struct simulating *simulating, int64_t number)
{
    struct job_rank *rank = &simulating->made->ranks[number];
    struct rank_record *record = &rank->record;
    int64_t steps = simulating->job->steps,
            *rows = ARENA_NEW(simulating->arena, int64_t, 4 * steps);
    char *texts = arena_alloc(simulating->arena, 80, 1);

    snprintf(texts, 40, "rank%lld.digest", (long long)number);
    snprintf(texts + 40, 40, "node%03lld", (long long)(number / PLACES));
    *rank = (struct job_rank){ .rank = number, .file = texts };
    *record = (struct rank_record){ .source = texts,
                                    .node = texts + 40,
                                    .job = "",
                                    .clock_ns = on_clock(simulating, number, 0),
                                    .step_count = steps,
                                    .step_total = steps,
                                    .number = rows,
                                    .start_ns = rows + steps,
                                    .ns = rows + 2 * steps,
                                    .tokens = rows + 3 * steps,
                                    .part_ns = ARENA_NEW(simulating->arena, int64_t,
                                                         steps * STEP_PART_COUNT),
                                    .groups = ARENA_NEW(simulating->arena, struct record_group, 2),
                                    .group_count = 2 };
    make_group(simulating, &record->groups[0], PLACES, number, false);
    make_group(simulating, &record->groups[1], simulating->job->rank_count / PLACES, number, true);
    simulating->from_ns[number] = (double)record->clock_ns;
    simulating->made->worlds[number] = simulating->job->rank_count;
}

static void write_step(struct simulating *simulating, int64_t number, int64_t step, double begin_ns,
                       double own_ns, double tokens)
{
    struct rank_record *record = &simulating->made->ranks[number].record;
    int64_t start = on_clock(simulating, number, begin_ns),
            end = on_clock(simulating, number, simulating->at_ns[number]);
    int64_t *parts = record->part_ns + step * STEP_PART_COUNT;

    record->number[step] = 100 + step;
    record->start_ns[step] = start - record->clock_ns;
    record->ns[step] = end - start;
    record->tokens[step] = (int64_t)(1e6 * (1 + tokens));
    parts[STEP_KERNEL] = (int64_t)own_ns < end - start ? (int64_t)own_ns : end - start;
    parts[STEP_COMMUNICATION] = end - start - parts[STEP_KERNEL];
}

/* --- Time --- */

/* The members of a rank's group: those of its node, or those at its place of all nodes. */
static void meet(struct simulating *simulating, int64_t first, int64_t stride, int64_t count,
                 int64_t step, int entry, const double *arrived_ns)
{
    double end_ns = 0;

    for (int64_t i = 0; i < count; i++) end_ns = fmax(end_ns, arrived_ns[first + i * stride]);
    end_ns += transfer_ns(simulating, entry, first % PLACES);
    for (int64_t i = 0; i < count; i++) {
        int64_t rank = first + i * stride;
        if (simulating->records)
            write_entry(simulating, rank, step, entry, arrived_ns[rank], end_ns);
        simulating->at_ns[rank] = end_ns;
    }
}

static double simulate(struct simulating *simulating)
{
    const struct made_job *job = simulating->job;
    int64_t ranks = job->rank_count;
    double *arrived_ns = ARENA_NEW(simulating->arena, double, ranks);
    double *own = ARENA_NEW(simulating->arena, double, ranks);
    double *tokens = ARENA_NEW(simulating->arena, double, ranks);
    double *begin_ns = ARENA_NEW(simulating->arena, double, ranks), sum = 0;

    simulating->noise = random_seed(job->seed, 1);
    simulating->ends = random_seed(job->seed, 4);
    memset(simulating->at_ns, 0, (size_t)ranks * sizeof *simulating->at_ns);
    for (int64_t step = 0; step < job->steps; step++) {
        for (int64_t i = 0; i < ranks; i++) {
            begin_ns[i] = simulating->at_ns[i];
            own[i] = 0;
            tokens[i] = !job->healthy && job->fault == JOB_IMBALANCE
                            ? job->strength * fmin(3, fmax(-3, normal(simulating)))
                            : 0;
        }
        for (int entry = 0; entry < ENTRIES; entry++) {
            for (int64_t i = 0; i < ranks; i++) {
                double ns = own_ns(simulating, i, step, entry, tokens[i]);
                arrived_ns[i] = simulating->at_ns[i] + ns;
                own[i] += ns;
            }
            for (int64_t i = 0; i < (entry < LAYERS ? ranks / PLACES : PLACES); i++)
                meet(simulating, entry < LAYERS ? i * PLACES : i, entry < LAYERS ? 1 : PLACES,
                     entry < LAYERS ? PLACES : ranks / PLACES, step, entry, arrived_ns);
        }
        for (int64_t i = 0; i < ranks && simulating->records; i++)
            write_step(simulating, i, step, begin_ns[i], own[i], tokens[i]);
    }
    for (int64_t i = 0; i < ranks; i++) sum += simulating->at_ns[i];
    return sum / (double)ranks / (double)job->steps;
}

/* Ranks whose digests are lost. */
static void lose(const struct made_job *job, struct made_ranks *made)
{
    struct random random = random_seed(job->seed, 3);
    int64_t kept = 0;

    for (int64_t i = 0; i < made->count; i++)
        if (!((double)random_uniform(&random) < job->lost))
            made->ranks[kept++] = made->ranks[i];
    made->count = kept;
}

struct made_ranks made_job(struct arena *arena, const struct made_job *job)
{
    int64_t nodes = job->rank_count / PLACES;
    struct made_ranks made = { ARENA_NEW(arena, struct job_rank, job->rank_count),
                               ARENA_NEW(arena, int64_t, job->rank_count), job->rank_count, 0, 0 };
    struct simulating simulating = { .job = job,
                                     .arena = arena,
                                     .made = &made,
                                     .at_ns = ARENA_NEW(arena, double, job->rank_count),
                                     .from_ns = ARENA_NEW(arena, double, job->rank_count),
                                     .offset_ns = ARENA_NEW(arena, double, nodes),
                                     .drift = ARENA_NEW(arena, double, nodes) };
    struct random clocks = random_seed(job->seed, 2);
    double without_ns;

    for (int64_t i = 0; i < nodes; i++) {
        simulating.offset_ns[i] = job->skew_ns * (2 * (double)random_uniform(&clocks) - 1);
        simulating.drift[i] = job->drift * (2 * (double)random_uniform(&clocks) - 1);
    }
    without_ns = simulate(&simulating);
    for (int64_t i = 0; i < job->rank_count; i++) make_record(&simulating, i);
    simulating.fault = 1;
    simulating.records = true;
    made.step_ns = simulate(&simulating);
    made.lost_ns = made.step_ns - without_ns;
    lose(job, &made);
    return made;
}

/* --- Files --- */

static enum status write_rank(const char *folder, const struct job_rank *rank, int64_t world_size)
{
    enum status status = STATUS_OK;
    struct trace_file trace = { .rank = rank->rank, .world_size = world_size };
    struct summary summary = { .trace = NULL };
    struct facts facts = { .summary = NULL };
    struct findings findings = { .count = 0 };
    struct digest digest = { &trace, &summary, &facts, &findings, rank->record };
    char *line = NULL, *bytes = NULL, path[4096];
    size_t count;
    FILE *file;

    TRY_OUT(digest_write(&line, &digest));
    TRY_OUT(deflate_text(&bytes, &count, line, strlen(line), DEFLATE_GZIP));
    snprintf(path, sizeof path, "%s/%s", folder, rank->file);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0)
        FAIL_OUT(STATUS_IO, "cannot write %s", path);

out:
    free(bytes);
    free(line);
    return status;
}

enum status made_job_write(const char *folder, const struct made_ranks *made)
{
    for (int64_t i = 0; i < made->count; i++)
        TRY(write_rank(folder, &made->ranks[i], made->worlds[i]));

    return STATUS_OK;
}
