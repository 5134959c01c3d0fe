/* A scenario's traces beside the scenario: which findings count as right, and how a run reports
 * them. */
#include "harness/lab/experiment/parent/variant_diagnosis.h"
#include "harness/lab/result/result_findings.h"
#include "harness/lab/result/result_summary.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>
#include <unistd.h>

static const struct scenario scenario = {
    .name = "test",
    .knob = "loss_every",
    .before = "1",
    .after = "20",
    .accept = { { "host_sync", ANYWHERE }, { "fp32_matmul", WHERE_CUDA } },
    .tolerated_after = { { "data_loading", ANYWHERE } },
};

/* "host_sync! data_loading": an exclamation mark is major, none is minor, a question mark
 * information. */
static void put(struct variant_diagnosis *diagnosis, const char *words)
{
    static const char *const ids[] = { "host_sync", "data_loading", "fp32_matmul", "device_bound" };
    char copy[128], *word;

    *diagnosis = (struct variant_diagnosis){ .made = true };
    diagnosis->findings.items = calloc(4, sizeof *diagnosis->findings.items);
    assert_non_null(diagnosis->findings.items);
    snprintf(copy, sizeof copy, "%s", words);
    for (word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        struct finding *finding = &diagnosis->findings.items[diagnosis->findings.count++];
        *finding = (struct finding){ .lost_ns_per_step = 1e5,
                                     .predicted_gain = 1.4,
                                     .severity = strchr(word, '!') != NULL   ? SEVERITY_MAJOR
                                                 : strchr(word, '?') != NULL ? SEVERITY_INFORMATION
                                                                             : SEVERITY_MINOR };
        word[strcspn(word, "!?")] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
            if (strcmp(ids[i], word) == 0)
                finding->id = ids[i];
        assert_non_null(finding->id);
    }
}

static struct scenario_result result_with(const char *before, const char *after)
{
    struct scenario_result result = { .scenario = &scenario,
                                      .device = { .kind = "cpu", .shares_host_cores = true } };

    result.pairs = 1;
    for (int v = 0; v < VARIANT_COUNT; v++) {
        result.repetitions[v] = calloc(1, sizeof *result.repetitions[v]);
        assert_non_null(result.repetitions[v]);
    }
    result.step_time = (struct effect){ 1500, 1000, 1.5, 1.4, 1.6, 0.96 };
    put(&result.diagnoses[VARIANT_BEFORE], before);
    put(&result.diagnoses[VARIANT_AFTER], after);
    return result;
}

static void release(struct scenario_result *result)
{
    result->pairs = 0;
    scenario_result_release(result);
}

TEST(findings_are_right_or_wrong_by_the_scenario_and_its_device)
{
    static const struct {
        const char *before, *after;
        bool accepted_first, tolerated_after;
        const char *accepted;
    } cases[] = {
        { "host_sync!", "", true, true, "host_sync" },
        { "host_sync! data_loading!", "data_loading!", true, true, "host_sync" },
        { "data_loading! host_sync!", "host_sync!", false, false, "host_sync" },
        { "fp32_matmul!", "host_sync", false, true, NULL }, /* accepted on CUDA only; minor after */
        { "", "fp32_matmul!", false, false, NULL },
        { "device_bound?", "device_bound?", false, true, NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scenario_result result = result_with(cases[i].before, cases[i].after);
        const struct finding *accepted = variant_diagnosis_accepted(&result);
        assert_true(variant_diagnosis_complete(&result));
        assert_true(variant_diagnosis_expected(&result));
        assert_int_equal(variant_diagnosis_accepted_first(&result), cases[i].accepted_first);
        assert_int_equal(variant_diagnosis_tolerated_after(&result), cases[i].tolerated_after);
        assert_int_equal(accepted != NULL, cases[i].accepted != NULL);
        if (accepted != NULL)
            assert_string_equal(accepted->id, cases[i].accepted);
        release(&result);
    }
}

TEST(a_line_tells_the_first_finding_its_gains_and_what_is_left)
{
    static const char *const cases[][3] = {
        { "host_sync! data_loading!", "data_loading! host_sync",
          "diagnosis before the fix: host_sync (predicted gain 1.40x, measured 1.50x); left after "
          "the fix: data_loading (expected here), host_sync" },
        { "data_loading! host_sync!", "device_bound?",
          "diagnosis before the fix: data_loading (predicted gain 1.40x); left after the fix: "
          "nothing" },
        { "device_bound?", "", "diagnosis before the fix: nothing; left after the fix: nothing" },
    };
    char text[FINDINGS_LINE];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scenario_result result = result_with(cases[i][0], cases[i][1]);
        assert_true(result_findings_line(text, &result));
        assert_string_equal(text, cases[i][2]);
        release(&result);
    }
}

TEST(tables_have_the_line_on_the_console_and_in_markdown)
{
    struct scenario_result result = result_with("host_sync!", "data_loading!");
    char *text[2];
    size_t sizes[2];
    FILE *streams[] = { open_memstream(&text[0], &sizes[0]), open_memstream(&text[1], &sizes[1]) };
    struct page pages[2];

    assert_true(streams[0] != NULL && streams[1] != NULL);
    pages[0] = page_console(streams[0], COLOR_NEVER);
    pages[1] = page_markdown(streams[1]);
    for (int i = 0; i < 2; i++) run_table(&pages[i], &result, 1);
    for (int i = 0; i < 2; i++) fclose(streams[i]);
    assert_non_null(
        strstr(text[0],
               "\n  diagnosis before the fix: host_sync (predicted gain 1.40x, measured 1.50x);\n  "
               "left after the fix: data_loading (expected here)\n"));
    assert_non_null(strstr(
        text[1], "\ndiagnosis before the fix: host_sync (predicted gain 1.40x, measured 1.50x); "
                 "left after the fix: data_loading (expected here)\n"));
    for (int i = 0; i < 2; i++) free(text[i]);
    release(&result);
}

static cJSON *findings_of(const struct scenario_result *result)
{
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL), *parsed;
    char *text;

    result_findings_add(&json, root, result);
    assert_ok(json_print(&json, root, &text));
    parsed = cJSON_Parse(text);
    assert_non_null(parsed);
    free(text);
    cJSON_Delete(root);
    return parsed;
}

TEST(json_has_both_sides_and_how_they_agree)
{
    struct scenario_result result = result_with("data_loading! host_sync!", "data_loading!");
    cJSON *root = findings_of(&result);
    const cJSON *findings = cJSON_GetObjectItem(root, "findings");

    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(findings, "before")), 2);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(findings, "after")), 1);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(findings, "accepted_first")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(findings, "tolerated_after")));
    assert_float_equal(cJSON_GetObjectItem(findings, "predicted_gain")->valuedouble, 1.4, 0);
    assert_float_equal(cJSON_GetObjectItem(findings, "measured_gain")->valuedouble, 1.5, 0);
    assert_null(cJSON_GetObjectItem(findings, "reason"));
    cJSON_Delete(root);
    release(&result);
}

TEST(untraced_is_null_and_prints_nothing)
{
    struct scenario_result result = { .scenario = &scenario };
    char text[FINDINGS_LINE];
    cJSON *root = findings_of(&result);

    assert_true(cJSON_IsNull(cJSON_GetObjectItem(root, "findings")));
    assert_false(result_findings_line(text, &result));
    cJSON_Delete(root);
}

/* One trace is there and empty, the other is none. */
TEST(a_trace_that_cannot_be_read_costs_its_diagnosis_only)
{
    struct scenario_result result = { .scenario = &scenario, .verdict = VERDICT_REPRODUCED };
    char folder[] = "/tmp/test_variant_diagnosis.XXXXXX", path[64], text[FINDINGS_LINE];
    const cJSON *findings;
    cJSON *root;

    assert_non_null(mkdtemp(folder));
    result.protocol.traces = folder;
    for (int v = 0; v < VARIANT_COUNT; v++) {
        FILE *file;
        snprintf(result.tracing[v].file, sizeof result.tracing[v].file, "%d.json", v);
        snprintf(path, sizeof path, "%s/%d.json", folder, v);
        file = fopen(path, "w");
        assert_non_null(file);
        fputs(v == VARIANT_BEFORE ? "[]" : "nonsense", file);
        fclose(file);
    }
    variant_diagnosis_make(&result);
    assert_true(result.diagnoses[VARIANT_BEFORE].made);
    assert_false(result.diagnoses[VARIANT_AFTER].made);
    assert_false(variant_diagnosis_complete(&result));
    assert_int_equal(result.verdict, VERDICT_REPRODUCED);
    assert_true(result_findings_line(text, &result));
    assert_non_null(strstr(text, "not diagnosed: this is not a trace"));
    root = findings_of(&result);
    findings = cJSON_GetObjectItem(root, "findings");
    assert_true(cJSON_IsArray(cJSON_GetObjectItem(findings, "before")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(findings, "after")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(findings, "accepted_first")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(findings, "tolerated_after")));
    assert_true(cJSON_IsString(cJSON_GetObjectItem(findings, "reason")));
    cJSON_Delete(root);
    for (int v = 0; v < VARIANT_COUNT; v++) {
        snprintf(path, sizeof path, "%s/%d.json", folder, v);
        unlink(path);
    }
    rmdir(folder);
    release(&result);
}
