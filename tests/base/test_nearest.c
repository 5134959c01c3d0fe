/* Misspelt names. */
#include "harness/base/status.h"
#include "harness/base/words/nearest.h"
#include "tests/fixtures/cmocka_prelude.h"

TEST(distances_of_known_pairs)
{
    static const struct {
        const char *a, *b;
        int distance;
    } cases[] = {
        { "", "", 0 },
        { "", "abc", 3 },
        { "workers", "workers", 0 },
        { "kitten", "sitting", 3 },
        { "wrokers", "workers", 1 },
        { "woker", "workers", 2 },
        { "loss-every", "loss_every", 0 },
        { "loss_every", "Loss-Every", 0 },
        { "a_b", "a+b", 1 },
        { "ca", "abc", 3 }, /* 2 where a piece may be edited twice */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(nearest_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(nearest_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

TEST(long_names_are_cut_not_overrun)
{
    char a[500], b[500];

    memset(a, 'a', sizeof a - 1);
    memset(b, 'b', sizeof b - 1);
    a[sizeof a - 1] = b[sizeof b - 1] = '\0';
    assert_int_equal(nearest_distance(a, b), 63);
    assert_int_equal(nearest_distance(a, ""), 63);
}

TEST(the_nearest_is_the_first_of_the_closest)
{
    static const char *const names[] = { "workers", "prefetch", "launch", "lunch" };

    assert_string_equal(nearest_name("wrokesr", names, 4), "workers");
    assert_string_equal(nearest_name("pre_fetch", names, 4), "prefetch");
    assert_string_equal(nearest_name("lanch", names, 4), "launch");
    assert_null(nearest_name("launch", names, 0));
}

TEST(what_is_far_from_all_is_near_to_none)
{
    static const char *const names[] = { "precision", "small_batch", "item_sync" };

    assert_null(nearest_name("nosuch", names, 3));
    assert_null(nearest_name("all", names, 3));
    assert_null(nearest_name("", names, 3));
    assert_string_equal(nearest_name("presisoin", names, 3), "precision"); /* 2 of 9 */
    assert_null(nearest_name("presxxon", names, 3));                       /* 3 of 8 */
}

TEST(a_part_of_one_name_means_that_name)
{
    static const char *const names[] = { "benchmark_filter", "benchmark_out", "benchmark_format" };

    assert_string_equal(nearest_name("filter", names, 3), "benchmark_filter");
    assert_null(nearest_name("out", names, 3));       /* three letters are part of much */
    assert_null(nearest_name("benchmark", names, 3)); /* of all three */
}

TEST(a_word_is_found_however_it_is_written)
{
    static const char names[] = "CUDA graphs, pin_memory, occupancy, synchronisation point";

    assert_true(names_have(names, "cuda_graph"));
    assert_true(names_have(names, "Pin-Memory"));
    assert_true(names_have(names, "synchronization points"));
    assert_false(names_have(names, "cuda"));
    assert_false(names_have(names, "graphs, pin_memory"));
    assert_false(names_have(names, ""));
    assert_false(names_have(names, "--"));
}

TEST(advice_is_the_nearest_or_a_short_list)
{
    static const char *const names[] = { "a1", "b2", "c3", "d4", "e5", "f6", "g7",
                                         "h8", "i9", "j0", "k1", "l2", "m3", "n4",
                                         "o5", "p6", "q7", "r8", "s9", "t0", "u1" };
    char text[NEAREST_ADVICE];

    nearest_advice(text, "lanch", (const char *[]){ "lunch", "launch" }, 2);
    assert_string_equal(text, "; did you mean lunch?");
    nearest_advice(text, "nosuch", names, 3);
    assert_string_equal(text, "; there are a1, b2 and c3");
    nearest_advice(text, "nosuch", names, 20);
    assert_non_null(strstr(text, "s9 and t0"));
    nearest_advice(text, "nosuch", names, 21);
    assert_string_equal(text, "");
}
