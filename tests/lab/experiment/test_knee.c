/* The value of a sweep that is enough. */
#include "harness/base/status.h"
#include "harness/lab/search/sweep.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/fields.h"

#include <math.h>

enum { VALUES = 5, ROUNDS = 6 };

/* rates[value][round]; a value of 0 rounds was refused. */
struct known {
    double rates[VALUES][ROUNDS];
    int rounds[VALUES], cost[VALUES], count;
    int best, enough;
    double share, low, high;
    bool is_clear;
};

#define FLAT(rate)                                                                                 \
    {                                                                                              \
        rate, rate, rate, rate, rate, rate                                                         \
    }

static const struct known cases[] = {
    /* The third of four is within 5% of the best, which is the last. */
    { FIELDS(FLAT(50), FLAT(80), FLAT(96), FLAT(100)), FIELDS(6, 6, 6, 6), FIELDS(0, 1, 2, 3), 4, 3,
      2, 0.96, 0.96, 0.96, true },
    /* Exactly 5% less is enough. */
    { FIELDS(FLAT(94.9), FLAT(95), FLAT(100)), FIELDS(3, 3, 3), FIELDS(0, 1, 2), 3, 2, 1, 0.95,
      0.95, 0.95, true },
    /* More than enough is no better than enough: too many workers. */
    { FIELDS(FLAT(99), FLAT(100), FLAT(70)), FIELDS(3, 3, 3), FIELDS(0, 1, 2), 3, 1, 0, 0.99, 0.99,
      0.99, true },
    /* The best alone. */
    { FIELDS(FLAT(10), FLAT(100)), FIELDS(3, 3), FIELDS(0, 1), 2, 1, 1, 1, 1, 1, true },
    /* Rounds are pairs: the machine slows down threefold, and the shares stay. */
    { { { 97, 50, 32 }, { 100, 51, 33 } },
      FIELDS(3, 3),
      FIELDS(0, 1),
      2,
      1,
      0,
      0.97,
      32 / 33.0,
      50 / 51.0,
      true },
    /* The interval reaches below the bound. */
    { { { 90, 97, 98 }, { 100, 100, 100 } },
      FIELDS(3, 3),
      FIELDS(0, 1),
      2,
      1,
      0,
      0.97,
      0.90,
      0.98,
      false },
    /* The interval of a cheaper value reaches above it. */
    { { { 90, 94, 97 }, { 99, 99, 99 }, { 100, 100, 100 } },
      FIELDS(3, 3, 3),
      FIELDS(0, 1, 2),
      3,
      2,
      1,
      0.99,
      0.99,
      0.99,
      false },
    /* Six rounds: the whole range holds the median with 97%. */
    { { { 90, 96, 97, 97, 98, 99 }, FLAT(100) },
      FIELDS(6, 6),
      FIELDS(0, 1),
      2,
      1,
      0,
      0.97,
      0.90,
      0.99,
      false },
    /* A dearer value may be better by 5%: a round of three says so. One round says nothing. */
    { { { 100, 100, 100 }, { 99, 90, 106 } }, FIELDS(3, 3), FIELDS(0, 1), 2, 0, 0, 1, 1, 1, false },
    { { { 50 }, { 100 } }, FIELDS(1, 1), FIELDS(0, 1), 2, 1, 1, 1, 1, 1, false },
    /* A refused value takes no part, nor do rounds that only one of the two has. */
    { { FLAT(0), { 97, 97 }, FLAT(100) },
      FIELDS(0, 2, 3),
      FIELDS(0, 1, 2),
      3,
      2,
      1,
      0.97,
      0.97,
      0.97,
      true },
    /* A grid: the diagonal counts, and of equals the first one. */
    { FIELDS(FLAT(60), FLAT(97), FLAT(96), FLAT(100)), FIELDS(3, 3, 3, 3), FIELDS(0, 1, 1, 2), 4, 3,
      1, 0.97, 0.97, 0.97, true },
    { FIELDS(FLAT(97), FLAT(100)), FIELDS(3, 3), FIELDS(1, 0), 2, 1, 1, 1, 1, 1, true },
    /* Nothing was measured. */
    { FIELDS(FLAT(1)), FIELDS(0, 0), FIELDS(0, 1), 2, -1, -1, NAN, NAN, NAN, false },
};

TEST(the_cheapest_value_that_is_enough_is_found)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct known *known = &cases[i];
        struct knee_value values[VALUES];
        struct knee knee;

        for (int v = 0; v < known->count; v++)
            values[v] = (struct knee_value){ known->rates[v], known->rounds[v], known->cost[v] };
        knee = knee_find(values, known->count);
        if (knee.best != known->best || knee.enough != known->enough ||
            knee.is_clear != known->is_clear)
            fail_msg("case %zu: best %d, enough %d, %s", i, knee.best, knee.enough,
                     knee.is_clear ? "clear" : "not clear");
        if (known->enough < 0)
            continue;
        assert_true(fabs(knee.share - known->share) <= 1e-9);
        assert_true(fabs(knee.interval.low - known->low) <= 1e-9);
        assert_true(fabs(knee.interval.high - known->high) <= 1e-9);
    }
}
