/* One list of members writes a struct and reads it: what comes back is what went in, and what does
 * not fit is refused by name. */
#include "harness/text/members.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

enum color { RED, GREEN, BLUE };

static const char *color_name(enum color color)
{
    static const char *const names[] = { "red", "green", "blue" };

    return names[color];
}

struct part {
    int64_t at;
};

struct whole {
    bool is_on;
    int64_t any, count, unstated, four[4];
    int level;
    double number, third, known, two[2];
    char text[8], empty[8];
    const char *string, *none;
    enum color color, second;
    int64_t text_count, part_count;
    const char *const *texts;
    struct part *parts, inner;
    bool has_inner, has_other;
    struct part other;
};

static void part_members(struct members *members, void *object)
{
    struct part *part = object;

    member_any(members, "at", &part->at);
}

static void whole_members(struct members *members, void *object)
{
    struct whole *whole = object;

    member_bool(members, "is_on", &whole->is_on);
    member_any(members, "any", &whole->any);
    member_count(members, "count", &whole->count);
    member_integers(members, "four", whole->four, 4);
    member_int(members, "level", &whole->level, -3, 3);
    member_number(members, "number", &whole->number);
    member_number(members, "third", &whole->third);
    member_known_number(members, "known", &whole->known);
    member_text(members, "text", whole->text, sizeof whole->text);
    member_text_or_null(members, "empty", whole->empty, sizeof whole->empty);
    member_count_or_null(members, "unstated", &whole->unstated);
    member_string(members, "string", &whole->string);
    member_string(members, "none", &whole->none);
    MEMBER_WORD(members, "color", &whole->color, enum color, BLUE + 1, color_name);
    MEMBER_ENUM(members, "second", &whole->second, enum color, BLUE + 1);
    member_strings(members, "texts", &whole->texts, &whole->text_count, 10);
    member_numbers(members, "two", whole->two, 2);
    MEMBER_ROWS(members, "parts", &whole->parts, &whole->part_count, 10, part_members);
    member_known_object(members, "inner", part_members, &whole->inner, &whole->has_inner);
    member_known_object(members, "other", part_members, &whole->other, &whole->has_other);
}

static const char *const texts[] = { "a", "b" };
static const struct part parts[] = { { 1 }, { -2 } };

static const struct whole example = {
    .is_on = true,
    .any = -5,
    .count = 7,
    .unstated = -1,
    .four = { 1, 2, 3, -4 },
    .level = -3,
    .number = NAN,
    .third = 1.0 / 3,
    .known = NAN,
    .two = { 1, 0.5 },
    .text = "seven77",
    .string = "s",
    .color = GREEN,
    .second = BLUE,
    .text_count = 2,
    .part_count = 2,
    .texts = texts,
    .parts = (struct part *)(uintptr_t)parts,
    .inner = { 9 },
    .has_inner = true,
};

static char *written(bool is_exact, const struct whole *whole)
{
    struct json json = { .out_of_memory = false };
    cJSON *root = json_object(&json, NULL, NULL);
    struct members members = { .is_exact = is_exact,
                               .json = &json,
                               .object = json_object(&json, root, "whole") };
    char *text;

    whole_members(&members, (void *)(uintptr_t)whole);
    text = cJSON_PrintUnformatted(root);
    assert_false(json.out_of_memory);
    cJSON_Delete(root);
    return text;
}

static const char AS_DOCUMENT[] =
    "{\"whole\":{\"is_on\":true,\"any\":-5,\"count\":7,\"four\":[1,2,3,-4],\"level\":-3,"
    "\"number\":null,\"third\":0.33333333333333331,"
    "\"text\":\"seven77\",\"empty\":null,\"unstated\":null,\"string\":\"s\",\"none\":null,"
    "\"color\":\"green\",\"second\":2,"
    "\"texts\":[\"a\",\"b\"],\"two\":[1,0.5],\"parts\":[{\"at\":1},{\"at\":-2}],"
    "\"inner\":{\"at\":9},\"other\":null}}";

TEST(a_document_has_the_numbers_of_cjson)
{
    char *text = written(false, &example);
    struct json json = { .out_of_memory = false };
    cJSON *root = json_object(&json, NULL, NULL);
    char *other;

    assert_string_equal(text, AS_DOCUMENT);
    members_write(&json, json_object(&json, root, "whole"), whole_members, &example);
    other = cJSON_PrintUnformatted(root);
    assert_string_equal(other, AS_DOCUMENT);
    free(other);
    free(text);
    cJSON_Delete(root);
}

/* Reads the object `whole` of a text; the fault, "" for none. */
static struct whole read_whole(struct arena *arena, const char *text, bool is_lenient, char *fault)
{
    cJSON *root = cJSON_Parse(text);
    struct whole whole = { .level = 1 };
    struct members members = { .reading = true,
                               .is_lenient = is_lenient,
                               .object = cJSON_GetObjectItemCaseSensitive(root, "whole"),
                               .arena = arena };

    assert_non_null(root);
    whole_members(&members, &whole);
    strcpy(fault, members.fault);
    cJSON_Delete(root);
    return whole;
}

TEST(what_is_written_exactly_comes_back)
{
    char *text = written(true, &example), fault[120];
    struct arena *arena = arena_open();
    struct whole back = read_whole(arena, text, false, fault);

    assert_string_equal(fault, "");
    assert_true(back.is_on);
    assert_int_equal(back.any, -5);
    assert_int_equal(back.count, 7);
    assert_memory_equal(back.four, example.four, sizeof back.four);
    assert_int_equal(back.level, -3);
    assert_true(isnan(back.number));
    assert_true(back.third == 1.0 / 3);
    assert_true(isnan(back.known));
    assert_string_equal(back.text, "seven77");
    assert_string_equal(back.empty, "");
    assert_int_equal(back.unstated, -1);
    assert_string_equal(back.string, "s");
    assert_null(back.none);
    assert_int_equal(back.color, GREEN);
    assert_int_equal(back.second, BLUE);
    assert_int_equal(back.text_count, 2);
    assert_string_equal(back.texts[1], "b");
    assert_true(back.two[1] == 0.5);
    assert_int_equal(back.part_count, 2);
    assert_int_equal(back.parts[1].at, -2);
    assert_true(back.has_inner);
    assert_int_equal(back.inner.at, 9);
    assert_false(back.has_other);
    arena_close(arena);
    free(text);
}

/* The text with one piece replaced by another. */
static void replace(char *to, size_t size, const char *from, const char *piece, const char *by)
{
    const char *at = strstr(from, piece);

    assert_non_null(at);
    snprintf(to, size, "%.*s%s%s", (int)(at - from), from, by, at + strlen(piece));
}

TEST(each_fault_is_named)
{
    static const struct {
        const char *piece, *by, *fault;
    } rows[] = {
        { "\"is_on\":true", "\"is_on\":1", "its member is_on is neither true nor false" },
        { "\"is_on\":true,", "", "its member is_on is missing" },
        { "\"any\":-5", "\"any\":-5.5", "its member any is no whole number" },
        { "\"any\":-5", "\"any\":\"5x\"", "its member any is no whole number" },
        { "\"count\":7", "\"count\":-1", "its member count is out of its range" },
        { "[1,2,3,-4]", "[1,2,3]", "its member four is no array of its length" },
        { "[1,2,3,-4]", "[1,2,3,[]]", "its member four has what is no whole number" },
        { "\"level\":-3", "\"level\":4", "its member level is out of its range" },
        { "\"number\":null", "\"number\":\"1\"", "its member number is no number" },
        { "\"number\":null", "\"number\":1e999", "its member number is no number" },
        { "seven77", "seven777", "its member text is too long a text" },
        { "\"empty\":null", "\"empty\":1", "its member empty is no text" },
        { "\"unstated\":null", "\"unstated\":-1", "its member unstated is out of its range" },
        { "\"string\":\"s\"", "\"string\":1", "its member string is no text" },
        { "\"green\"", "\"grey\"", "its member color is none of its words" },
        { "\"second\":2", "\"second\":3", "its member second is out of its range" },
        { "[\"a\",\"b\"]", "[\"a\",2]", "its member texts has what is no text" },
        { "[\"a\",\"b\"]", "[1,2,3,4,5,6,7,8,9,10,11]",
          "its member texts is no array, or too long" },
        { "[1,0.5]", "[1,true]", "its member two has what is no number" },
        { "[{\"at\":1}", "[{}", "its member at is missing" },
        { "{\"at\":9}", "[]", "its member inner is missing, or no object" },
    };
    char *text = written(true, &example), changed[1000], fault[120];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena *arena = arena_open();
        replace(changed, sizeof changed, text, rows[i].piece, rows[i].by);
        read_whole(arena, changed, false, fault);
        assert_string_equal(fault, rows[i].fault);
        read_whole(arena, changed, true, fault);
        assert_string_equal(fault, "");
        arena_close(arena);
    }
    free(text);
}

TEST(lenient_reading_leaves_what_is_missing_as_it_was)
{
    struct arena *arena = arena_open();
    char fault[120];
    struct whole whole =
        read_whole(arena, "{\"whole\":{\"count\":-1,\"string\":3,\"parts\":7}}", true, fault);
    struct part part = { 5 };

    assert_int_equal(whole.level, 1);
    assert_int_equal(whole.count, 0);
    assert_true(isnan(whole.number) && isnan(whole.known));
    assert_null(whole.string);
    assert_int_equal(whole.text_count, 0);
    assert_int_equal(whole.part_count, 0);
    assert_false(whole.has_inner);
    assert_false(members_read(NULL, NULL, part_members, &part));
    members_read_leniently(NULL, NULL, part_members, &part);
    assert_int_equal(part.at, 5);
    arena_close(arena);
}
