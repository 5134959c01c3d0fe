/* Characters at the edges of each form of UTF-8. */
#include "harness/base/status.h"
#include "harness/base/words/utf8.h"
#include "tests/fixtures/cmocka_prelude.h"

TEST(characters_have_their_length_and_other_bytes_none)
{
    static const struct {
        const char *text;
        size_t bytes;
    } cases[] = {
        { "a", 1 },
        { "", 1 }, /* U+0000 */
        { "\x7f", 1 },
        { "\x80", 0 },     /* a byte that only continues */
        { "\xc1\xbf", 0 }, /* U+007F, overlong */
        { "\xc2\x80", 2 }, /* U+0080 */
        { "\xdf\xbf", 2 }, /* U+07FF */
        { "\xc2", 0 },     /* cut short */
        { "\xc2x", 0 },
        { "\xe0\x9f\xbf", 0 },  /* U+07FF, overlong */
        { "\xe0\xa0\x80", 3 },  /* U+0800 */
        { "\xe2\x82\xac!", 3 }, /* U+20AC */
        { "\xe2\x82", 0 },
        { "\xe2\x82x", 0 },
        { "\xe2\x82\xc0", 0 },
        { "\xed\x9f\xbf", 3 }, /* U+D7FF */
        { "\xed\xa0\x80", 0 }, /* U+D800, a surrogate */
        { "\xee\x80\x80", 3 }, /* U+E000 */
        { UTF8_REPLACEMENT, 3 },
        { "\xf0\x8f\xbf\xbf", 0 }, /* U+FFFF, overlong */
        { "\xf0\x90\x80\x80", 4 }, /* U+10000 */
        { "\xf0\x9f\x98\x80", 4 }, /* U+1F600 */
        { "\xf0\x9f\x98", 0 },
        { "\xf4\x8f\xbf\xbf", 4 }, /* U+10FFFF */
        { "\xf4\x90\x80\x80", 0 }, /* U+110000 */
        { "\xf5\x80\x80\x80", 0 },
        { "\xff", 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (utf8_bytes(cases[i].text) != cases[i].bytes)
            fail_msg("case %zu: %zu bytes, not %zu", i, utf8_bytes(cases[i].text), cases[i].bytes);
}

TEST(a_cut_leaves_no_half_character)
{
    static const char text[] = "ab\xe2\x82\xac!";
    static const size_t wanted[] = { 0, 1, 2, 2, 2, 5, 6, 6 };

    for (size_t most = 0; most < ARRAY_SIZE(wanted); most++)
        assert_int_equal(utf8_cut(text, most), wanted[most]);
    assert_int_equal(utf8_cut("\x80\x80", 1), 0); /* no text at all */
}

TEST(controls_of_terminals_and_of_direction_are_found)
{
    static const struct {
        const char *text;
        size_t bytes;
    } cases[] = {
        { "", 0 },
        { "a", 0 },
        { "\x1b[2J", 1 },
        { "\x7f", 1 },
        { "\xc2\x9b"
          "2J",
          2 }, /* U+009B, CSI in one character */
        { "\xc2\xa0", 0 },
        { "\xd8\x9c", 2 },
        { "\xd8\x9d", 0 },
        { "\xe2\x80\x8d", 0 }, /* U+200D joins emoji */
        { "\xe2\x80\x8e", 3 },
        { "\xe2\x80\xa9", 0 },
        { "\xe2\x80\xae"
          "gnp",
          3 },
        { "\xe2\x80\xaf", 0 },
        { "\xe2\x81\xa5", 0 },
        { "\xe2\x81\xa9", 3 },
        { "\xe2\x81\xaa", 0 },
        { "\xe2\x80", 0 }, /* cut */
        { "\xe2", 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (utf8_control_bytes(cases[i].text) != cases[i].bytes)
            fail_msg("case %zu: %zu bytes, not %zu", i, utf8_control_bytes(cases[i].text),
                     cases[i].bytes);
}

TEST(names_are_shown_without_what_a_terminal_obeys)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        { "", "" },
        { "plain \xc3\xa9 \xf0\x9f\x98\x80", "plain \xc3\xa9 \xf0\x9f\x98\x80" },
        { "a\x1b]0;X\x07\x1b[31mx", "a?]0;X??[31mx" },
        { "one\nchokepoint: two\r\t", "one?chokepoint: two??" },
        { "\xe2\x80\xae"
          "cod.exe",
          "?cod.exe" }, /* right to left */
        { "\xc2\x9b"
          "31m",
          "?31m" }, /* the control sequence introducer in one character */
        { "\x9b"
          "31m \xe2\x82",
          "?31m ??" }, /* and in one byte; half a character */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", cases[i].text);
        utf8_show(text);
        assert_string_equal(text, cases[i].shown);
    }
}
