/* Borders of epochs that are there, and series of random waits, which have none. */
#include "harness/desk/diagnosis/facts/epoch_borders.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/random.h"
#include "harness/base/status.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

enum { STEPS_MOST = 128, SERIES = 1000 };

#define STEP_NS 1e6

struct series {
    int64_t count;
    double wait_ns[STEPS_MOST], sorted[STEPS_MOST], calls[STEPS_MOST];
};

/* Steps that do not wait, and call their loader once. */
static struct series series_of(int64_t count)
{
    struct series series = { .count = count };

    for (int64_t i = 0; i < count; i++) series.calls[i] = 1;
    return series;
}

static struct epoch_borders find(struct series *series)
{
    const struct step_waits waits = { .wait_ns = series->wait_ns,
                                      .sorted = series->sorted,
                                      .calls = series->calls,
                                      .usual_calls = 1,
                                      .count = series->count,
                                      .step_ns = STEP_NS };

    memcpy(series->sorted, series->wait_ns, sizeof series->sorted);
    stats_sort(series->sorted, (int)series->count);
    return epoch_borders_find(&waits);
}

/* Every so many steps, from `first` on, a wait, which the next step has half of. */
static void add_borders(struct series *series, int64_t first, int64_t epoch)
{
    for (int64_t i = first; i < series->count; i += epoch) {
        series->wait_ns[i] = 5 * STEP_NS;
        if (i + 1 < series->count)
            series->wait_ns[i + 1] = 2.5 * STEP_NS;
    }
}

static void mark(struct series *series, int64_t first, int64_t epoch)
{
    for (int64_t i = first; i < series->count; i += epoch) series->calls[i] = 2;
}

/* --- Borders that are there --- */

TEST(three_waits_at_equal_distances_are_borders)
{
    struct series series = series_of(48);
    struct epoch_borders borders;

    add_borders(&series, 7, 16);
    borders = find(&series);
    assert_true(borders.found);
    assert_int_equal(borders.count, 3);
    assert_int_equal(borders.steps, 16);
}

TEST(two_waits_are_borders_if_they_are_marked)
{
    struct series series = series_of(32);

    add_borders(&series, 7, 16);
    assert_false(find(&series).found);
    mark(&series, 7, 16);
    assert_true(find(&series).found);
}

/* Two more late batches amid the epochs do not hide what the marks say; ten do. */
TEST(marked_borders_are_found_beside_other_waits)
{
    struct series series = series_of(32);

    add_borders(&series, 7, 16);
    mark(&series, 7, 16);
    series.wait_ns[3] = series.wait_ns[19] = STEP_NS;
    assert_true(find(&series).found);
    for (int64_t i = 0; i < 10; i++) series.wait_ns[3 * i + 1] = 6 * STEP_NS;
    assert_false(find(&series).found);
}

TEST(one_border_may_be_anything)
{
    struct series series = series_of(24);

    add_borders(&series, 10, 16);
    mark(&series, 10, 16);
    assert_false(find(&series).found);
}

TEST(a_border_that_is_missing_contradicts)
{
    struct series series = series_of(60);

    add_borders(&series, 27, 11);
    assert_false(find(&series).found); /* 5 and 16 would be borders, too */
}

TEST(borders_that_do_not_wait_are_not_to_blame)
{
    struct series series = series_of(48);

    add_borders(&series, 7, 16);
    mark(&series, 0, 16);
    assert_false(find(&series).found);
}

/* --- Chance --- */

/* Waits at random steps, as late batches come, each of random length. */
static void add_random(struct series *series, int64_t waits, struct random *random)
{
    for (int64_t i = 0; i < waits; i++)
        series->wait_ns[random_below(random, (uint32_t)series->count)] =
            STEP_NS * (0.5 + 5 * (double)random_uniform(random));
}

/* How many of the series seem to have borders; `epoch`: every so many steps one is marked; 0: none
 * is. */
static int false_alarms(int64_t steps, int64_t epoch, uint64_t seed)
{
    struct random random = random_seed(seed, 0);
    int alarms = 0;

    for (int i = 0; i < SERIES; i++) {
        struct series series = series_of(steps);
        add_random(&series, 2 + random_below(&random, 7), &random);
        if (epoch > 0)
            mark(&series, random_below(&random, (uint32_t)epoch), epoch);
        alarms += find(&series).found;
    }
    return alarms;
}

/* Three standard deviations beyond the promised rate. */
TEST(random_waits_are_rarely_borders)
{
    const double expected = SERIES * EPOCH_CHANCE_MOST;
    const double most = expected + 3 * sqrt(expected * (1 - EPOCH_CHANCE_MOST));
    static const int64_t cases[][2] = { { 20, 0 },  { 32, 0 },  { 40, 0 },   { 60, 0 },  { 128, 0 },
                                        { 32, 16 }, { 48, 16 }, { 128, 10 }, { 128, 40 } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int alarms = false_alarms(cases[i][0], cases[i][1], i);
        print_message("%d steps, epochs of %d: %d of %d\n", (int)cases[i][0], (int)cases[i][1],
                      alarms, SERIES);
        assert_true(alarms <= most);
    }
}
