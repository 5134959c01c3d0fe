/* The map of a job for the page: layers of cells, one row per rank and one column per step, and the
 * first steps of every rank as a timeline. Steps are joined until all layers fit into the page, so
 * it stays small for a job of any length. */
#include "harness/fleet/job/job_output.h"

#include <math.h>

/* A picture shows no more; the differences from a median need a digit more than a bar's length. */
enum { LAYER_DIGITS = 3, TIMELINE_DIGITS = 2 };

/* Rows are ranks by node, columns are `joined` steps each. */
struct map {
    struct arena *arena;
    const struct job_view *view;
    int32_t *order;  /* [rank_count], in job.ranks */
    double *wait_ns; /* [rank_count][step_count] */
};

/* A counting sort, which keeps the order of ranks within a node. */
static int32_t *order_of(struct arena *arena, const struct job *job)
{
    int32_t *order = ARENA_NEW(arena, int32_t, job->rank_count);
    int64_t *next = ARENA_NEW(arena, int64_t, job->node_count + 1);

    for (int64_t i = 0; i < job->node_count; i++) next[i + 1] = next[i] + job->nodes[i].rank_count;
    for (int64_t i = 0; i < job->rank_count; i++) order[next[job->ranks[i].node]++] = (int32_t)i;
    return order;
}

static double *waits_of(struct arena *arena, const struct job *job)
{
    double *wait_ns = ARENA_NEW(arena, double, job->rank_count * job->step_count);

    for (int64_t i = 0; i < job->rank_count; i++)
        for (int64_t j = 0; j < job->ranks[i].entry_count; j++) {
            const struct job_entry *entry = &job->ranks[i].entries[j];
            const struct job_meeting *meeting = &job->meetings[entry->meeting];
            wait_ns[i * job->step_count + meeting->step] +=
                (double)(entry->ns - meeting->transfer_ns);
        }
    return wait_ns;
}

/* --- Layers --- */

/* A layer's cells: beyond the others, waiting, or from PARTS on a part of the step. */
enum { LATE, WAITS, PARTS };

static double cell_of(const struct map *map, int64_t rank, int64_t step, int layer)
{
    int64_t at = rank * map->view->job->step_count + step;

    if (layer == LATE)
        return (double)map->view->causes->beyond_ns[at];
    if (layer == WAITS)
        return map->wait_ns[at];
    return (double)map->view->job->ranks[rank]
        .record.part_ns[step * STEP_PART_COUNT + layer - PARTS];
}

static void add_layer(struct json *json, cJSON *layers, const struct map *map, const char *name,
                      int64_t joined, int layer)
{
    const struct job *job = map->view->job;
    int64_t columns = (job->step_count + joined - 1) / joined;
    SCRATCH_ARENA(scratch, map->arena);
    double *values = ARENA_NEW(scratch, double, job->rank_count *columns);

    for (int64_t i = 0; i < job->rank_count; i++)
        for (int64_t step = 0; step < job->step_count; step++) {
            int64_t column = step / joined, end = (column + 1) * joined;
            int64_t count = (end < job->step_count ? end : job->step_count) - column * joined;
            values[i * columns + column] +=
                cell_of(map, map->order[i], step, layer) / (double)count;
        }
    for (int64_t i = 0; i < job->rank_count * columns; i++)
        values[i] = trunc(values[i]) + 0.0; /* no -0 */
    JSON_ROW(json, layers, KEY("name", name), KEY("columns", columns),
             KEY("steps_per_column", joined),
             KEY("ns", json_series(json, values, job->rank_count * columns, LAYER_DIGITS)));
}

/* --- Timelines --- */

/* The first steps of all ranks that have no more entries than there is room for. */
static int64_t drawn_steps(struct arena *scratch, const struct job *job)
{
    int64_t *entries = ARENA_NEW(scratch, int64_t, job->step_count), sum = 0, steps = 0;

    for (int64_t i = 0; i < job->rank_count; i++)
        for (int64_t j = 0; j < job->ranks[i].entry_count; j++)
            entries[job->meetings[job->ranks[i].entries[j].meeting].step]++;
    while (steps < job->step_count && 3 * (sum + entries[steps]) <= JOB_MAP_CELLS)
        sum += entries[steps++];
    return steps;
}

/* Each rank, one after the other: own time, waiting in a collective for who comes last, its
 * transfer. */
static void add_timeline(struct json *json, cJSON *to, const struct map *map)
{
    const struct job *job = map->view->job;
    SCRATCH_ARENA(scratch, map->arena);
    int64_t steps = drawn_steps(scratch, job), count = 0;
    double *counts = ARENA_NEW(scratch, double, job->rank_count *steps);
    double *values = ARENA_NEW(scratch, double, JOB_MAP_CELLS);

    for (int64_t i = 0; i < job->rank_count; i++) {
        const struct job_rank *rank = &job->ranks[map->order[i]];
        for (int64_t j = 0; j < rank->entry_count; j++) {
            const struct job_entry *entry = &rank->entries[j];
            const struct job_meeting *meeting = &job->meetings[entry->meeting];
            if (meeting->step >= steps)
                break;
            counts[i * steps + meeting->step]++;
            values[count++] = (double)entry->own_ns;
            values[count++] = (double)(entry->ns - meeting->transfer_ns);
            values[count++] = (double)meeting->transfer_ns;
        }
    }
    JSON_ADD(json, json_object(json, to, "timeline"), KEY("steps", steps),
             KEY("counts", json_series(json, counts, job->rank_count * steps, 12)),
             KEY("own_wait_transfer_ns", json_series(json, values, count, TIMELINE_DIGITS)));
}

/* --- The map --- */

/* How many steps a column has, so that `layers` of them have no more than that many cells. */
static int64_t joined_of(const struct job *job, int64_t layers)
{
    int64_t columns = JOB_MAP_CELLS / (job->rank_count * layers);

    if (columns < 1)
        columns = 1;
    return (job->step_count + columns - 1) / columns;
}

static void add_numbers(struct json *json, cJSON *to, const struct map *map)
{
    const struct job *job = map->view->job;
    SCRATCH_ARENA(scratch, map->arena);
    double *ranks = ARENA_NEW(scratch, double, job->rank_count);
    double *nodes = ARENA_NEW(scratch, double, job->rank_count);
    double *steps = ARENA_NEW(scratch, double, job->step_count);

    for (int64_t i = 0; i < job->rank_count; i++) {
        ranks[i] = (double)job->ranks[map->order[i]].rank;
        nodes[i] = job->ranks[map->order[i]].node;
    }
    for (int64_t i = 0; i < job->step_count; i++) steps[i] = (double)job->numbers[i];
    JSON_ADD(json, to, KEY("steps", json_series(json, steps, job->step_count, 12)),
             KEY("ranks", json_series(json, ranks, job->rank_count, 12)),
             KEY("nodes", json_series(json, nodes, job->rank_count, 12)));
}

void job_map_json(struct json *json, cJSON *to, const struct job_view *view, struct arena *arena)
{
    const struct job *job = view->job;
    struct map map = { arena, view, order_of(arena, job), waits_of(arena, job) };
    cJSON *object = json_object(json, to, "map"), *layers;
    bool has_part[STEP_PART_COUNT] = { false };
    int64_t others = 1, joined;

    for (int64_t i = 0; i < job->rank_count; i++)
        for (int64_t at = 0; at < job->step_count * STEP_PART_COUNT; at++)
            if (job->ranks[i].record.part_ns[at] > 0)
                has_part[at % STEP_PART_COUNT] = true;
    for (int part = 0; part < STEP_PART_COUNT; part++) others += has_part[part];
    joined = joined_of(job, others);
    add_timeline(json, object, &map);
    add_numbers(json, object, &map);
    layers = json_array(json, object, "layers");
    if (view->causes->beyond_ns != NULL)
        add_layer(json, layers, &map, "late", joined_of(job, 1), LATE);
    add_layer(json, layers, &map, "waits", joined, WAITS);
    for (int part = 0; part < STEP_PART_COUNT; part++)
        if (has_part[part])
            add_layer(json, layers, &map, step_part_name((enum step_part)part), joined,
                      PARTS + part);
}
