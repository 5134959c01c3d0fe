/* Both searches find what a walk finds, wherever the second one begins. */
#include "harness/base/bisect.h"
#include "tests/fixtures/cmocka_prelude.h"

enum { MOST = 40 };

/* The first item that is not less; `count`: there is none. */
static int64_t walk(const int *items, int64_t count, int value)
{
    int64_t at = 0;

    while (at < count && items[at] < value) at++;
    return at;
}

TEST(searches_find_what_a_walk_finds)
{
    int items[MOST];

    for (int64_t count = 0; count <= MOST; count++) {
        for (int64_t i = 0; i < count; i++) items[i] = (int)(i - i % 3); /* some are alike */
        for (int value = -1; value <= MOST + 1; value++) {
            int64_t low = 0, high = count, found = walk(items, count, value);
            BISECT(low, high, i, items[i] < value);
            assert_int_equal(low, found);
            assert_int_equal(high, found);
            for (int64_t near = -2; near <= MOST + 2; near++) {
                low = 0;
                high = count;
                BISECT_NEAR(low, high, near, i, items[i] < value);
                assert_int_equal(low, found);
                assert_int_equal(high, found);
            }
        }
    }
}

TEST(a_search_that_begins_near_looks_at_few)
{
    enum { COUNT = 1 << 20 };

    for (int64_t found = 8; found < COUNT; found += 997) {
        int64_t low = 0, high = COUNT, looks = 0;
        BISECT_NEAR(low, high, found - 3, i, (looks++, i < found));
        assert_int_equal(low, found);
        assert_true(looks <= 6);
    }
}
