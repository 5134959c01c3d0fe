/* Gradients of several ranks, added up in buckets while backward goes on, as PyTorch's
 * DistributedDataParallel does. Members are sorted by when backward finishes them and go into
 * buckets in that order; then the memory of gradients, and of parameters, moves into the buckets.
 * While backward is queued, a bucket is sent off as soon as its last member is complete.
 *
 * If the state of the optimizer is sharded, each rank gets the sum of its part of a bucket only,
 * updates that part, and the parameters are gathered from all. */
#include "harness/engine/step/ranks/gradient_buckets.h"

#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/device/many_ranks.h"

#include <stdlib.h>

struct gradient_buckets {
    struct ranks_config config;
    struct allocator *allocator;
    struct stream *compute, *communication;
    struct event *reduced, *updated, *gathered;
    struct side_stream side;       /* the communication's, for others */
    int last_entry;                /* of the program's */
    struct bucket_member *members; /* in the order in which they are finished */
    int member_count;
    struct bucket *buckets; /* in that order too */
    int bucket_count, queued;
    struct optimizer_piece *pieces;  /* by number of the parameter; NULL: all of each */
    struct parameter_shards *shards; /* NULL: the parameters stay */
    enum dtype dtype;                /* of all gradients */
    struct pass_listener listener;
};

static size_t gradient_bytes(const struct gradient_buckets *buckets, int64_t elements)
{
    return (size_t)elements * dtype_bytes(buckets->dtype);
}

/* The member's part of its bucket. */
static void *bucket_part(const struct gradient_buckets *buckets, const struct bucket *bucket,
                         const struct bucket_member *member)
{
    return bucket->data + gradient_bytes(buckets, member->offset);
}

/* --- Opening --- */

COMPARATOR(by_readiness, struct bucket_member, ASCENDING(ready_at) ?: ASCENDING(gradient))

/* Gradients of experts are left out: each is complete on its rank, so no other rank has a part of
 * it. */
static void find_members(struct gradient_buckets *buckets, const struct encoder *encoder)
{
    for (int i = 0; i < encoder->parameter_count; i++) {
        struct parameter *parameter = &encoder->parameters[i];
        struct tensor *gradient = parameter->value->gradient;
        int last;
        if (parameter->is_experts)
            continue;
        last = program_last_write(encoder->train, gradient);
        buckets->members[buckets->member_count++] = (struct bucket_member){
            .parameter = parameter,
            .gradient = gradient,
            .number = i,
            .unit = parameter_unit(encoder, program_entry(encoder->train, last).op),
            .ready_at = last,
        };
    }
    qsort(buckets->members, (size_t)buckets->member_count, sizeof *buckets->members, by_readiness);
}

static bool shards_parameters(const struct gradient_buckets *buckets)
{
    return buckets->config.parameters != PARAMETERS_WHOLE;
}

/* A bucket is as large as bucket_mb allows; with sharded parameters it is what belongs to one
 * unit. */
static void fill_buckets(struct gradient_buckets *buckets)
{
    int64_t most =
        (int64_t)buckets->config.bucket_mb * (1 << 20) / (int64_t)gradient_bytes(buckets, 1);

    for (int i = 0; i < buckets->member_count; i++) {
        struct bucket_member *member = &buckets->members[i];
        struct bucket *bucket =
            buckets->bucket_count > 0 ? &buckets->buckets[buckets->bucket_count - 1] : NULL;
        bool is_full =
            bucket == NULL ||
            (shards_parameters(buckets) ? buckets->members[bucket->first].unit != member->unit
                                        : bucket->elements + member->gradient->elements > most);
        if (is_full) {
            bucket = &buckets->buckets[buckets->bucket_count++];
            bucket->first = i;
        }
        member->offset = bucket->elements;
        bucket->elements += member->gradient->elements;
        bucket->ready_at = member->ready_at;
        bucket->count++;
    }
}

static int64_t round_up(int64_t value, int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

/* Places the members, and returns where they end. One across the end of a part begins at a chunk of
 * the bucket, so that its chunks end there, too. */
static int64_t place_members(struct gradient_buckets *buckets, const struct bucket *bucket,
                             int64_t part)
{
    int64_t at = 0;

    for (int i = bucket->first; i < bucket->first + bucket->count; i++) {
        struct bucket_member *member = &buckets->members[i];
        int64_t elements = member->gradient->elements;
        if (at / part != (at + elements - 1) / part)
            at = round_up(at, OPTIMIZER_CHUNK);
        member->offset = at;
        at += elements;
    }
    return at;
}

/* The piece of a member that `rank` updates, whose bucket has parts of so many elements. */
static struct optimizer_piece member_piece(const struct bucket_member *member, int64_t part,
                                           int rank)
{
    int64_t end = member->offset + member->gradient->elements;
    int64_t first = rank * part > member->offset ? rank * part : member->offset;
    int64_t last = (rank + 1) * part < end ? (rank + 1) * part : end;

    return first < last ? (struct optimizer_piece){ first - member->offset, last - first, NULL }
                        : (struct optimizer_piece){ 0, 0, NULL };
}

/* Makes each bucket one of equal parts, the shortest of whole chunks that hold the members. */
static enum status divide_buckets(struct gradient_buckets *buckets)
{
    int64_t ranks = buckets->config.count;

    TRY(rows_make(&buckets->pieces, buckets->member_count));
    for (int b = 0; b < buckets->bucket_count; b++) {
        struct bucket *bucket = &buckets->buckets[b];
        int64_t part = round_up((bucket->elements + ranks - 1) / ranks, OPTIMIZER_CHUNK);
        while (place_members(buckets, bucket, part) > ranks * part) part += OPTIMIZER_CHUNK;
        bucket->elements = ranks * part;
        for (int i = bucket->first; i < bucket->first + bucket->count; i++) {
            const struct bucket_member *member = &buckets->members[i];
            buckets->pieces[member->number] = member_piece(member, part, ranks_rank());
        }
    }

    return STATUS_OK;
}

/* The parameters, which have values, give up memory of their own for their part of the bucket. */
static enum status move_parameters(struct gradient_buckets *buckets, struct bucket *bucket)
{
    TRY(allocator_alloc(buckets->allocator, MEMORY_PARAMETERS,
                        (size_t)bucket->elements * sizeof *bucket->parameters,
                        (void **)&bucket->parameters));
    for (int i = bucket->first; i < bucket->first + bucket->count; i++) {
        struct bucket_member *member = &buckets->members[i];
        struct tensor *value = member->parameter->value;
        void *own = value->data, *part = bucket->parameters + member->offset;
        TRY(device_copy(buckets->compute, COPY_DEVICE_TO_DEVICE, part, own, tensor_bytes(value)));
        value->data = member->parameter->master = part;
        TRY(allocator_free(buckets->allocator, own));
    }

    return STATUS_OK;
}

static enum status open_bucket(struct gradient_buckets *buckets, struct bucket *bucket)
{
    TRY(event_create(stream_device(buckets->compute), false, &bucket->ready));
    TRY(allocator_alloc(buckets->allocator, MEMORY_GRADIENTS,
                        gradient_bytes(buckets, bucket->elements), (void **)&bucket->data));
    /* The gradients give up memory of their own for their part of the bucket. */
    for (int i = bucket->first; buckets->config.bucket_view && i < bucket->first + bucket->count;
         i++) {
        struct bucket_member *member = &buckets->members[i];
        void *own = member->gradient->data;
        member->gradient->data = bucket_part(buckets, bucket, member);
        TRY(allocator_free(buckets->allocator, own));
    }
    if (buckets->config.shards_state && !shards_parameters(buckets))
        TRY(move_parameters(buckets, bucket));

    return STATUS_OK;
}

static enum status open_shards(struct gradient_buckets *buckets, const struct encoder *encoder)
{
    const struct shard_streams streams = { buckets->allocator, buckets->compute,
                                           buckets->communication };

    return parameter_shards_open(&buckets->shards,
                                 buckets->config.parameters == PARAMETERS_PREFETCHED, encoder,
                                 buckets->buckets, buckets->members, buckets->pieces, &streams);
}

static enum status take_pass(void *context, int entry);

enum status gradient_buckets_open(struct gradient_buckets **opened,
                                  const struct ranks_config *config, const struct encoder *encoder,
                                  struct allocator *allocator, struct stream *compute)
{
    enum status status = STATUS_OK;
    size_t count = (size_t)encoder->parameter_count;
    struct gradient_buckets *buckets = NULL;

    *opened = NULL;
    if (config->count == 1 || config->pipeline)
        goto out;
    TRY_OUT(rows_make(&buckets, 1));
    buckets->config = *config;
    buckets->allocator = allocator;
    buckets->compute = compute;
    buckets->dtype = encoder->shape.dtype;
    buckets->last_entry = program_length(encoder->train) - 1;
    buckets->listener = (struct pass_listener){ NULL, take_pass, buckets };
    TRY_OUT(rows_make(&buckets->members, count));
    TRY_OUT(rows_make(&buckets->buckets, count));
    TRY_OUT(stream_create(stream_device(compute), &buckets->communication));
    buckets->side.stream = buckets->communication;
    TRY_OUT(event_create(stream_device(compute), false, &buckets->side.forked));
    TRY_OUT(event_create(stream_device(compute), false, &buckets->side.joined));
    TRY_OUT(event_create(stream_device(compute), false, &buckets->reduced));
    TRY_OUT(event_create(stream_device(compute), false, &buckets->updated));
    TRY_OUT(event_create(stream_device(compute), false, &buckets->gathered));
    find_members(buckets, encoder);
    fill_buckets(buckets);
    if (config->shards_state)
        TRY_OUT(divide_buckets(buckets));
    for (int i = 0; i < buckets->bucket_count; i++)
        TRY_OUT(open_bucket(buckets, &buckets->buckets[i]));
    if (shards_parameters(buckets))
        TRY_OUT(open_shards(buckets, encoder));
    TRY_OUT(allocator_trim(allocator)); /* of what was moved */
    *opened = buckets;
    buckets = NULL;

out:
    gradient_buckets_close(buckets);
    return status;
}

void gradient_buckets_close(struct gradient_buckets *buckets)
{
    if (buckets == NULL)
        return;
    stream_destroy(buckets->communication);
    parameter_shards_close(buckets->shards);
    for (int i = 0; buckets->buckets != NULL && i < buckets->bucket_count; i++) {
        struct bucket *bucket = &buckets->buckets[i];
        for (int m = bucket->first; m < bucket->first + bucket->count; m++) {
            /* A member that was moved has no memory of its own any more. */
            struct tensor *value = buckets->members[m].parameter->value;

            if (bucket->data != NULL && buckets->members[m].gradient->data ==
                                            bucket_part(buckets, bucket, &buckets->members[m]))
                buckets->members[m].gradient->data = NULL;
            if (bucket->parameters != NULL &&
                value->data == bucket->parameters + buckets->members[m].offset)
                value->data = buckets->members[m].parameter->master = NULL;
        }
        allocator_free(buckets->allocator, bucket->data);
        allocator_free(buckets->allocator, bucket->parameters);
        event_destroy(bucket->ready);
    }
    event_destroy(buckets->side.forked);
    event_destroy(buckets->side.joined);
    event_destroy(buckets->reduced);
    event_destroy(buckets->updated);
    event_destroy(buckets->gathered);
    free(buckets->pieces);
    free(buckets->members);
    free(buckets->buckets);
    free(buckets);
}

const struct pass_listener *gradient_buckets_listener(const struct gradient_buckets *buckets)
{
    return buckets != NULL ? &buckets->listener : NULL;
}

const struct optimizer_piece *gradient_buckets_pieces(const struct gradient_buckets *buckets)
{
    return buckets != NULL ? buckets->pieces : NULL;
}

const struct side_stream *gradient_buckets_stream(const struct gradient_buckets *buckets)
{
    return buckets != NULL ? &buckets->side : NULL;
}

struct parameter_shards *gradient_buckets_shards(const struct gradient_buckets *buckets)
{
    return buckets != NULL ? buckets->shards : NULL;
}

/* --- Communicating --- */

/* Between a gradient and its part of the bucket, on the compute stream. */
static enum status copy_members(const struct gradient_buckets *buckets, const struct bucket *bucket,
                                bool back)
{
    for (int i = bucket->first; i < bucket->first + bucket->count; i++) {
        const struct bucket_member *member = &buckets->members[i];
        void *gradient = member->gradient->data, *part = bucket_part(buckets, bucket, member);
        TRY(device_copy_async(buckets->compute, COPY_DEVICE_TO_DEVICE, back ? gradient : part,
                              back ? part : gradient, tensor_bytes(member->gradient)));
    }

    return STATUS_OK;
}

/* The communication stream waits for what is queued so far, the members' gradients among it, and
 * not for what follows. */
static enum status queue_bucket(struct gradient_buckets *buckets, struct bucket *bucket)
{
    const struct collective sum = { buckets->config.shards_state ? COLLECTIVE_REDUCE_SCATTER
                                                                 : COLLECTIVE_ALL_REDUCE,
                                    bucket->data, bucket->elements, .dtype = buckets->dtype };

    if (!buckets->config.bucket_view)
        TRY(copy_members(buckets, bucket, false));
    TRY(event_record(bucket->ready, buckets->compute));
    TRY(stream_wait_event(buckets->communication, bucket->ready));
    return device_collective(buckets->communication, &sum);
}

/* Entry `entry` of the program is queued. */
static enum status take_pass(void *context, int entry)
{
    struct gradient_buckets *buckets = context;

    while (buckets->config.allreduce == ALLREDUCE_OVERLAP &&
           buckets->queued < buckets->bucket_count &&
           buckets->buckets[buckets->queued].ready_at <= entry)
        TRY(queue_bucket(buckets, &buckets->buckets[buckets->queued++]));

    return STATUS_OK;
}

/* After this, what all ranks have adds up to the sum that each had: so the next sum is that of both
 * micro-batches, as in DistributedDataParallel, which divides by the ranks before it adds up. */
static enum status share_sums(const struct gradient_buckets *buckets)
{
    const float scale = 1 / (float)buckets->config.count - 1;

    for (int i = 0; i < buckets->bucket_count; i++) {
        const struct bucket *bucket = &buckets->buckets[i];
        TRY(LAUNCH(buckets->compute, buckets->dtype, triad, (long)bucket->elements,
                   .y = bucket->data, .a = bucket->data, .b = bucket->data, .scale = scale));
    }

    return STATUS_OK;
}

enum status gradient_buckets_finish(struct gradient_buckets *buckets, bool more)
{
    if (buckets == NULL)
        return STATUS_OK;
    while (buckets->queued < buckets->bucket_count)
        TRY(queue_bucket(buckets, &buckets->buckets[buckets->queued++]));
    buckets->queued = 0;
    TRY(event_record(buckets->reduced, buckets->communication));
    TRY(stream_wait_event(buckets->compute, buckets->reduced));
    if (more)
        TRY(share_sums(buckets));
    for (int i = 0; !buckets->config.bucket_view && i < buckets->bucket_count; i++)
        TRY(copy_members(buckets, &buckets->buckets[i], true));

    return STATUS_OK;
}

/* A bucket that the last pass completes can overlap with nothing. */
int64_t gradient_buckets_late_bytes(const struct gradient_buckets *buckets)
{
    int64_t bytes = 0;

    for (int i = 0; i < buckets->bucket_count; i++) {
        const struct bucket *bucket = &buckets->buckets[i];
        if (buckets->config.allreduce != ALLREDUCE_OVERLAP ||
            bucket->ready_at >= buckets->last_entry)
            bytes += (int64_t)gradient_bytes(buckets, bucket->elements);
    }
    return bytes;
}

bool gradient_buckets_are_shared(const struct gradient_buckets *buckets)
{
    return buckets != NULL && buckets->config.shards_state && !shards_parameters(buckets);
}

enum status gradient_buckets_gather(struct gradient_buckets *buckets)
{
    TRY(event_record(buckets->updated, buckets->compute));
    TRY(stream_wait_event(buckets->communication, buckets->updated));
    for (int i = 0; i < buckets->bucket_count; i++) {
        const struct bucket *bucket = &buckets->buckets[i];
        const struct collective all_gather = { COLLECTIVE_ALL_GATHER, bucket->parameters,
                                               bucket->elements, .dtype = DTYPE_F32 };
        TRY(device_collective(buckets->communication, &all_gather));
    }
    TRY(event_record(buckets->gathered, buckets->communication));
    return stream_wait_event(buckets->compute, buckets->gathered);
}
