/* A program's entries are divided into stays of one unit. A listener gathers a unit when its stay
 * begins, and frees it when the stay ends. */
#include "harness/engine/step/ranks/gradient_buckets.h"

#include "harness/base/rows.h"
#include "harness/device/many_ranks.h"

#include <stdlib.h>

struct unit {
    const struct bucket *bucket;
    const struct bucket_member *members; /* the bucket's */
    float *shard;                        /* this rank's part */
    float *whole;                        /* NULL: not gathered */
    struct event *has_room, *gathered;
};

/* Entries of a program, one after the other, that belong to one unit. */
struct stay {
    int unit, first, last;
};

struct schedule {
    struct parameter_shards *shards;
    struct stay *stays;
    int count, now;
    struct pass_listener listener;
};

struct parameter_shards {
    struct shard_streams streams;
    bool prefetches;
    struct unit *units;
    int unit_count;
    struct schedule train, evaluate;
};

int parameter_unit(const struct encoder *encoder, const struct op *op)
{
    const struct op *first = encoder->ops;

    while (first->block < 0) first++;
    if (op->block >= 0)
        return op->block + 1;
    return op < first ? 0 : encoder->shape.blocks + 1;
}

static int64_t shard_elements(const struct unit *unit)
{
    return unit->bucket->elements / ranks_count();
}

/* --- Gathering --- */

/* The memory may be what earlier work of the compute stream has used, so the all-gather waits for
 * that. */
static enum status gather_unit(struct parameter_shards *shards, struct unit *unit)
{
    struct stream *communication = shards->streams.communication;
    size_t part_bytes = (size_t)shard_elements(unit) * sizeof(float);
    struct collective all_gather = { .kind = COLLECTIVE_ALL_GATHER,
                                     .count = unit->bucket->elements,
                                     .dtype = DTYPE_F32 };

    if (unit->whole != NULL)
        return STATUS_OK;
    TRY(allocator_alloc(shards->streams.allocator, MEMORY_PARAMETERS,
                        (size_t)ranks_count() * part_bytes, (void **)&unit->whole));
    TRY(event_record(unit->has_room, shards->streams.compute));
    TRY(stream_wait_event(communication, unit->has_room));
    TRY(device_copy_async(communication, COPY_DEVICE_TO_DEVICE,
                          unit->whole + ranks_rank() * shard_elements(unit), unit->shard,
                          part_bytes));
    all_gather.data = unit->whole;
    TRY(device_collective(communication, &all_gather));
    TRY(event_record(unit->gathered, communication));
    for (int i = 0; i < unit->bucket->count; i++)
        unit->members[i].parameter->value->data = unit->whole + unit->members[i].offset;

    return STATUS_OK;
}

static enum status free_unit(struct parameter_shards *shards, struct unit *unit)
{
    float *whole = unit->whole;

    for (int i = 0; i < unit->bucket->count; i++) unit->members[i].parameter->value->data = NULL;
    unit->whole = NULL;
    return allocator_free(shards->streams.allocator, whole);
}

/* Entry `entry` is about to be queued. */
static enum status begin_pass(void *context, int entry)
{
    struct schedule *schedule = context;
    struct parameter_shards *shards = schedule->shards;
    const struct stay *stay;

    if (entry == 0)
        schedule->now = 0;
    stay = &schedule->stays[schedule->now];
    if (entry != stay->first)
        return STATUS_OK;
    TRY(gather_unit(shards, &shards->units[stay->unit]));
    if (shards->prefetches && schedule->now + 1 < schedule->count)
        TRY(gather_unit(shards, &shards->units[stay[1].unit]));
    return stream_wait_event(shards->streams.compute, shards->units[stay->unit].gathered);
}

/* It is queued. */
static enum status end_pass(void *context, int entry)
{
    struct schedule *schedule = context;
    const struct stay *stay = &schedule->stays[schedule->now];

    if (entry != stay->last)
        return STATUS_OK;
    if (schedule->now + 1 < schedule->count)
        schedule->now++;
    return free_unit(schedule->shards, &schedule->shards->units[stay->unit]);
}

const struct pass_listener *parameter_shards_listener(struct parameter_shards *shards,
                                                      enum program_kind kind)
{
    if (shards == NULL)
        return NULL;
    return kind == PROGRAM_TRAIN ? &shards->train.listener : &shards->evaluate.listener;
}

int64_t parameter_shards_late_bytes(const struct parameter_shards *shards)
{
    int late = shards->prefetches ? 1 : shards->train.count;
    int64_t elements = 0;

    for (int i = 0; i < late; i++)
        elements += shards->units[shards->train.stays[i].unit].bucket->elements;
    return elements * (int64_t)sizeof(float);
}

/* --- Opening --- */

/* Consecutive entries of one unit are one stay. */
static enum status plan_stays(struct schedule *schedule, struct parameter_shards *shards,
                              const struct encoder *encoder, const struct program *program)
{
    schedule->shards = shards;
    schedule->listener = (struct pass_listener){ begin_pass, end_pass, schedule };
    TRY(rows_make(&schedule->stays, program_length(program)));
    for (int i = 0; i < program_length(program); i++) {
        int unit = parameter_unit(encoder, program_entry(program, i).op);
        if (schedule->count == 0 || schedule->stays[schedule->count - 1].unit != unit)
            schedule->stays[schedule->count++] = (struct stay){ .unit = unit, .first = i };
        schedule->stays[schedule->count - 1].last = i;
    }

    return STATUS_OK;
}

/* The shard is cleared first, since its padding is sent along. */
static enum status open_unit(struct parameter_shards *shards, struct unit *unit,
                             const struct bucket *bucket, const struct bucket_member *members,
                             struct optimizer_piece *pieces)
{
    struct stream *compute = shards->streams.compute;
    size_t bytes;

    unit->bucket = bucket;
    unit->members = members + bucket->first;
    bytes = (size_t)shard_elements(unit) * sizeof(float);
    TRY(event_create(stream_device(compute), false, &unit->has_room));
    TRY(event_create(stream_device(compute), false, &unit->gathered));
    TRY(allocator_alloc(shards->streams.allocator, MEMORY_PARAMETERS, bytes,
                        (void **)&unit->shard));
    TRY(device_memset(compute, unit->shard, 0, bytes)); /* the padding */
    for (int i = 0; i < bucket->count; i++) {
        /* Keeps this rank's piece of a parameter, and frees the whole. */
        struct parameter *parameter = unit->members[i].parameter;
        float *whole = parameter->value->data;

        if (pieces[unit->members[i].number].count > 0) {
            int64_t at = unit->members[i].offset + pieces[unit->members[i].number].first -
                         ranks_rank() * shard_elements(unit);
            pieces[unit->members[i].number].values = unit->shard + at;
            TRY(device_copy(shards->streams.compute, COPY_DEVICE_TO_DEVICE,
                            pieces[unit->members[i].number].values,
                            whole + pieces[unit->members[i].number].first,
                            (size_t)pieces[unit->members[i].number].count * sizeof(float)));
        }
        parameter->value->data = parameter->master = NULL;
        TRY(allocator_free(shards->streams.allocator, whole));
    }

    return STATUS_OK;
}

enum status parameter_shards_open(struct parameter_shards **opened, bool prefetches,
                                  const struct encoder *encoder, const struct bucket *buckets,
                                  const struct bucket_member *members,
                                  struct optimizer_piece *pieces,
                                  const struct shard_streams *streams)
{
    enum status status = STATUS_OK;
    struct parameter_shards *shards;
    int units = encoder->shape.blocks + 2;

    *opened = NULL;
    TRY_OUT(rows_make(&shards, 1));
    shards->streams = *streams;
    shards->prefetches = prefetches;
    TRY_OUT(rows_make(&shards->units, units));
    TRY_OUT(plan_stays(&shards->train, shards, encoder, encoder->train));
    TRY_OUT(plan_stays(&shards->evaluate, shards, encoder, encoder->evaluate));
    shards->unit_count = units;
    for (int b = 0; b < units; b++) {
        const struct bucket *bucket = &buckets[b];
        TRY_OUT(open_unit(shards, &shards->units[members[bucket->first].unit], bucket, members,
                          pieces));
    }
    *opened = shards;
    shards = NULL;

out:
    parameter_shards_close(shards);
    return status;
}

void parameter_shards_close(struct parameter_shards *shards)
{
    if (shards == NULL)
        return;
    for (int i = 0; shards->units != NULL && i < shards->unit_count; i++) {
        struct unit *unit = &shards->units[i];
        if (unit->whole != NULL)
            free_unit(shards, unit);
        allocator_free(shards->streams.allocator, unit->shard);
        event_destroy(unit->has_room);
        event_destroy(unit->gathered);
    }
    free(shards->train.stays);
    free(shards->evaluate.stays);
    free(shards->units);
    free(shards);
}
