/* Items come into order whatever order they come in, and runs cost few comparisons. */
#include "harness/base/random.h"
#include "harness/base/sort.h"
#include "harness/base/status.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/test_seed.h"

#include <stdbool.h>

enum { ITEMS_MOST = 5000 };

struct item {
    int64_t key, place; /* `place`: as they came */
    char more[8];
};

static int64_t comparisons;

/* One in a few calls of sort.c gets no memory, and then it has to do without. */
static unsigned lack_each; /* 0: it always gets it */
static unsigned asked;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    return lack_each > 0 && asked++ % lack_each == 0 ? NULL : __real_malloc(bytes);
}

static int by_key(const void *left, const void *right)
{
    const struct item *a = left, *b = right;

    comparisons++;
    return (a->key > b->key) - (a->key < b->key);
}

/* `runs` rising runs of keys up to 1000, of random lengths. */
static void make(struct item *items, int64_t count, int64_t runs, struct random *random)
{
    int64_t key = 0, left = count;

    for (int64_t i = 0; i < count; i++, left--) {
        bool is_last = random_below(random, (uint32_t)left) < runs;
        items[i] = (struct item){ .key = key, .place = i };
        key = is_last ? 0 : key + random_below(random, 3);
        runs -= is_last;
    }
}

static void check(const struct item *items, int64_t count)
{
    int64_t places = 0;

    for (int64_t i = 0; i < count; i++) {
        assert_true(i == 0 || items[i - 1].key <= items[i].key);
        places += items[i].place;
    }
    assert_true(places == count * (count - 1) / 2);
}

TEST(items_are_sorted)
{
    static struct item items[ITEMS_MOST];
    struct random random = random_seed(test_seed(), 0);

    for (int round = 0; round < 500; round++) {
        int64_t count = random_below(&random, round % 10 == 0 ? ITEMS_MOST : 60);
        make(items, count, random_below(&random, (uint32_t)count + 1), &random);
        lack_each = (unsigned)round % 4;
        sort_items(items, count, sizeof *items, by_key);
        lack_each = 0;
        check(items, count);
    }
}

TEST(runs_are_merged_and_not_sorted)
{
    static const int64_t most[] = {
        1, 3, 4, 4, 5, 5, 5, 5
    }; /* per item: 2, and 1 for each doubling of the runs */
    static struct item items[ITEMS_MOST];

    for (size_t runs = 1; runs <= ARRAY_SIZE(most); runs++) {
        for (int64_t i = 0; i < ITEMS_MOST; i++)
            items[i] = (struct item){ .key = i % (ITEMS_MOST / (int64_t)runs), .place = i };
        comparisons = 0;
        sort_items(items, ITEMS_MOST, sizeof *items, by_key);
        check(items, ITEMS_MOST);
        assert_true(comparisons <= most[runs - 1] * ITEMS_MOST);
    }
}

/* Few and many, of one value, of all bits, and beside the ends of their type. */
TEST(numbers_are_sorted)
{
    static int64_t values[ITEMS_MOST], sums[2];
    struct random random = random_seed(test_seed(), 1);

    for (int round = 0; round < 400; round++) {
        int64_t count = random_below(&random, ITEMS_MOST);
        int bits = round % 65;
        sums[0] = sums[1] = 0;
        for (int64_t i = 0; i < count; i++) {
            uint64_t value = bits > 0 ? random_bits(&random) >> (64 - bits) : 0;
            values[i] = (int64_t)(value + (round % 2 == 0 ? (uint64_t)INT64_MIN : 0));
            sums[0] ^= values[i];
        }
        lack_each = (unsigned)round % 4;
        sort_int64(values, count);
        lack_each = 0;
        for (int64_t i = 0; i < count; i++) {
            assert_true(i == 0 || values[i - 1] <= values[i]);
            sums[1] ^= values[i];
        }
        assert_true(sums[0] == sums[1]);
    }
}
