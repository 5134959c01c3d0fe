/* Quantities as people read them. */
#include "harness/base/figures/quantity.h"
#include "harness/base/status.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

TEST(quantities_have_three_digits_and_a_unit_of_their_size)
{
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {
        { 1420, "us", "1.42 ms" },
        { 999.96, "us", "1000 us" },
        { 2.5e6, "us", "2.50 s" },
        { 0.25, "us", "250 ns" },
        { 12.34, "us", "12.3 us" },
        { 0, "us", "0 us" },
        { 22544384, "B", "21.5 MiB" },
        { 512, "B", "512 B" },
        { 3 << 20, "B", "3.00 MiB" },
        { 1, "", "1.00" },
        { 0.05, "", "0.05" },
        { 0.001, "", "0.001" },
        { 0, "", "0" },
        { 5021.4, "/s", "5021 /s" },
        { 40.93e9, "B/s", "40.9 GB/s" },
        { 1.5e3, "B/s", "1.50 kB/s" },
        { 999.6e9, "B/s", "1.00 TB/s" },
        { 3.3501e12, "B/s", "3.35 TB/s" },
        { 12.5, "B/s", "12.5 B/s" },
        { 0, "B/s", "0 B/s" },
        { NAN, "B/s", "-" },
        { 212.4e9, "FLOP/s", "212 GFLOP/s" },
        { 3.494e9, "Hz", "3.49 GHz" },
        { NAN, "us", "-" },
        { INFINITY, "", "-" },
    };
    char text[QUANTITY_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        quantity_print(text, cases[i].value, cases[i].unit);
        assert_string_equal(text, cases[i].text);
    }
}

TEST(durations_and_factors)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {
        { 0.4, "0 s" }, { 41, "41 s" }, { 185, "3 min 05 s" }, { 7800, "2 h 10 min" }, { -1, "0 s" }
    };
    char text[QUANTITY_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        quantity_duration(text, cases[i].seconds);
        assert_string_equal(text, cases[i].text);
    }
    assert_string_equal(quantity_time(1.42e6).text, "1.42 ms");
    assert_string_equal(quantity_bytes(22544384).text, "21.5 MiB");
    quantity_factor(text, 1.394);
    assert_string_equal(text, "1.39x");
    quantity_factor(text, 1250.2);
    assert_string_equal(text, "1250x");
}
