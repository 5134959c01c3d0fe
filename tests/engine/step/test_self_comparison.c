/* A/A within a loop: what one sample a side calls, and pairs do not. */
#include "harness/engine/step/measuring/self_comparison.h"

#include "harness/base/random.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

enum { STEPS = 4000 };

/* Steps of 1 ms with up to `noise` more, by chance, and a tenth as long again for those that `slow`
 * says. */
static void make_steps(double *step_ns, double noise, bool (*slow)(int step))
{
    struct random random = random_seed(1, 0x73746570);

    for (int i = 0; i < STEPS; i++)
        step_ns[i] =
            1e6 * (1 + noise * random_uniform(&random)) * (slow != NULL && slow(i) ? 1.1 : 1);
}

static double calls(enum self_comparison how, double noise, bool (*slow)(int step))
{
    double step_ns[STEPS];

    make_steps(step_ns, noise, slow);
    return self_comparison_false_calls(how, step_ns, STEPS);
}

TEST(noise_is_called_by_one_sample_and_not_by_pairs)
{
    assert_true(calls(SELF_COMPARISON_ONE, 0.2, NULL) > 0.8);
    assert_true(calls(SELF_COMPARISON_PAIRS, 0.2, NULL) < 0.03);
    assert_true(calls(SELF_COMPARISON_ONE, 0.009, NULL) == 0);
    assert_true(calls(SELF_COMPARISON_PAIRS, 0.009, NULL) == 0);
}

/* Steps become slower all the time: whoever comes second looks slower, and sides take turns. */
TEST(a_drift_is_no_difference_to_pairs)
{
    double step_ns[STEPS];

    for (int i = 0; i < STEPS; i++) step_ns[i] = 1e3 * pow(1.02, i);
    assert_true(self_comparison_false_calls(SELF_COMPARISON_ONE, step_ns, STEPS) == 1);
    assert_true(self_comparison_false_calls(SELF_COMPARISON_PAIRS, step_ns, STEPS) == 0);
}

/* The second side of ABBA, so the sides do differ. */
static bool is_second_side(int step)
{
    return step % 4 == 1 || step % 4 == 2;
}

TEST(pairs_call_what_is_there)
{
    assert_true(calls(SELF_COMPARISON_PAIRS, 0.02, is_second_side) == 1);
}

TEST(too_few_steps_and_no_comparison_are_not_measured)
{
    const double step_ns[19] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

    assert_true(isnan(self_comparison_false_calls(SELF_COMPARISON_PAIRS, step_ns, 19)));
    assert_true(isnan(self_comparison_false_calls(SELF_COMPARISON_ONE, step_ns, 1)));
    assert_true(isnan(self_comparison_false_calls(SELF_COMPARISON_NONE, step_ns, 19)));
    assert_true(self_comparison_false_calls(SELF_COMPARISON_ONE, step_ns, 2) == 0);
}
