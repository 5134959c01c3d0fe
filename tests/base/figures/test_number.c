/* Numbers as users type them. */
#include "harness/base/figures/number.h"
#include "tests/fixtures/cmocka_prelude.h"

TEST(whole_numbers_within_their_limits)
{
    static const struct {
        const char *text;
        enum status status;
        int64_t number; /* where OK */
    } cases[] = {
        { "7", STATUS_OK, 7 },
        { "-2", STATUS_OK, -2 },
        { "10", STATUS_OK, 10 },
        { "-3", STATUS_BAD_USAGE, 0 },
        { "11", STATUS_BAD_USAGE, 0 },
        { "", STATUS_BAD_USAGE, 0 },
        { "7x", STATUS_BAD_USAGE, 0 },
        { "7.0", STATUS_BAD_USAGE, 0 },
        { "99999999999999999999", STATUS_BAD_USAGE, 0 },
    };
    int64_t number;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(number_integer(&number, "steps", cases[i].text, -2, 10), cases[i].status);
        if (cases[i].status == STATUS_OK)
            assert_int_equal(number, cases[i].number);
    }
    assert_string_equal(status_last()->text,
                        "--steps=99999999999999999999: give a whole number from -2 to 10");
    assert_int_equal(number_integer(&number, "steps", "0", 1, INT64_MAX), STATUS_BAD_USAGE);
    assert_string_equal(status_last()->text, "--steps=0: give a whole number, 1 or more");
    assert_int_equal(number_integer(&number, "steps", "9223372036854775808", 1, INT64_MAX),
                     STATUS_BAD_USAGE);
}

TEST(unsigned_numbers_use_all_their_bits)
{
    static const char *const wrong[] = { "18446744073709551616", "-1", "+1", " 1", "", "1 " };
    uint64_t number;

    assert_ok(number_unsigned(&number, "seed", "18446744073709551615"));
    assert_true(number == UINT64_MAX);
    assert_ok(number_unsigned(&number, "seed", "0"));
    assert_true(number == 0);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(number_unsigned(&number, "seed", wrong[i]), STATUS_BAD_USAGE);
}

TEST(bytes_are_in_powers_of_1024)
{
    static const struct {
        const char *text;
        int64_t bytes; /* 0: not a size */
    } cases[] = {
        { "1", 1 },
        { "512B", 512 },
        { "48K", 48 << 10 },
        { "48kib", 48 << 10 },
        { "512MiB", 512 << 20 },
        { "3M", 3 << 20 },
        { "2GB", (int64_t)2 << 30 },
        { "1.5G", (int64_t)3 << 29 },
        { "1.9B", 1 },
        { "3T", (int64_t)3 << 40 },
        { "9223372036854775807", INT64_MAX },
        { "9223372036854775808", 0 },
        { "8388608T", 0 },
        { "0", 0 },
        { "0.5B", 0 },
        { "-1", 0 },
        { "1e3", 0 },
        { "0x10", 0 },
        { "1..5G", 0 },
        { "1 G", 0 },
        { "G", 0 },
        { "", 0 },
        { "1P", 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t bytes = 0;

        if (number_read_bytes(cases[i].text, &bytes) != (cases[i].bytes != 0) ||
            bytes != cases[i].bytes)
            fail_msg("\"%s\" was read as %lld", cases[i].text, (long long)bytes);
        assert_int_equal(number_bytes(&bytes, "size", cases[i].text),
                         cases[i].bytes != 0 ? STATUS_OK : STATUS_BAD_USAGE);
    }
    assert_string_equal(status_last()->text, "--size=1P: give bytes above 0, as in 512MiB or 2G");
}

TEST(seconds_above_zero)
{
    static const char *const wrong[] = { "0", "-1", "60.5", "nan", "inf", "1s", "", "1e999" };
    double seconds;

    assert_ok(number_seconds(&seconds, "time", "0.25", 60));
    assert_true(seconds == 0.25);
    assert_ok(number_seconds(&seconds, "time", "60", 60));
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(number_seconds(&seconds, "time", wrong[i], 60), STATUS_BAD_USAGE);
    assert_string_equal(status_last()->text, "--time=1e999: give seconds above 0, at most 60");
}

TEST(durations_have_a_unit)
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {
        { "90s", 90 },  { "10m", 600 }, { "1h", 3600 }, { "1.5h", 5400 }, { "0.5s", 0.5 },
        { "2h", 7200 }, { "0s", 0 },    { "121m", 0 },  { "90", 0 },      { "-1s", 0 },
        { "s", 0 },     { "", 0 },      { "1d", 0 },    { "1s ", 0 },     { "nans", 0 },
        { "1ms", 0 },   { " 1s", 0 },   { "infh", 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        double seconds;
        assert_int_equal(number_duration(&seconds, "soak", cases[i].text, 7200),
                         cases[i].seconds > 0 ? STATUS_OK : STATUS_BAD_USAGE);
        if (cases[i].seconds > 0)
            assert_true(seconds == cases[i].seconds);
    }
    assert_string_equal(status_last()->text,
                        "--soak=infh: give a duration, as in 90s, 10m or 1h, at most 2h");
}
