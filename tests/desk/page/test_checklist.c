/* The seven questions: a loop with each problem, and healthy ones. */
#include "harness/desk/diagnosis/checklist.h"
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/desk/diagnosis/made/made_loop.h"
#include "tests/fixtures/cmocka_prelude.h"

/* Its memory is half full. */
#define MEMORY .allocated_kib = 200000, .peak_kib = 600000

static struct checklist answers_of(const struct found *found)
{
    struct facts facts = facts_of(&found->summary, 1, 0);

    return checklist_of(&found->findings, &found->findings, &facts, 1);
}

static int number_of(const char *id)
{
    for (int i = 0; i < CHECKLIST_COUNT; i++)
        if (strcmp(checklist_questions[i].id, id) == 0)
            return i;
    fail_msg("there is no question %s", id);
    return -1;
}

/* --- The questions --- */

/* Those about the trace itself are for none, nor are those that name the one that sets the pace. */
TEST(every_rule_answers_one_question)
{
    const struct rule *rule;

    for (int i = 0; (rule = rule_at(i)) != NULL; i++) {
        int count = 0, wanted = 1;
        for (const struct rule *of = rules_of_trace; of->id != NULL; of++) wanted -= of == rule;
        wanted -= strcmp(rule->id, "device_bound") == 0 || strcmp(rule->id, "host_computes") == 0;
        for (int j = 0; j < CHECKLIST_COUNT; j++)
            count += checklist_asks(&checklist_questions[j], rule);
        if (count != wanted)
            fail_msg("%s answers %d questions", rule->id, count);
    }
}

TEST(questions_name_rules_that_there_are)
{
    for (int i = 0; i < CHECKLIST_COUNT; i++)
        for (size_t j = 0; j < ARRAY_SIZE(checklist_questions[i].findings); j++)
            if (checklist_questions[i].findings[j] != NULL)
                assert_non_null(rule_find(checklist_questions[i].findings[j]));
}

/* --- Answers --- */

TEST(a_healthy_loop_answers_yes)
{
    struct made_loop loop = { BUSY, MEMORY, .loading = 10 };
    struct found found = found_judge(&loop);
    struct checklist checklist = answers_of(&found);

    assert_true(found.findings.healthy[0] != '\0');
    for (int i = 0; i < CHECKLIST_COUNT; i++) {
        const struct checklist_row *row = &checklist.rows[i];
        if (row->answer != ANSWER_YES || row->finding != NULL)
            fail_msg("%s: %s, %s", checklist_questions[i].id, answer_name(row->answer),
                     row->figures);
        assert_true(row->figures[0] != '\0');
    }
}

/* A loop has that finding, and its question alone is answered with no, but for that of the idle
 * device. */
TEST(each_problem_answers_its_question)
{
    static const struct {
        const char *question, *finding;
        struct made_loop loop;
    } cases[] = {
        { "busy", "device_wait", { BUSY, .stall = 40 } },
        { "data", "data_loading", { BUSY, .loading = 1500 } },
        { "host", "host_sync", { BUSY, .pause = 800, .wait_every = 1 } },
        { "host", "host_work", { BUSY, .pause = 1500 } },
        { "host",
          "launch_bound",
          { .steps = 10, .launches = 50, .operator_time = 6, .call = 4, .kernel = 5 } },
        { "copies",
          "exposed_copy",
          { BUSY, .copies = 1, .copy = 300, .copy_call = 2, .copy_bytes = 1 << 20 } },
        { "compute", "fp32_matmul", { BUSY, .kernel_name = MATRIX_KERNEL } },
        { "compute",
          "optimizer_overhead",
          { BUSY, .optimizer_launches = 10, .optimizer_kernel = 40 } },
        { "memory", "activation_memory", { BUSY, .allocated_kib = 600000, .peak_kib = 980000 } },
        { "memory", "memory_headroom", { BUSY, .allocated_kib = 200000, .peak_kib = 300000 } },
        { "ranks", "exposed_communication", { BUSY, .communication = 300 } },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct found found = found_judge(&cases[i].loop);
        struct checklist checklist = answers_of(&found);
        int wanted = number_of(cases[i].question);
        const struct checklist_row *row = &checklist.rows[wanted];
        if (row->answer != ANSWER_NO || row->finding == NULL ||
            strcmp(row->finding->id, cases[i].finding) != 0)
            fail_msg("%s: %s, %s", cases[i].finding, answer_name(row->answer), row->figures);
        assert_string_equal(row->figures, row->finding->evidence);
        for (int j = 0; j < CHECKLIST_COUNT; j++)
            if (j != wanted && checklist.rows[j].answer == ANSWER_NO && j != number_of("busy"))
                fail_msg("%s: %s is no, too: %s", cases[i].finding, checklist_questions[j].id,
                         checklist.rows[j].figures);
    }
}

/* No rule says so between half of a step and 70%, but the device is not called healthy either. */
TEST(a_device_that_is_half_idle_is_not_busy)
{
    struct made_loop loop = { BUSY, .loading = 1600 };
    struct found found = found_judge(&loop);
    struct checklist checklist = answers_of(&found);
    const struct checklist_row *row = &checklist.rows[number_of("busy")];

    assert_null(found_find(&found, "low_utilisation"));
    assert_int_equal(row->answer, ANSWER_NO);
    assert_null(row->finding);
    assert_non_null(strstr(row->figures, "and 70% is good"));
}

/* Five events show no pattern, though the device is idle for most of them. */
TEST(a_handful_of_work_is_no_answer)
{
    struct made_loop loop = { .steps = 1, .launches = 5, .call = 2, .kernel = 5, .loading = 600 };
    struct found found = found_judge(&loop);
    struct checklist checklist = answers_of(&found);
    const struct checklist_row *row = &checklist.rows[number_of("busy")];

    assert_string_equal(row->finding->id, "low_utilisation");
    assert_int_equal(row->answer, ANSWER_UNKNOWN);
}

/* A finding that is only possible is no answer. */
TEST(a_guess_is_no_answer)
{
    struct made_loop loop = { BUSY, .kernel_name = "vectorized_elementwise_kernel" };
    struct found found = found_judge(&loop);
    struct checklist checklist = answers_of(&found);
    const struct checklist_row *row = &checklist.rows[number_of("compute")];

    assert_string_equal(row->finding->id, "unfused_ops");
    assert_int_equal(row->answer, ANSWER_UNKNOWN);
}

/* --- What a trace lacks --- */

static void check_unknown(const struct made_loop *loop, const char *question, const char *why)
{
    struct found found = found_judge(loop);
    struct checklist checklist = answers_of(&found);
    const struct checklist_row *row = &checklist.rows[number_of(question)];

    if (row->answer != ANSWER_UNKNOWN || strstr(row->figures, why) == NULL)
        fail_msg("%s: %s, %s", question, answer_name(row->answer), row->figures);
    assert_null(row->finding);
}

/* One long wait for data in four steps might be anything, so no rule names it. */
TEST(exposed_loading_is_not_called_ready)
{
    struct made_loop loop = {
        .steps = 4, .launches = 20, .call = 2, .kernel = 50, .slow_every = 4, .slow_loading = 8100
    };

    check_unknown(&loop, "data", "no rule finds a gain");
}

TEST(what_the_trace_lacks_is_said)
{
    struct made_loop few = { .steps = 1, .launches = 4, .call = 2, .kernel = 50, .loading = 600 };
    struct made_loop silent = { .steps = 10, .launches = 20, .kernel = 50, .no_calls = true };
    struct made_loop nameless = {
        .steps = 10, .launches = 20, .operator_time = 40, .call = 2, .kernel = 20
    };
    struct made_loop split = { BUSY, .about = "\"distributedInfo\":{\"rank\":0,\"world_size\":4}" };
    struct made_loop empty = { .steps = 10, .loading = 100 };

    check_unknown(&few, "copies", "too little work");
    check_unknown(&silent, "host", "calls are missing");
    check_unknown(&silent, "memory", "does not state");
    check_unknown(&nameless, "data", "named after loading");
    check_unknown(&split, "ranks", "no communication");
    for (int i = 0; i < CHECKLIST_COUNT; i++)
        check_unknown(&empty, checklist_questions[i].id, "no device work");
}

/* A host that computes itself waits for nobody, and copies nothing. */
TEST(a_host_alone_has_answers)
{
    struct made_loop loop = { .steps = 10, .alone = true, .launches = 20, .operator_time = 100 };
    struct found found = found_judge(&loop);
    struct checklist checklist = answers_of(&found);

    assert_true(found.summary.timeline.host_alone);
    for (int i = 0; i < CHECKLIST_COUNT; i++)
        if (i != number_of("memory"))
            assert_int_equal(checklist.rows[i].answer, ANSWER_YES);
}
