/* Each rule has a lesson, and no lesson is left over from a rule that is gone. */
#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/lessons.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <ctype.h>
#include <string.h>

static void every_rule_has_a_lesson_in_lessons_c(void **state)
{
    struct finding_about about;
    int rules = 0, lessons = 0;
    (void)state;

    for (; findings_about(&about, rules); rules++)
        if (lesson_find(about.id) == NULL)
            fail_msg("harness/desk/diagnosis/lessons.c has no row for %s", about.id);
    while (lesson_at(lessons) != NULL) lessons++;
    assert_int_equal(lessons, rules);
}

/* It follows a word and another sentence may be put after it. */
static void check_text(const char *id, const char *text)
{
    size_t length = strlen(text);

    if (length < 5 || text[length - 1] == '.' || isspace((unsigned char)text[length - 1]) ||
        strstr(text, "  ") != NULL)
        fail_msg("%s: \"%s\"", id, text);
}

static void lessons_are_whole(void **state)
{
    (void)state;

    for (int i = 0; lesson_at(i) != NULL; i++) {
        const struct lesson *lesson = lesson_at(i);
        check_text(lesson->id, lesson->symptom);
        check_text(lesson->id, lesson->meaning);
        check_text(lesson->id, lesson->cost);
        assert_ptr_equal(lesson_find(lesson->id), lesson); /* no id comes twice */
    }
}

static void some_findings_cost_no_time(void **state)
{
    static const struct {
        const char *id;
        bool costs;
    } cases[] = { { "host_sync", true },
                  { "straggler", true },
                  { "memory_growth", false },
                  { "device_bound", false },
                  { "unread_device", false } };
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(lesson_costs_time(lesson_find(cases[i].id)), cases[i].costs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_has_a_lesson_in_lessons_c),
        cmocka_unit_test(lessons_are_whole),
        cmocka_unit_test(some_findings_cost_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
