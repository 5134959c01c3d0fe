#include "harness/engine/step/pipeline/pipeline_schedule.h"

#include "harness/base/rows.h"

#include <stdbool.h>
#include <stdint.h>
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

/* The forward passes before the first backward of this rank, without the one right before it. */
static void warm_up(struct maker *maker, int ahead)
{
    for (int i = 0; i < ahead; i++) {
        add_message(maker, maker->rank - 1, PIPELINE_NOTHING, i);
        add_pass(maker, PIPELINE_FORWARD, i);
        add_message(maker, maker->rank + 1, i, PIPELINE_NOTHING);
    }
}

static void take_turns(struct maker *maker, int ahead, int micro_batches)
{
    if (ahead < micro_batches)
        add_message(maker, maker->rank - 1, PIPELINE_NOTHING, ahead);
    for (int i = 0; i + ahead < micro_batches; i++) {
        int next = i + ahead + 1;
        add_pass(maker, PIPELINE_FORWARD, i + ahead);
        add_message(maker, maker->rank + 1, i + ahead, i);
        add_pass(maker, PIPELINE_BACKWARD, i);
        add_message(maker, maker->rank - 1, i, next < micro_batches ? next : PIPELINE_NOTHING);
    }
}

static void cool_down(struct maker *maker, int ahead, int micro_batches)
{
    for (int i = micro_batches - ahead; i < micro_batches; i++) {
        add_message(maker, maker->rank + 1, PIPELINE_NOTHING, i);
        add_pass(maker, PIPELINE_BACKWARD, i);
        add_message(maker, maker->rank - 1, i, PIPELINE_NOTHING);
    }
}

enum status pipeline_schedule_make(struct pipeline_schedule *schedule, int rank, int ranks,
                                   int micro_batches)
{
    struct maker maker = { schedule, rank, ranks };
    int ahead = smaller(ranks - 1 - rank, micro_batches);

    *schedule = (struct pipeline_schedule){ .in_flight = smaller(ranks - rank, micro_batches) };
    TRY(rows_make(&schedule->actions, ACTIONS_A_MICRO_BATCH * micro_batches));
    warm_up(&maker, ahead);
    take_turns(&maker, ahead, micro_batches);
    cool_down(&maker, ahead, micro_batches);

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

/* Whether both ranks have come to the message between them, which takes no slot, and moves them on.
 * Each waits for the other, who sends too (collective.h). */
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

/* The slots until the last rank is done. */
static int64_t play(struct place *places, int ranks)
{
    int64_t last = 0;
    bool moved = true;

    while (moved) {
        moved = false;
        for (int rank = 0; rank < ranks; rank++)
            while (go_on(places, rank)) moved = true;
    }
    for (int rank = 0; rank < ranks; rank++)
        last = places[rank].slot > last ? places[rank].slot : last;
    return last;
}

enum status pipeline_idle_share(double *share, int ranks, int micro_batches)
{
    enum status status = STATUS_OK;
    struct place *places = NULL;
    double slots;

    TRY_OUT(rows_make(&places, ranks));
    for (int rank = 0; rank < ranks; rank++)
        TRY_OUT(pipeline_schedule_make(&places[rank].schedule, rank, ranks, micro_batches));
    slots = (double)play(places, ranks);
    for (int rank = 0; rank < ranks; rank++)
        if (places[rank].next < places[rank].schedule.count)
            FAIL_OUT(STATUS_INTERNAL, "rank %d of a pipeline of %d waits for ever", rank, ranks);
    *share = (slots - 2.0 * micro_batches) / slots;

out:
    for (int rank = 0; places != NULL && rank < ranks; rank++)
        pipeline_schedule_release(&places[rank].schedule);
    free(places);
    return status;
}
