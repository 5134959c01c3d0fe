/* Texts that grow in a buffer of fixed size, with a byte behind it that must stay as it is. */
#include "harness/base/status.h"
#include "harness/base/words/text.h"
#include "tests/fixtures/cmocka_prelude.h"

enum { LONGEST = 64, GUARD = 0x5a };

TEST(parts_are_appended_until_the_buffer_is_full)
{
    static const struct {
        size_t size;
        const char *parts[3], *wanted;
        bool fits[3];
    } cases[] = {
        { 16, { "abc", "def", "" }, "abcdef", { true, true, true } },
        { 7, { "abc", "def", "" }, "abcdef", { true, true, true } }, /* full to the last byte */
        { 7, { "abc", "def", "g" }, "abc...", { true, true, false } },
        { 7, { "abcdefg", "h", "" }, "abc...", { false, false, false } },
        { 7, { "abcdefghijklmnopqrstuvwxyz", "h", "i" }, "abc...", { false, false, false } },
        { 9, { "and", " so on...", "x" }, "and s...", { true, false, false } },
        { 16, { "and so on...", "x", "y" }, "and so on...", { true, false, false } },
        { 17, { "and so on...", "x", "y" }, "and so on...xy", { true, true, true } },
        /* U+20AC has three bytes, U+1F600 four: none is cut, and nothing fits behind the mark */
        { 10, { "abc\xe2\x82\xac", "defg", "" }, "abc\xe2\x82\xac...", { true, false, false } },
        { 9, { "abc\xe2\x82\xac", "defg", "h" }, "abc...", { true, false, false } },
        { 8, { "abc\xe2\x82\xac", "defg", "h" }, "abc...", { true, false, false } },
        { 8, { "a\xf0\x9f\x98\x80", "defg", "h" }, "a...", { true, false, false } },
        { 8, { "a\xf0\x9f\x98\x80\xf0\x9f\x98\x80", "h", "" }, "a...", { false, false, false } },
        { 4, { "abcd", "e", "" }, "...", { false, false, false } },
        /* too small for the mark */
        { 3, { "\xe2\x82\xac", "a", "" }, "..", { false, false, true } },
        { 1, { "", "a", "" }, "", { true, false, true } },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *text = malloc(cases[i].size + 1);
        text[0] = '\0';
        text[cases[i].size] = GUARD;
        for (size_t part = 0; part < ARRAY_SIZE(cases[i].parts); part++)
            if (text_append(text, cases[i].size, "%s", cases[i].parts[part]) != cases[i].fits[part])
                fail_msg("case %zu: part %zu fits %d", i, part, !cases[i].fits[part]);
        if (strcmp(text, cases[i].wanted) != 0)
            fail_msg("case %zu: \"%s\", not \"%s\"", i, text, cases[i].wanted);
        assert_int_equal(text[cases[i].size], GUARD);
        free(text);
    }
}

TEST(a_text_that_no_buffer_has_room_for_is_not_begun)
{
    char text[LONGEST] = "abc";

    assert_false(text_append(text, 0, "d"));
    assert_false(text_append(text, 3, "d")); /* no end within the buffer */
    assert_string_equal(text, "abc");
    assert_false(text_append(text, sizeof text, "%ls", L"\xdc80")); /* printf itself fails */
    assert_string_equal(text, "abc...");
}

TEST(a_list_has_separators_between_its_items_only)
{
    char text[16] = "";

    assert_true(text_join(text, sizeof text, ", ", "%s", "one"));
    assert_string_equal(text, "one");
    assert_true(text_join(text, sizeof text, ", ", "%d", 2));
    assert_string_equal(text, "one, 2");
    assert_false(text_join(text, sizeof text, ", ", "%s", "three hundred"));
    assert_string_equal(text, "one, 2, thre...");
    assert_false(text_join(text, sizeof text, ", ", "%d", 4));
    assert_string_equal(text, "one, 2, thre...");
}

TEST(a_new_text_is_as_long_as_it_needs_to_be)
{
    char *text = NULL;

    assert_ok(text_make(&text, "%0*d", 1000, 7));
    assert_int_equal(strlen(text), 1000);
    assert_string_equal(text + 998, "07");
    free(text);
    assert_int_equal(text_make(&text, "%ls", L"\xdc80"),
                     STATUS_OUT_OF_MEMORY); /* printf itself fails */
    assert_null(text);
}

TEST(the_ending_follows_something)
{
    assert_true(ends_in("a.json.gz", ".json.gz"));
    assert_true(ends_in("a.json.gz", ".gz"));
    assert_false(ends_in("a.json.gz", ".json"));
    assert_false(ends_in(".json", ".json"));
    assert_false(ends_in("gz", ".json.gz"));
    assert_false(ends_in("", ".gz"));
}
