/* Words for floats that are not finite, in text that is JSON otherwise. */
#include "harness/base/status.h"
#include "harness/base/words/json_words.h"
#include "tests/fixtures/cmocka_prelude.h"

TEST(words_outside_strings_become_empty_arrays)
{
    static const struct {
        const char *text, *blanked;
        size_t count;
    } cases[] = {
        { "[NaN]", "[[ ]]", 1 },
        { "[nan,inf,1]", "[[ ],[ ],1]", 2 },
        { "{\"a\":-Infinity}", "{\"a\":[       ]}", 1 },
        { "[+inf]", "[[  ]]", 1 },
        { "[-NaN]", "[[  ]]", 1 },
        { "[\"NaN\",NaN]", "[\"NaN\",[ ]]", 1 },
        { "[\"a \\\" NaN\",NaN]", "[\"a \\\" NaN\",[ ]]", 1 }, /* an escaped quote stays inside */
        { "[\"\\\\\",NaN,\"NaN\"]", "[\"\\\\\",[ ],\"NaN\"]", 1 }, /* an escaped \ does not */
        { "[-nan(ind),nan(0x7)]", "[[       ],[      ]]", 2 },     /* as Windows writes it */
        { "[nan(,nan(a b)]", "[[ ](,[ ](a b)]", 2 },
        { "[info,nano,inf1]", "[info,nano,inf1]", 0 },
        { "[null,true,-1]", "[null,true,-1]", 0 },
        { "NaN", "[ ]", 1 }, /* as the last word */
        { "", "", 0 },
    };
    char text[64];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        snprintf(text, sizeof text, "%s", cases[i].text);
        assert_int_equal(json_words_blank(text, strlen(text)), cases[i].count);
        assert_string_equal(text, cases[i].blanked);
    }
}

TEST(nothing_that_begins_at_the_length_is_changed)
{
    char text[] = "[NaN,NaN]";

    assert_int_equal(json_words_blank(text, 5), 1);
    assert_string_equal(text, "[[ ],NaN]");
}
