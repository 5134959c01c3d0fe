/* Changes in words: the text agrees with the two values beside it, and the interval with the
 * text. */
#include "harness/base/figures/change_text.h"
#include "harness/base/status.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

TEST(changes_are_faster_or_slower_down_or_up_or_none)
{
    static const struct {
        struct change_figures change;
        const char *time, *amount, *interval;
    } cases[] = {
        { { 5.83, 3.18, 1.83, 1.7, 1.95, 0.96 }, "1.83x faster", "down 1.83x", "1.70 to 1.95" },
        { { 3.18, 3.85, 0.8264, 0.8, 0.85, 0.96 }, "1.21x slower", "up 1.21x", "1.18 to 1.25" },
        { { 1, 0.05, 20, 20, 20, 0.96 }, "20.0x faster", "down 20.0x", "exact" },
        { { 1, 0, INFINITY, INFINITY, INFINITY, 0.96 }, "none left", "none left", "" },
        { { 0, 1, 0, 0, 0, 0.96 }, "none before", "none before", "" },
        { { 5000, 5.1, 980, 970, 990, 0.96 }, "980x faster", "down 980x", "970 to 990" },
        { { 5000, 0.01, 5e5, 4e5, 6e5, 0.96 }, "almost none left", "almost none left", "" },
        { { 0.01, 5000, 2e-6, 1e-6, 3e-6, 0.96 }, "almost none before", "almost none before", "" },
        { { 5000, 0.01, 5e5, 0.9, 6e5, 0.96 }, "unclear", "unclear", "within 600000x" },
        { { 7, 7, 1, 1, 1, 0.96 }, "no change", "no change", "exact" },
        { { 0, 0, 1, 1, 1, 0.96 }, "no change", "no change", "exact" },
        { { NAN, NAN, NAN, NAN, NAN, NAN }, "not measured", "not measured", "" },
        /* The values go one way and the pairs the other, but the interval holds both. */
        { { 4.30, 4.23, 0.99, 0.935, 1.075, 0.96 }, "no change", "no change", "within 1.07x" },
        { { 2, 1.5, 1.4, 0.9, 2, 0.96 }, "unclear", "unclear", "within 2.00x" },
        { { 2, 2.1, 1.2, 1.1, 1.3, 0.96 }, "unclear", "unclear", "within 1.30x" },
        { { 2, 2.1, 1.02, 1.01, 1.03, 0.96 }, "no change", "no change", "within 1.03x" },
        { { 2, 1.996, 1.002, 1.001, 1.003, 0.96 }, "no change", "no change", "within 1.00x" },
        { { 2, 1.96, 1.02, 1.01, 1.03, 0.96 }, "1.02x faster", "down 1.02x", "1.01 to 1.03" },
        /* Too few pairs. */
        { { 3, 2, 1.5, 1.4, 1.6, 0.75 }, "1.50x faster", "down 1.50x", "all 1.40 to 1.60" },
        { { 3, 2, 1.5, 1.5, 1.5, 0 }, "1.50x faster", "down 1.50x", "one pair" },
        { { 2, 1.5, 1.4, 0.9, 2, 0.75 }, "unclear", "unclear", "all within 2.00x" },
        { { 2, 2.1, 1.02, 1.02, 1.02, 0 }, "no change", "no change", "one pair" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct change_text time = change_text(&cases[i].change, true);
        struct change_text amount = change_text(&cases[i].change, false);
        print_message("case %zu: %s, %s\n", i, time.effect, time.interval);
        assert_string_equal(time.effect, cases[i].time);
        assert_string_equal(amount.effect, cases[i].amount);
        assert_string_equal(time.interval, cases[i].interval);
        assert_string_equal(amount.interval, cases[i].interval);
    }
}

TEST(words_stand_around_the_factor_in_order)
{
    static const struct {
        bool is_time, shrinks;
        const char *bound, *factor, *words;
    } cases[] = {
        { true, true, "at least ", "1.15x", "at least 1.15x faster" },
        { true, false, "at most ", "1.4x", "at most 1.4x slower" },
        { false, true, "at least ", "10x", "down at least 10x" },
        { false, false, "", "2x to 4x", "up 2x to 4x" },
        { true, true, "", "", "faster" },
        { false, false, "", "", "up" },
    };
    char words[64];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        change_words(words, sizeof words, cases[i].is_time, cases[i].shrinks, cases[i].bound,
                     cases[i].factor);
        assert_string_equal(words, cases[i].words);
    }
}
