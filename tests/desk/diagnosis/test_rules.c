/* Each rule's row says all that is to be said of its finding. */
#include "harness/desk/diagnosis/rules/rules.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <ctype.h>
#include <string.h>

/* Letters, digits and underscores: it is typed after `explain`. */
static void every_rule_has_an_id_of_its_own(void **state)
{
    const struct rule *rule;
    int count = 0;
    (void)state;

    for (; (rule = rule_at(count)) != NULL; count++) {
        assert_ptr_equal(rule_find(rule->id), rule);
        assert_int_equal(strspn(rule->id, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                         strlen(rule->id));
    }
    assert_true(count > 40);
    assert_null(rule_find("host"));
}

/* The text follows a word, and another sentence may be put after it. */
static void check_text(const struct rule *rule, const char *member, const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;

    if (length < 5 || text[length - 1] == '.' || isspace((unsigned char)text[length - 1]) ||
        strstr(text, "  ") != NULL)
        fail_msg("%s: %s \"%s\"", rule->id, member, text != NULL ? text : "");
}

static void no_row_lacks_what_the_others_have(void **state)
{
    const struct rule *rule;
    (void)state;

    for (int i = 0; (rule = rule_at(i)) != NULL; i++) {
        check_text(rule, "title", rule->title);
        check_text(rule, "symptom", rule->symptom);
        check_text(rule, "meaning", rule->meaning);
        check_text(rule, "advice", rule->advice);
        check_text(rule, "cost", rule->cost);
        check_text(rule, "threshold", rule->threshold);
        assert_non_null(rule->judge);
        if (rule->site == SITE_UNDECIDED)
            fail_msg("%s: say where its cost comes from, or SITE_NONE and why", rule->id);
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
        assert_int_equal(rule_costs_time(rule_find(cases[i].id)), cases[i].costs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_has_an_id_of_its_own),
        cmocka_unit_test(no_row_lacks_what_the_others_have),
        cmocka_unit_test(some_findings_cost_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
