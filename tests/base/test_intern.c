/* Texts and their numbers. */
#include "harness/base/words/intern.h"
#include "tests/fixtures/cmocka_prelude.h"

enum { TEXTS = 3000 };

static uint32_t number_of(struct intern *intern, const char *text)
{
    uint32_t number = UINT32_MAX;

    assert_ok(intern_add(intern, text, strlen(text), &number));
    return number;
}

TEST(equal_texts_have_one_number_and_stay_where_they_are)
{
    struct intern *intern;
    const char *first = NULL;
    char text[32];

    assert_ok(intern_open(&intern, SIZE_MAX));
    assert_int_equal(intern_count(intern), 0);
    assert_int_equal(intern_find(intern, ""), -1);
    assert_string_equal(intern_text(intern, 0), "");
    assert_int_equal(number_of(intern, ""), 0);
    for (uint32_t i = 1; i < TEXTS; i++) {
        snprintf(text, sizeof text, "%*d", (int)(i % 20), (int)i);
        assert_int_equal(intern_find(intern, text), -1);
        assert_int_equal(number_of(intern, text), i);
        if (i == 1)
            first = intern_text(intern, 1);
    }
    assert_int_equal(intern_count(intern), TEXTS);
    assert_ptr_equal(intern_text(intern, 1), first);
    for (uint32_t i = 1; i < TEXTS; i++) {
        snprintf(text, sizeof text, "%*d", (int)(i % 20), (int)i);
        assert_string_equal(intern_text(intern, i), text);
        assert_int_equal(intern_find(intern, text), i);
        assert_int_equal(number_of(intern, text), i);
    }
    assert_string_equal(intern_text(intern, TEXTS), "");
    intern_close(intern);
}

TEST(texts_end_at_a_zero_byte_or_at_the_longest)
{
    struct intern *intern;
    uint32_t number;

    assert_ok(intern_open(&intern, 10));
    assert_ok(intern_add(intern, NULL, 0, &number));
    assert_int_equal(number, 0);
    assert_ok(intern_add(intern, "\0abc", 4, &number));
    assert_int_equal(number, 0);
    assert_ok(intern_add(intern, "abc\0def", 7, &number));
    assert_int_equal(number, 1);
    assert_ok(intern_add(intern, "abcdef", 3, &number));
    assert_int_equal(number, 1);
    assert_string_equal(intern_text(intern, 1), "abc");
    assert_int_equal(number_of(intern, "0123456789abc"), 2);
    assert_int_equal(number_of(intern, "0123456789"), 2);
    assert_int_equal(intern_find(intern, "0123456789xyz"), 2);
    assert_string_equal(intern_text(intern, 2), "0123456789");
    intern_close(intern);
}
