/* The format that reads a file. */
#include "harness/desk/read/reader.h"
#include "tests/fixtures/cmocka_prelude.h"

static bool begins_as_a_database(const char *bytes, size_t count)
{
    return count >= 4 && memcmp(bytes, "BASE", 4) == 0;
}

static bool begins_as_a_list(const char *bytes, size_t count)
{
    return count >= 1 && bytes[0] == '[';
}

static const struct trace_format database = { .endings = { ".db", ".database" },
                                              .recognises = begins_as_a_database };
static const struct trace_format list = { .endings = { ".list" }, .recognises = begins_as_a_list };
static const struct trace_format *const formats[] = { &database, &list, NULL };

TEST(the_first_bytes_tell_the_format_then_the_ending)
{
    static const struct {
        const char *bytes, *path;
        const struct trace_format *format;
    } cases[] = {
        { "BASE 1", "a.db", &database },
        { "BASE 1", "a.list", &database },
        { "[1, 2]", "a.db", &list },
        { "[1, 2]", "/dev/stdin", &list },
        { "BAS", "a.db", &database },
        { "", "a.database", &database },
        { "", "a.list", &list },
        { "nonsense", "a.db", &database },
        { "nonsense", "/dev/stdin", &list },
        { "nonsense", "db", &list },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (format_of(formats, cases[i].bytes, strlen(cases[i].bytes), cases[i].path) !=
            cases[i].format)
            fail_msg("%s in %s", cases[i].bytes, cases[i].path);
}

TEST(every_ending_of_every_format_counts)
{
    char text[FORMAT_ENDINGS_TEXT];

    formats_endings(text, formats);
    assert_string_equal(text, ".db or .database or .list");
    assert_true(formats_have_ending(formats, "a.db"));
    assert_true(formats_have_ending(formats, "a.database"));
    assert_true(formats_have_ending(formats, "a.list"));
    assert_false(formats_have_ending(formats, "a.json"));
    assert_false(formats_have_ending(formats, ".list"));
}

TEST(each_format_is_found_by_its_endings)
{
    for (int i = 0; trace_formats[i] != NULL; i++) {
        const char *const *ending = trace_formats[i]->endings;
        assert_non_null(ending[0]);
        for (; *ending != NULL; ending++) {
            char name[64] = "a";
            strcat(name, *ending);
            assert_ptr_equal(format_of(trace_formats, "", 0, name), trace_formats[i]);
        }
    }
}

TEST(text_that_begins_as_json_is_recognised)
{
    static const struct {
        const char *text;
        bool is_json;
    } cases[] = {
        { "{", true },      { "[", true },  { " \n\t\r{\"a\"", true },
        { "", false },      { " ", false }, { "SQLite format 3", false },
        { "\"{\"", false },
    };
    const struct trace_format *json = format_of(trace_formats, "", 0, "a.json");

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (json->recognises(cases[i].text, strlen(cases[i].text)) != cases[i].is_json)
            fail_msg("%s", cases[i].text);
}
