/* Each rule's row says all that is to be said of its finding. */
#include "harness/desk/diagnosis/rules/rules.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <ctype.h>

/* Letters, digits and underscores: it is typed after `explain`. */
TEST(every_rule_has_an_id_of_its_own)
{
    const struct rule *rule;
    int count = 0;

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

TEST(no_row_lacks_what_the_others_have)
{
    const struct rule *rule;

    for (int i = 0; (rule = rule_at(i)) != NULL; i++) {
        check_text(rule, "title", rule->title);
        check_text(rule, "also", rule->also);
        check_text(rule, "symptom", rule->symptom);
        check_text(rule, "meaning", rule->meaning);
        check_text(rule, "advice", rule->advice);
        check_text(rule, "cost", rule->cost);
        check_text(rule, "threshold", rule->threshold);
        if (rule->site == SITE_UNDECIDED)
            fail_msg("%s: say where its cost comes from, or SITE_NONE and why", rule->id);
    }
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The engine goes by the members of a rule; its texts must say the same. */
TEST(texts_agree_with_what_a_rule_does)
{
    const struct rule *rule;

    for (int i = 0; (rule = rule_at(i)) != NULL; i++) {
        bool says_none = begins(rule->cost, "no time") || begins(rule->cost, "none") ||
                         begins(rule->cost, "unknown");
        if (says_none != rule->costs_no_time)
            fail_msg("%s costs \"%s\"", rule->id, rule->cost);
        if (rule->shortens_work && rule->costs_no_time)
            fail_msg("%s costs no time, though its advice makes work shorter", rule->id);
    }
    assert_false(rule_find("host_sync")->costs_no_time);
    assert_true(rule_find("memory_growth")->costs_no_time);
}

/* A copy of a few bytes less, or none, is less work of the device. */
TEST(copies_and_saving_are_work_of_the_device)
{
    static const enum finding_site sites[] = { SITE_COPIES, SITE_PAGEABLE_COPIES,
                                               SITE_DEVICE_COPIES, SITE_SAVING };
    const struct rule *rule;

    for (int i = 0; (rule = rule_at(i)) != NULL; i++) {
        bool copies = false;
        for (size_t j = 0; j < ARRAY_SIZE(sites); j++) copies = copies || rule->site == sites[j];
        if (rule->shortens_work != copies)
            fail_msg("%s: shortens_work", rule->id);
    }
}
