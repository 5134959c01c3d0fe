/* The order of passes in a pipeline of ranks ("one forward, one backward", 1F1B), and how much of
 * the time its ranks are idle. The order of a rank is made action by action; idleness is counted by
 * playing all of their orders against each other. */
#include "harness/engine/step/ranks/pipeline.h"

#include "harness/base/rows.h"

#include <stdlib.h>

/* --- The order --- */

enum { ACTIONS_A_MICRO_BATCH = 6 }; /* two passes, and a message each way to both neighbours */

struct maker {
    struct pipeline_schedule *schedule;
    int rank, ranks;
};

static void add_pass(struct maker *maker, enum pipeline_kind kind, int micro)
{
    struct pipeline_schedule *schedule = maker->schedule;

    schedule->actions[schedule->count++] = (struct pipeline_action){
        .kind = kind, .micro = micro, .sent = PIPELINE_NOTHING, .received = PIPELINE_NOTHING
    };
}

/* Nothing is to be said to a neighbour that does not exist. */
static void add_message(struct maker *maker, int peer, int sent, int received)
{
    struct pipeline_schedule *schedule = maker->schedule;

    if (peer < 0 || peer >= maker->ranks ||
        (sent == PIPELINE_NOTHING && received == PIPELINE_NOTHING))
        return;
    schedule->actions[schedule->count++] = (struct pipeline_action){
        .kind = PIPELINE_MESSAGE, .peer = peer, .sent = sent, .received = received
    };
}

static int smaller(int one, int other)
{
    return one < other ? one : other;
}

enum status pipeline_schedule_make(struct pipeline_schedule *schedule, int rank, int ranks,
                                   int micro_batches)
{
    struct maker maker = { schedule, rank, ranks };
    int ahead = smaller(ranks - 1 - rank, micro_batches);

    *schedule = (struct pipeline_schedule){ .in_flight = smaller(ranks - rank, micro_batches) };
    TRY(rows_make(&schedule->actions, ACTIONS_A_MICRO_BATCH * micro_batches));
    /* The forward passes before the first backward of this rank, without the one right before. */
    for (int i = 0; i < ahead; i++) {
        add_message(&maker, rank - 1, PIPELINE_NOTHING, i);
        add_pass(&maker, PIPELINE_FORWARD, i);
        add_message(&maker, rank + 1, i, PIPELINE_NOTHING);
    }
    if (ahead < micro_batches)
        add_message(&maker, rank - 1, PIPELINE_NOTHING, ahead);
    /* A forward and a backward in turns. */
    for (int i = 0; i + ahead < micro_batches; i++) {
        int next = i + ahead + 1;
        add_pass(&maker, PIPELINE_FORWARD, i + ahead);
        add_message(&maker, rank + 1, i + ahead, i);
        add_pass(&maker, PIPELINE_BACKWARD, i);
        add_message(&maker, rank - 1, i, next < micro_batches ? next : PIPELINE_NOTHING);
    }
    /* The backward passes that are left. */
    for (int i = micro_batches - ahead; i < micro_batches; i++) {
        add_message(&maker, rank + 1, PIPELINE_NOTHING, i);
        add_pass(&maker, PIPELINE_BACKWARD, i);
        add_message(&maker, rank - 1, i, PIPELINE_NOTHING);
    }

    return STATUS_OK;
}

void pipeline_schedule_release(struct pipeline_schedule *schedule)
{
    free(schedule->actions);
    *schedule = (struct pipeline_schedule){ 0 };
}

/* --- Slots --- */

/* A rank in the course of its actions. */
struct place {
    struct pipeline_schedule schedule;
    int next;     /* action */
    int64_t slot; /* the first that is free */
};

/* Whether both ranks have reached the message between them; if so, moves both past it. A message
 * takes no slot. Each rank waits for the other, since both send and receive at once
 * (collective.h). */
static bool meet(struct place *places, int rank)
{
    struct place *own = &places[rank], *other;
    const struct pipeline_action *action = &own->schedule.actions[own->next], *answer;
    int64_t slot;

    other = &places[action->peer];
    answer = &other->schedule.actions[other->next];
    if (other->next >= other->schedule.count || answer->kind != PIPELINE_MESSAGE ||
        answer->peer != rank || answer->sent != action->received ||
        answer->received != action->sent)
        return false;
    slot = own->slot > other->slot ? own->slot : other->slot;
    own->slot = other->slot = slot;
    own->next++;
    other->next++;
    return true;
}

/* One action of the rank, if it can go on. */
static bool go_on(struct place *places, int rank)
{
    struct place *place = &places[rank];

    if (place->next >= place->schedule.count)
        return false;
    if (place->schedule.actions[place->next].kind == PIPELINE_MESSAGE)
        return meet(places, rank);
    place->slot++;
    place->next++;
    return true;
}

enum status pipeline_idle_share(double *share, int ranks, int micro_batches)
{
    enum status status = STATUS_OK;
    struct place *places = NULL;
    int64_t slots = 0; /* until the last rank is done */

    TRY_OUT(rows_make(&places, ranks));
    for (int rank = 0; rank < ranks; rank++)
        TRY_OUT(pipeline_schedule_make(&places[rank].schedule, rank, ranks, micro_batches));
    for (bool moved = true; moved;) {
        moved = false;
        for (int rank = 0; rank < ranks; rank++)
            while (go_on(places, rank)) moved = true;
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (places[rank].next < places[rank].schedule.count)
            FAIL_OUT(STATUS_INTERNAL, "rank %d of a pipeline of %d waits for ever", rank, ranks);
        slots = places[rank].slot > slots ? places[rank].slot : slots;
    }
    /* Each rank has two passes for every micro-batch. */
    *share = (double)(slots - 2 * micro_batches) / (double)slots;

out:
    for (int rank = 0; places != NULL && rank < ranks; rank++)
        pipeline_schedule_release(&places[rank].schedule);
    free(places);
    return status;
}

/* --- The rank --- */

enum status pipeline_open(struct pipeline **opened, const struct training_config *config,
                          struct stream *compute)
{
    enum status status = STATUS_OK;
    const struct model_config *model = &config->model;
    struct pipeline *pipeline = NULL;

    *opened = NULL;
    if (model->parts <= 1)
        goto out;
    TRY_OUT(rows_make(&pipeline, 1));
    pipeline->rank = model->part;
    pipeline->compute = compute;
    TRY_OUT(pipeline_schedule_make(&pipeline->schedule, model->part, model->parts,
                                   config->launch.accumulate));
    TRY_OUT(pipeline_idle_share(&pipeline->idle_share, model->parts, config->launch.accumulate));
    *opened = pipeline;
    pipeline = NULL;

out:
    pipeline_close(pipeline);
    return status;
}

void pipeline_close(struct pipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    pipeline_schedule_release(&pipeline->schedule);
    free(pipeline);
}

/* To the rank after this one go activations, and their gradients come back; between this rank and
 * the one before it, the other way round. */
enum status pipeline_exchange(const struct pipeline *pipeline, int peer, const struct encoder *sent,
                              const struct encoder *received)
{
    bool after = peer > pipeline->rank;
    const struct tensor *goes = sent == NULL ? NULL : after ? sent->output : sent->stream;
    const struct tensor *comes = received == NULL ? NULL
                                 : after          ? received->stream
                                                  : received->input;
    const struct tensor *first = goes != NULL ? goes : comes;
    const struct collective message = {
        .kind = comes == NULL  ? COLLECTIVE_SEND
                : goes == NULL ? COLLECTIVE_RECV
                               : COLLECTIVE_SEND_RECV,
        .data = first->data,
        .count = first->elements,
        .dtype = first->dtype,
        .peer = peer,
        .received = comes != NULL ? comes->data : NULL,
    };

    return device_collective(pipeline->compute, &message);
}

enum status pipeline_evaluate(const struct pipeline *pipeline, const struct encoder *encoder,
                              const struct op_context *context, struct tensor *keep)
{
    if (encoder->input != NULL)
        TRY(pipeline_exchange(pipeline, pipeline->rank - 1, NULL, encoder));
    TRY(program_run(encoder->evaluate, context, encoder->allocator, keep, NULL));
    if (encoder->output != NULL)
        TRY(pipeline_exchange(pipeline, pipeline->rank + 1, encoder, NULL));

    return STATUS_OK;
}
