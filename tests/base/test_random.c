/* Random numbers: reproducible, in range, and spread as they claim. */
#include "harness/base/random.h"
#include "harness/base/status.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

TEST(same_seed_same_numbers)
{
    struct random a = random_seed(7, 1), b = random_seed(7, 1), c = random_seed(7, 2);
    int different = 0;

    for (int i = 0; i < 100; i++) {
        uint64_t bits = random_bits(&a);
        assert_true(bits == random_bits(&b));
        different += bits != random_bits(&c);
    }
    assert_true(different >= 99);
}

/* The first outputs for state 1234567, as published with the reference implementation. */
TEST(splitmix64_known_answers)
{
    static const uint64_t expected[] = { 6457827717110365317u, 3203168211198807973u,
                                         9817491932198370423u };
    struct random random = { 1234567 };

    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_true(random_bits(&random) == expected[i]);
}

TEST(below_is_uniform)
{
    struct random random = random_seed(1, 0);
    int counts[10] = { 0 };

    for (int i = 0; i < 100000; i++) counts[random_below(&random, 10)]++;
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) /* 5 sigma of a binomial: 475 */
        assert_in_range(counts[i], 9525, 10475);
}

TEST(normal_has_mean_0_and_variance_1)
{
    struct random random = random_seed(2, 0);
    double sum = 0, squares = 0;
    enum { COUNT = 100000 };

    for (int i = 0; i < COUNT; i++) {
        double x = random_normal(&random);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / COUNT) < 0.016);
    assert_true(fabs(squares / COUNT - 1) < 0.023);
}

TEST(shuffle_keeps_every_item)
{
    struct random random = random_seed(3, 0);
    uint32_t items[64];
    uint64_t seen = 0;

    for (uint32_t i = 0; i < 64; i++) items[i] = i;
    random_shuffle(&random, items, 64);
    for (uint32_t i = 0; i < 64; i++) seen |= UINT64_C(1) << items[i];
    assert_true(seen == UINT64_MAX);
    assert_false(items[0] == 0 && items[1] == 1 && items[2] == 2);
}
