/* The order of a pipeline's ranks: whole, without a wait that never ends, and idle for as many
 * slots as the formula says. */
#include "harness/engine/step/ranks/pipeline.h"

#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>
#include <stdbool.h>

enum { RANKS_MOST = 8, MICRO_BATCHES_MOST = 24 };

static struct pipeline_schedule schedule_of(int rank, int ranks, int micro_batches)
{
    struct pipeline_schedule schedule;

    assert_ok(pipeline_schedule_make(&schedule, rank, ranks, micro_batches));
    return schedule;
}

/* It is part of it that the ranks come to an end at all: each message waits for its counterpart. */
TEST(ranks_are_idle_for_as_many_slots_as_the_formula_says)
{
    for (int p = 1; p <= RANKS_MOST; p++)
        for (int m = 1; m <= MICRO_BATCHES_MOST; m++) {
            double share;
            assert_ok(pipeline_idle_share(&share, p, m));
            assert_true(fabs(share - (p - 1.0) / (m + p - 1.0)) < 1e-15);
        }
}

/* Each pass once, forward before backward, both in the order of micro-batches, so that gradients
 * add up in it; and no micro-batch in the place of one whose backward is still to come. */
TEST(every_pass_comes_once_and_in_order)
{
    for (int p = 1; p <= RANKS_MOST; p++)
        for (int m = 1; m <= MICRO_BATCHES_MOST; m++)
            for (int rank = 0; rank < p; rank++) {
                struct pipeline_schedule schedule = schedule_of(rank, p, m);
                int passes[2] = { 0, 0 };
                for (int i = 0; i < schedule.count; i++) {
                    const struct pipeline_action *action = &schedule.actions[i];
                    if (action->kind == PIPELINE_MESSAGE)
                        continue;
                    assert_int_equal(action->micro, passes[action->kind]++);
                    assert_in_range(passes[PIPELINE_FORWARD] - passes[PIPELINE_BACKWARD], 0,
                                    schedule.in_flight);
                }
                assert_int_equal(passes[PIPELINE_FORWARD], m);
                assert_int_equal(passes[PIPELINE_BACKWARD], m);
                assert_true(schedule.in_flight <= p - rank);
                pipeline_schedule_release(&schedule);
            }
}

/* Activations come before their forward pass and gradients before their backward pass, and go after
 * them. */
TEST(what_a_pass_needs_has_come_and_what_it_makes_goes)
{
    for (int p = 2; p <= RANKS_MOST; p++)
        for (int rank = 0; rank < p; rank++) {
            enum { M = 9 };
            struct pipeline_schedule schedule = schedule_of(rank, p, M);
            int came[2] = { 0, 0 }, went[2] = { 0, 0 }, passes[2] = { 0, 0 };
            for (int i = 0; i < schedule.count; i++) {
                const struct pipeline_action *action = &schedule.actions[i];
                bool next = action->kind == PIPELINE_MESSAGE && action->peer == rank + 1;
                if (action->kind != PIPELINE_MESSAGE) {
                    bool alone = rank == (action->kind == PIPELINE_FORWARD ? 0 : p - 1);
                    assert_true(alone || came[action->kind] == action->micro + 1);
                    passes[action->kind]++;
                    continue;
                }
                if (action->sent != PIPELINE_NOTHING) {
                    assert_int_equal(action->sent, went[!next]++);
                    assert_int_equal(passes[!next], action->sent + 1);
                }
                if (action->received != PIPELINE_NOTHING)
                    assert_int_equal(action->received, came[next]++);
            }
            assert_int_equal(went[PIPELINE_FORWARD], rank + 1 < p ? M : 0);
            assert_int_equal(went[PIPELINE_BACKWARD], rank > 0 ? M : 0);
            pipeline_schedule_release(&schedule);
        }
}

/* Two ranks with three micro-batches, in full. */
TEST(two_ranks_take_turns)
{
    static const char *const expected[] = {
        "F0 >0 F1 >1<0 B0 F2 >2<1 B1 <2 B2 ",
        "<0 F0 B0 >0<1 F1 B1 >1<2 F2 B2 >2 ",
    };

    for (int rank = 0; rank < 2; rank++) {
        struct pipeline_schedule schedule = schedule_of(rank, 2, 3);
        char text[200] = "";
        for (int i = 0; i < schedule.count; i++) {
            const struct pipeline_action *action = &schedule.actions[i];
            char *end = text + strlen(text);
            size_t room = sizeof text - strlen(text);
            if (action->kind == PIPELINE_MESSAGE && action->sent >= 0)
                snprintf(end, room, ">%d%s", action->sent, action->received >= 0 ? "" : " ");
            end = text + strlen(text);
            room = sizeof text - strlen(text);
            if (action->kind == PIPELINE_MESSAGE && action->received >= 0)
                snprintf(end, room, "<%d ", action->received);
            else if (action->kind != PIPELINE_MESSAGE)
                snprintf(end, room, "%c%d ", "FB"[action->kind], action -> micro);
        }
        assert_string_equal(text, expected[rank]);
        pipeline_schedule_release(&schedule);
    }
}
