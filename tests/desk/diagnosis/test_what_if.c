/* Made loops without some of their causes: alone they gain what their findings say, together what
 * is left to gain. */
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/diagnosis/what_if.h"
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

static struct what_if without(struct found *found, const char *first, const char *second)
{
    struct what_if_choice choice = { .asked = true };
    struct facts facts = facts_of(&found->summary, 1, 0);

    if (first != NULL)
        choice.rules[choice.count++] = rule_find(first);
    if (second != NULL)
        choice.rules[choice.count++] = rule_find(second);
    return what_if_of(&found->findings, &facts, &choice);
}

static void check_step(const struct what_if_row *row, double step_us, double busy_us)
{
    if (!(fabs(row->step_ns / 1000 - step_us) <= 15) || !(fabs(row->busy_ns / 1000 - busy_us) <= 5))
        fail_msg("the step takes %.1f us, %.1f of them busy, not %.1f and %.1f",
                 row->step_ns / 1000, row->busy_ns / 1000, step_us, busy_us);
}

/* A wait for the device, then 800 us of loading: either fix hides them. */
TEST(either_of_two_fixes_may_be_enough)
{
    const struct made_loop loop = { BUSY, .loading = 800, .wait_every = 1 };
    struct found found = found_judge(&loop);
    struct what_if what_if = without(&found, "host_sync", "data_loading");

    assert_string_equal(what_if.why, "");
    assert_int_equal(what_if.row_count, 2);
    check_step(&what_if.recorded, 1803, 1000);
    check_step(&what_if.rows[0], 1000, 1000);
    check_step(&what_if.rows[1], 1000, 1000);
    what_if = without(&found, "data_loading", "host_sync");
    check_step(&what_if.rows[0], 1003, 1000);
}

/* The host loads for 1500 us, works for 600 and launches for 40; the device works for 400. */
#define SLOW_HOST                                                                                  \
    .steps = 200, .launches = 20, .call = 2, .kernel = 20, .loading = 1500, .pause = 600

TEST(two_fixes_gain_what_they_gain_together)
{
    const struct made_loop loop = { SLOW_HOST };
    struct found found = found_judge(&loop);
    struct what_if what_if = without(&found, "host_work", "data_loading");

    check_step(&what_if.recorded, 2140, 400);
    check_step(&what_if.rows[0], 1540, 400);
    check_step(&what_if.rows[1], 400, 400);
    what_if = without(&found, "data_loading", "host_work");
    check_step(&what_if.rows[0], 640, 400);
}

/* The host loads for 1500 us and launches for 40; the device works for 1000 beside that, half of it
 * on padding. */
TEST(kernels_that_get_shorter_gain_what_the_host_leaves)
{
    const struct made_loop loop = { .steps = 200,
                                    .launches = 20,
                                    .call = 2,
                                    .kernel = 50,
                                    .loading = 1500,
                                    .samples = 1,
                                    .tokens = 500,
                                    .padded_tokens = 507 };
    struct found found = found_judge(&loop);
    struct what_if what_if = without(&found, "data_loading", "padding_waste");

    check_step(&what_if.recorded, 1540, 1000);
    check_step(&what_if.rows[0], 1000, 1000);
    check_step(&what_if.rows[1], 503, 503);
}

/* Alone, a cause gains what its finding says. Unnamed, all causes of the trace come in all
 * combinations, fewer first. */
TEST(causes_that_are_not_named_are_combined)
{
    const struct made_loop loop = { SLOW_HOST, .logging = 700 };
    struct found found = found_judge(&loop);
    struct what_if what_if = without(&found, NULL, NULL);

    assert_int_equal(what_if.cause_count, 3);
    assert_int_equal(what_if.row_count, 7);
    assert_int_equal(what_if.rows[6].causes, 7);
    for (int i = 0; i < 3; i++) {
        const struct finding *finding = found_find(&found, what_if.causes[i]->id);
        assert_int_equal(what_if.rows[i].causes, 1U << i);
        assert_true(fabs(what_if.recorded.step_ns / what_if.rows[i].step_ns -
                         finding->predicted_gain) < 0.001);
    }
    for (int i = 3; i < 7; i++)
        for (int j = 0; j < i; j++)
            if ((what_if.rows[j].causes & ~what_if.rows[i].causes) == 0)
                assert_true(what_if.rows[i].step_ns <= what_if.rows[j].step_ns + 1);
}

/* Findings that share no time lose no more than a replay without all of them gains. */
TEST(exclusive_losses_are_what_all_fixes_gain)
{
    static const struct made_loop loops[] = {
        { SLOW_HOST, .logging = 700 },
        { BUSY, .loading = 800, .wait_every = 1, .logging = 300 },
        { BUSY, .loading = 600, .wait_amid = 1, .optimizer_launches = 1, .optimizer_kernel = 100 },
        { BUSY, .pause = 700, .loading = 900, .allocations = 6, .allocation = 40 },
        { BUSY, .saving = 500, .releases = 2, .allocation = 100, .loading = 700 },
        { .steps = 20, .pause = 280, .launches = 60, .operator_time = 6, .call = 4, .kernel = 9 },
        { .steps = 20,
          .launches = 50,
          .call = 4,
          .kernel = 20,
          .wait_launches = 1,
          .logging = 500 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
        struct found found = found_judge(&loops[i]);
        struct what_if what_if = without(&found, NULL, NULL);
        double lost_ns = 0, least_ns = what_if.recorded.step_ns;
        for (int64_t j = 0; j < found.findings.count; j++) {
            const struct finding *finding = &found.findings.items[j];
            if (finding->is_replayed && !finding->shares_time)
                lost_ns += finding->lost_ns_per_step;
        }
        for (int j = 0; j < what_if.row_count; j++)
            least_ns = fmin(least_ns, what_if.rows[j].step_ns);
        assert_true(lost_ns > 0);
        if (!(lost_ns <= 1.02 * (what_if.recorded.step_ns - least_ns)))
            fail_msg("loop %zu: %.0f ns are lost, and %.0f gained", i, lost_ns,
                     what_if.recorded.step_ns - least_ns);
    }
}

TEST(the_next_fix_is_named)
{
    const struct made_loop either = { BUSY, .loading = 800, .wait_every = 1 };
    const struct made_loop slow = { SLOW_HOST };
    const struct made_loop one = { BUSY, .loading = 1500 };
    struct found found = found_judge(&either);
    const struct next_fix *next = &found.findings.next;

    if (next->first != NULL)
        assert_true(next->gain < 1.01);
    found = found_judge(&slow);
    assert_string_equal(next->first, "data_loading");
    assert_string_equal(next->second, "host_work");
    assert_true(fabs(next->gain - 640.0 / 400) < 0.05);
    assert_true(fabs(next->pair_gain - 2140.0 / 400) < 0.1);
    found = found_judge(&one);
    assert_null(next->first);
}

/* A host that loads and computes has no predicted gain, since both share its cores. The step is
 * shorter by the cost. */
TEST(on_a_host_alone_loading_takes_its_cost)
{
    const struct made_loop loop = {
        .alone = true, .steps = 10, .launches = 10, .operator_time = 100, .loading = 800
    };
    struct found found = found_judge(&loop);
    const struct finding *finding = found_find(&found, "data_loading");
    struct what_if what_if = without(&found, "data_loading", NULL);

    assert_true(isnan(finding->predicted_gain));
    assert_true(fabs(what_if.recorded.step_ns - what_if.rows[0].step_ns -
                     finding->lost_ns_per_step) < 1000);
    assert_true(finding->lost_ns_per_step > 700e3);
}

TEST(without_anything_to_replay_a_sentence_says_so)
{
    const struct made_loop loop = { BUSY };
    struct found found = found_judge(&loop);
    struct what_if what_if = without(&found, NULL, NULL);
    struct what_if_choice choice = { .asked = true };
    struct facts facts = facts_of(&found.summary, 1, 0);

    assert_non_null(strstr(what_if.why, "No finding has a change"));
    facts.replay_holds = false;
    what_if = what_if_of(&found.findings, &facts, &choice);
    assert_int_equal(what_if.row_count, 0);
    assert_non_null(strstr(what_if.why, "does not give back its step"));
}
