/* Tokens of JSON text: what passes, where it ends, and what does not. */
#include "harness/base/status.h"
#include "harness/desk/read/kineto/json_scan.h"
#include "tests/fixtures/cmocka_prelude.h"

/* The text with the zeros that have to follow it; lives until the next call. */
static const char *padded(const char *text)
{
    static char copy[4096];

    memset(copy, 0, sizeof copy);
    memcpy(copy, text, strlen(text));
    return copy;
}

/* How much of the text is a value; -1: it is none. */
static int value_length(const char *text)
{
    const char *from = padded(text), *end = json_scan_value(from, 0);

    return end != NULL ? (int)(end - from) : -1;
}

TEST(values_end_where_they_do)
{
    static const struct {
        const char *value, *rest;
    } cases[] = {
        { "1", "," },
        { "-0.5e+10", " " },
        { "1E-2", "]" },
        { "0", "" },
        { "0", "1" }, /* what follows is the caller's to refuse */
        { "true", "}" },
        { "null", "" },
        { "\"\"", "x" },
        { "\"a\\\"b\\\\\"", " " },
        { "\"0123456789abcdef\\u00e9\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "]" },
        { "[]", "" },
        { "[ 1 , [2,{ } ] ,\"]\"]", "x" },
        { "{\"a\" : {\"b\":[null]} , \"c\":false}", "" },
        { "NaN", "," },
        { "[-Infinity,nan]", "" },
    };
    char text[128];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        snprintf(text, sizeof text, "%s%s", cases[i].value, cases[i].rest);
        if (value_length(text) != (int)strlen(cases[i].value))
            fail_msg("%s: %d", text, value_length(text));
    }
}

TEST(what_is_no_json_is_refused)
{
    static const char *const texts[] = {
        "",         "-",         "+1",         ".5",         "1.",
        "1e",       "1e+",       "tru",        "nul",        "x",
        "\"",       "\"a",       "\"a\nb\"",   "\"\t\"",     "\"\\",
        "\"\xff\"", "\"\xc3(\"", "\"\xe2\x82", "[",          "[1",
        "[1,",      "[1,]",      "[,1]",       "[1 2]",      "{",
        "{\"a\"",   "{\"a\":",   "{\"a\":1",   "{\"a\":1,}", "{\"a\" 1}",
        "{1:2}",    "{\"a\":1]", "[1}",        "nano",       "\"\xed\xa0\x80\"",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (value_length(texts[i]) != -1)
            fail_msg("%s: %d", texts[i], value_length(texts[i]));
}

/* The byte that ends the plain part of a string is found wherever it is. */
TEST(strings_of_any_length_end_at_their_quote)
{
    char text[128];

    for (int length = 0; length < 100; length++) {
        memset(text, 'a', sizeof text);
        text[0] = text[length + 1] = '"';
        text[length + 2] = '\0';
        assert_int_equal(value_length(text), length + 2);
        text[length + 1] = '\x1f';
        assert_int_equal(value_length(text), -1);
    }
}

TEST(brackets_nest_as_deep_as_allowed)
{
    char text[256];

    for (int depth = JSON_SCAN_DEPTH - 1; depth <= JSON_SCAN_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = '\0';
        assert_int_equal(value_length(text), depth <= JSON_SCAN_DEPTH ? 2 * depth : -1);
    }
}

TEST(escapes_become_utf8)
{
    static const struct {
        const char *text, *meant;
    } cases[] = {
        { "a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz" },
        { "\\u0041\\u00e9\\u20ac\\uFFFD\"", "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbd" },
        { "\\ud83d\\ude00\\uDBFF\\udfff\"", "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf" },
        { "\xc3\xa9\\n\"", "\xc3\xa9\n" },
        /* Paths of Windows, as Kineto wrote them, and halves of characters: the backslash stands
           for itself. */
        { "C:\\Users\\x\\u12g4\"", "C:\\Users\\x\\u12g4" },
        { "\\ud83d \\ud83d\\u0041 \\ude00\"", "\\ud83d \\ud83dA \\ude00" },
    };
    char text[64];
    bool escaped;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t length = json_scan_unescape(padded(cases[i].text), text);
        assert_int_equal(length, strlen(cases[i].meant));
        assert_memory_equal(text, cases[i].meant, length);
        assert_non_null(json_scan_string(padded(cases[i].text), &escaped));
        assert_true(escaped);
    }
}
