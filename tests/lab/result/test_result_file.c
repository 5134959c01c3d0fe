/* result.json: Google Benchmark's members, what is left out, and that there is a whole file at
 * every moment. With --write DIR this program writes such a file instead, for the tests in
 * Python. */
#include "harness/base/system/atomic_file.h"
#include "harness/lab/result/result_file.h"
#include "harness/text/json.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/lab/result/result_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 9, AGGREGATES = 4 };

/* A folder of the test's own, the result file in it, and what is written there: item_sync,
 * reproduced, if the test says nothing else. */
struct place {
    char folder[128], path[160];
    struct scenario_result result;
    cJSON *root;
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    if (place == NULL)
        return -1;
    snprintf(place->folder, sizeof place->folder, "/tmp/chokepoint-test-XXXXXX");
    if (mkdtemp(place->folder) == NULL)
        return -1;
    snprintf(place->path, sizeof place->path, "%s/result.json", place->folder);
    fixture_reproduced(&place->result, PAIRS);
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;

    unlink(place->path);
    rmdir(place->folder);
    cJSON_Delete(place->root);
    fixture_release(&place->result);
    free(place);
    return 0;
}

static char *read_text(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_true(getdelim(&text, &size, '\0', file) > 0);
    fclose(file);
    return text;
}

static cJSON *read_json(const char *path)
{
    char *text = read_text(path);
    cJSON *root = cJSON_ParseWithOpts(text, NULL, 1);

    assert_non_null(root);
    free(text);
    return root;
}

static int files_in(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = 0;

    assert_non_null(directory);
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    return count - 2; /* . and .. */
}

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);

    if (found == NULL)
        fail_msg("there is no member %s", name);
    return found;
}

static double number(const cJSON *object, const char *name)
{
    assert_true(cJSON_IsNumber(member(object, name)));
    return member(object, name)->valuedouble;
}

/* cmocka compares floats only. */
static void assert_near(double value, double expected, double distance)
{
    assert_true(fabs(value - expected) <= distance);
}

static const char *text(const cJSON *object, const char *name)
{
    assert_true(cJSON_IsString(member(object, name)));
    return member(object, name)->valuestring;
}

static const cJSON *find_row(const cJSON *root, const char *name, int repetition)
{
    const cJSON *row;

    cJSON_ArrayForEach(row, member(root, "benchmarks"))
    {
        const cJSON *index = cJSON_GetObjectItemCaseSensitive(row, "repetition_index");
        if (strcmp(text(row, "name"), name) == 0 &&
            (repetition < 0 ? index == NULL : index != NULL && index->valueint == repetition))
            return row;
    }
    fail_msg("there is no row %s", name);
    return NULL;
}

static struct result_file *open_file(const struct place *place)
{
    struct result_file *file = NULL;

    assert_ok(result_file_open(&file, place->folder, NULL, &fixture_device, &fixture_health));
    assert_string_equal(result_file_path(file), place->path);
    return file;
}

/* Returns the document as it was read back. */
static const cJSON *write_one(struct place *place)
{
    struct result_file *file = open_file(place);

    assert_ok(result_file_add(file, &place->result));
    result_file_close(file);
    cJSON_Delete(place->root);
    return place->root = read_json(place->path);
}

static const cJSON *scenarios_of(const cJSON *root)
{
    return member(member(root, "chokepoint"), "scenarios");
}

/* --- Its contents --- */

/* The document as it is now. */
static cJSON *read_document(const struct result_file *file)
{
    char *text;
    cJSON *root;

    assert_ok(result_file_text(file, &text));
    root = cJSON_ParseWithOpts(text, NULL, 1);
    assert_non_null(root);
    free(text);
    return root;
}

TEST(before_a_scenario_is_complete_nothing_is_written)
{
    struct place *place = *state;
    struct result_file *file = open_file(place);
    cJSON *root = read_document(file);

    assert_int_equal(cJSON_GetArraySize(member(root, "benchmarks")), 0);
    assert_int_equal(cJSON_GetArraySize(scenarios_of(root)), 0);
    assert_true(number(member(root, "chokepoint"), "schema") == RESULT_SCHEMA);
    assert_false(result_file_written(file));
    assert_int_not_equal(access(place->path, F_OK), 0);
    cJSON_Delete(root);
    result_file_close(file);
    assert_int_equal(files_in(place->folder), 0);
}

TEST(context_has_the_members_of_google_benchmark)
{
    struct place *place = *state;
    struct result_file *file = open_file(place);
    cJSON *root = read_document(file);
    const cJSON *context = member(root, "context"), *item;
    int offset_hours, offset_minutes, seen;

    result_file_close(file);
    assert_int_equal(sscanf(text(context, "date"), "%*4d-%*2d-%*2dT%*2d:%*2d:%*2d%3d:%2d%n",
                            &offset_hours, &offset_minutes, &seen),
                     2);
    assert_int_equal(seen, 25);
    assert_true(strlen(text(context, "host_name")) > 0);
    assert_non_null(strstr(text(context, "executable"), "test_result_file"));
    assert_true(number(context, "num_cpus") >= 1);
    assert_true(number(context, "mhz_per_cpu") >= 0);
    assert_true(cJSON_IsArray(member(context, "caches")));
    assert_true(cJSON_IsArray(member(context, "load_avg")));
    assert_true(number(context, "json_schema_version") == 1);
    assert_true(strlen(text(context, "library_version")) > 0);
    assert_true(strcmp(text(context, "library_build_type"), "release") == 0 ||
                strcmp(text(context, "library_build_type"), "debug") == 0);
    assert_string_equal(text(context, "device_name"), fixture_device.name);
    assert_string_equal(text(context, "device_launch_ns"), "412");
    assert_string_equal(text(context, "device_clock_mhz"), "2944");
    assert_string_equal(text(context, "device_temperature_c"), "unknown");
    assert_null(cJSON_GetObjectItemCaseSensitive(context, "device_ecc")); /* a GPU's */
    assert_true(strlen(text(context, "affinity")) > 0);

    /* Whatever is not Google Benchmark's own is a flat string. */
    for (item = member(context, "json_schema_version")->next; item != NULL; item = item->next)
        assert_true(cJSON_IsString(item));
    cJSON_Delete(root);
}

TEST(a_row_each_repetition_and_four_aggregates)
{
    static const char *const order[] = {
        "name",
        "family_index",
        "per_family_instance_index",
        "run_name",
        "run_type",
        "repetitions",
        "repetition_index",
        "threads",
        "iterations",
        "real_time",
        "cpu_time",
        "time_unit",
    };
    struct place *place = *state;
    const cJSON *root = write_one(place), *row, *item;

    assert_int_equal(cJSON_GetArraySize(member(root, "benchmarks")),
                     VARIANT_COUNT * (PAIRS + AGGREGATES));
    row = find_row(root, "item_sync/after", 3);
    item = row->child;
    for (size_t i = 0; i < ARRAY_SIZE(order); i++, item = item->next)
        assert_string_equal(item->string, order[i]);
    assert_string_equal(text(row, "run_name"), "item_sync/after");
    assert_string_equal(text(row, "run_type"), "iteration");
    assert_string_equal(text(row, "time_unit"), "us");
    assert_true(number(row, "family_index") == 0);
    assert_true(number(row, "per_family_instance_index") == 1);
    assert_true(number(row, "repetitions") == PAIRS);
    assert_true(number(row, "iterations") == 4);
    assert_true(number(row, "real_time") == 1003);
    assert_near(number(row, "cpu_time"), 501.5, 1e-9);
    assert_near(number(row, "items_per_second"), 32 / (4 * 1003e-6), 1e-6);
    assert_true(number(row, "syncs_per_step") == 0);
}

TEST(aggregates_are_those_of_the_repetitions)
{
    struct place *place = *state;
    const cJSON *root = write_one(place), *row;

    row = find_row(root, "item_sync/before_median", -1);
    assert_true(number(row, "real_time") == 1504);
    assert_string_equal(text(row, "run_name"), "item_sync/before");
    assert_string_equal(text(row, "run_type"), "aggregate");
    assert_string_equal(text(row, "aggregate_name"), "median");
    assert_string_equal(text(row, "aggregate_unit"), "time");
    assert_true(number(row, "iterations") == PAIRS);
    assert_near(number(find_row(root, "item_sync/before_mean", -1), "real_time"), 1504, 1e-9);
    /* 0 .. 8 has the sample deviation sqrt(60 / 8). */
    assert_near(number(find_row(root, "item_sync/before_stddev", -1), "real_time"), sqrt(7.5),
                1e-9);
    row = find_row(root, "item_sync/before_cv", -1);
    assert_near(number(row, "real_time"), sqrt(7.5) / 1504, 1e-12);
    assert_string_equal(text(row, "aggregate_unit"), "percentage");
    /* The cv of what is always 0 is 0/0: left out, never NaN. */
    assert_null(cJSON_GetObjectItemCaseSensitive(row, "syncs_per_step"));
}

TEST(one_repetition_has_no_aggregates)
{
    struct place *place = *state;
    const cJSON *root;

    fixture_release(&place->result);
    fixture_reproduced(&place->result, 1);
    root = write_one(place);
    assert_int_equal(cJSON_GetArraySize(member(root, "benchmarks")), VARIANT_COUNT);
}

/* A flag on the row itself, which stays: and no word of vitals where the device tells none. */
TEST(throttled_repetitions_are_labelled_and_kept)
{
    struct place *place = *state;
    const cJSON *scenario, *samples, *vitals;
    struct device_vitals *around;
    const cJSON *root;

    around = place->result.repetitions[VARIANT_AFTER][1].vitals;
    around[0].temperature_c = 81;
    around[0].limits = LIMIT_IDLE;
    around[1].power_limited_ns = 5e9;
    around[1].limits = LIMIT_POWER | LIMIT_THERMAL;
    root = write_one(place);
    assert_string_equal(text(find_row(root, "item_sync/after", 1), "label"),
                        "throttled: power, thermal");
    assert_null(cJSON_GetObjectItemCaseSensitive(find_row(root, "item_sync/after", 0), "label"));
    assert_int_equal(cJSON_GetArraySize(member(root, "benchmarks")),
                     VARIANT_COUNT * (PAIRS + AGGREGATES));
    scenario = scenarios_of(root)->child;
    samples = member(member(scenario, "samples"), "after");
    vitals = member(cJSON_GetArrayItem(samples, 1), "vitals_before");
    assert_true(number(vitals, "temperature_c") == 81);
    assert_string_equal(text(vitals, "limits"), "idle");
    assert_null(cJSON_GetObjectItemCaseSensitive(vitals, "power_w"));
    vitals = member(cJSON_GetArrayItem(samples, 1), "vitals_after");
    assert_true(number(vitals, "power_limited_ns") == 5e9);
    assert_null(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(samples, 0), "vitals_before"));
}

TEST(a_gpu_tells_all_and_what_it_does_not_know_is_unknown)
{
    static const char *const known[][2] = {
        { "device_health_source", "NVML, driver 580.65.06" },
        { "device_clock_mhz", "1755" },
        { "device_clock_max_mhz", "unknown" },
        { "device_clock_limits", "idle, power" },
        { "device_power_limit_w", "700" },
        { "device_ecc", "on" },
        { "device_ecc_uncorrected", "unknown" },
        { "device_mig", "off" },
        { "device_numa_node", "unknown" },
        { "device_local_cores", "0-15" },
        { "device_other_processes", "0" },
    };
    struct place *place = *state;
    struct device_properties gpu = fixture_device;
    struct device_health health = device_health_unknown;
    struct result_file *file;
    cJSON *root;

    strcpy(gpu.kind, "cuda");
    gpu.is_gpu = true;
    strcpy(health.source, "NVML, driver 580.65.06");
    strcpy(health.trouble, "NVML, asked for mig_mode: Some error (999)");
    strcpy(health.local_cores, "0-15");
    health.now.clock_mhz = 1755;
    health.now.limits = LIMIT_IDLE | LIMIT_POWER;
    health.power_limit_w = 700;
    health.ecc = 1;
    health.mig = health.other_processes = 0;
    assert_ok(result_file_open(&file, place->folder, NULL, &gpu, &health));
    root = read_document(file);
    result_file_close(file);
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        assert_string_equal(text(member(root, "context"), known[i][0]), known[i][1]);
    assert_string_equal(text(member(root, "context"), "device_health_trouble"), health.trouble);
    cJSON_Delete(root);
}

TEST(skipped_and_failed_scenarios_have_no_rows)
{
    struct place *place = *state;
    struct scenario_result skipped, failed;
    struct result_file *file = open_file(place);
    const cJSON *scenario;
    cJSON *root;

    fixture_skipped(&skipped);
    fixture_reproduced(&failed, PAIRS);
    failed.verdict = VERDICT_FAILED;
    assert_ok(result_file_add(file, &skipped));
    assert_ok(result_file_add(file, &failed));
    assert_ok(result_file_add(file, &place->result));
    root = read_json(place->path);
    assert_int_equal(cJSON_GetArraySize(member(root, "benchmarks")),
                     VARIANT_COUNT * (PAIRS + AGGREGATES));
    assert_true(number(find_row(root, "item_sync/before", 0), "family_index") == 0);
    assert_int_equal(cJSON_GetArraySize(scenarios_of(root)), 2); /* The failed one is replaced. */
    scenario = scenarios_of(root)->child;
    assert_string_equal(text(scenario, "name"), "loader_workers");
    assert_string_equal(text(scenario, "verdict"), "skipped");
    assert_true(cJSON_IsNull(member(scenario, "effect")));
    assert_true(cJSON_IsNull(member(scenario, "interval")));
    cJSON_Delete(root);
    result_file_close(file);
    fixture_release(&failed);
}

TEST(older_results_stay_until_a_scenario_was_measured)
{
    struct place *place = *state;
    struct scenario_result skipped;
    struct result_file *file;
    char *older, *now;
    cJSON *root;

    fixture_skipped(&skipped);
    write_one(place);
    older = read_text(place->path);
    file = open_file(place);
    assert_ok(result_file_add(file, &skipped));
    now = read_text(place->path);
    assert_string_equal(now, older);
    assert_int_equal(result_file_written(file), 0);
    assert_ok(result_file_add(file, &place->result));
    assert_int_equal(result_file_written(file), 2);
    root = read_json(place->path);
    assert_int_equal(cJSON_GetArraySize(scenarios_of(root)), 2);
    cJSON_Delete(root);
    result_file_close(file);
    free(older);
    free(now);
}

/* Else a history would take them for a new run. */
TEST(rows_of_an_earlier_run_keep_its_date)
{
    static const char date[] = "2020-01-02T03:04:05+00:00";
    struct place *place = *state;
    struct result_file *file;
    cJSON *root, *row;
    char *changed;

    write_one(place);
    root = read_json(place->path);
    cJSON_SetValuestring(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "context"), "date"), date);
    changed = cJSON_Print(root);
    assert_ok(atomic_file_write(place->path, changed, strlen(changed)));
    cJSON_free(changed);
    cJSON_Delete(root);
    fixture_release(&place->result);
    fixture_aa(&place->result, PAIRS);
    for (int runs = 0; runs < 2; runs++) {
        file = open_file(place);
        assert_ok(result_file_add(file, &place->result));
        result_file_close(file);
        root = read_json(place->path);
        assert_string_not_equal(text(member(root, "context"), "date"), date);
        assert_int_equal(cJSON_GetArraySize(member(root, "benchmarks")),
                         2 * VARIANT_COUNT * (PAIRS + AGGREGATES));
        cJSON_ArrayForEach(row, member(root, "benchmarks"))
        {
            if (strstr(text(row, "name"), "/aa:") == NULL)
                assert_string_equal(text(row, "date"), date);
            else
                assert_false(cJSON_HasObjectItem(row, "date"));
        }
        cJSON_Delete(root);
    }
}

TEST(repetitions_can_be_left_out)
{
    struct place *place = *state;
    struct result_file *file = open_file(place);
    const cJSON *row;

    result_file_leave_out(file, true);
    assert_ok(result_file_add(file, &place->result));
    result_file_close(file);
    place->root = read_json(place->path);
    assert_int_equal(cJSON_GetArraySize(member(place->root, "benchmarks")),
                     VARIANT_COUNT * AGGREGATES);
    cJSON_ArrayForEach(row, member(place->root, "benchmarks"))
        assert_string_equal(text(row, "run_type"), "aggregate");
}

/* Nobody who looks for "/after" finds a side of it. */
TEST(an_aa_comparison_is_told_from_before_and_after)
{
    struct place *place = *state;
    const cJSON *scenario, *row;
    const cJSON *root;

    fixture_release(&place->result);
    fixture_aa(&place->result, PAIRS);
    root = write_one(place);
    cJSON_ArrayForEach(row, member(root, "benchmarks"))
    {
        assert_null(strstr(text(row, "name"), "before"));
        assert_null(strstr(text(row, "name"), "after"));
    }
    assert_int_equal(cJSON_GetArraySize(member(root, "benchmarks")),
                     VARIANT_COUNT * (PAIRS + AGGREGATES));
    assert_true(number(find_row(root, "small_batch/aa:1", 3), "real_time") == 1503);
    assert_true(number(find_row(root, "small_batch/aa:2", 3), "real_time") == 1473);
    scenario = scenarios_of(root)->child;
    assert_true(cJSON_IsTrue(member(scenario, "aa")));
    assert_string_equal(text(scenario, "verdict"), "no difference");
    assert_string_equal(text(scenario, "after"), text(scenario, "before"));
    assert_string_equal(text(member(scenario, "losses"), "check"), "identical");
    assert_int_equal(cJSON_GetArraySize(member(scenario, "expectations")), 0);
    assert_near(number(scenario, "effect"), 1.02, 1e-9);
}

TEST(a_scenario_carries_all_that_was_measured)
{
    struct place *place = *state;
    const cJSON *scenario, *expectation, *repetition;
    char *whole;
    const cJSON *root = write_one(place);

    scenario = scenarios_of(root)->child;
    assert_string_equal(text(scenario, "verdict"), "reproduced");
    assert_true(cJSON_IsFalse(member(scenario, "aa")));
    assert_string_equal(text(scenario, "knob"), "loss_every");
    assert_string_equal(text(scenario, "before"), "1");
    assert_string_equal(text(scenario, "after"), "20");
    assert_true(number(scenario, "effect") == 1.498);
    assert_true(member(scenario, "interval")->child->valuedouble == 1.494);
    assert_true(member(scenario, "interval")->child->next->valuedouble == 1.5);
    assert_string_equal(text(member(scenario, "settings"), "after"), "loss_every=20");
    assert_true(cJSON_IsNull(member(member(member(scenario, "utilisation"), "before"), "mfu")));
    assert_true(number(member(scenario, "balance"), "ratio") == 0.7);
    assert_true(number(member(scenario, "balance"), "jpeg_pixels") == 96);
    assert_string_equal(text(member(scenario, "losses"), "check"), "identical");
    assert_true(cJSON_IsTrue(member(member(scenario, "losses"), "agree")));
    assert_string_equal(text(member(scenario, "device"), "isa"), "avx2");
    assert_true(cJSON_IsTrue(member(member(scenario, "device"), "shares_host_cores")));

    /* An infinite factor is null, its sides stay. */
    expectation = member(scenario, "expectations")->child;
    assert_string_equal(text(expectation, "outcome"), outcome_name(OUTCOME_MET));
    assert_true(number(expectation, "before") == 1);
    assert_true(number(expectation, "after") == 0);
    assert_true(cJSON_IsNull(member(expectation, "effect")));
    assert_true(cJSON_IsNull(member(expectation, "interval")));

    assert_int_equal(cJSON_GetArraySize(member(member(scenario, "samples"), "before")), PAIRS);
    repetition = member(member(scenario, "samples"), "before")->child;
    assert_int_equal(cJSON_GetArraySize(member(repetition, "step_ns")), 3);
    assert_true(member(repetition, "step_ns")->child->next->valuedouble == 1500001);
    assert_int_equal(cJSON_GetArraySize(member(repetition, "losses")), LOSS_STEPS);
    assert_true((float)member(repetition, "losses")->child->valuedouble == 2.3f);
    assert_true(number(repetition, "cpu_ns") == 3000000);
    assert_null(cJSON_GetObjectItemCaseSensitive(member(repetition, "metrics"), "data_wait"));

    /* A seed beyond 2^53 keeps every digit. */
    whole = read_text(place->path);
    assert_non_null(strstr(whole, "18446744073709551615"));
    free(whole);
}

TEST(a_doubtful_mfu_is_null_and_says_why)
{
    struct place *place = *state;
    const cJSON *after;
    const cJSON *root;

    place->result.protocol.ceilings[VARIANT_AFTER].flops_per_second =
        METRIC_MODEL_FLOPS_PER_SECOND * 0.8;
    root = write_one(place);
    after = member(member(scenarios_of(root)->child, "utilisation"), "after");
    assert_true(cJSON_IsNull(member(after, "mfu")));
    assert_non_null(strstr(text(after, "mfu_doubt"), "at 1.25 times the peak"));
}

TEST(traces_are_named_from_the_file_on)
{
    struct place *place = *state;
    const cJSON *scenario, *tracing;
    const cJSON *root;

    place->result.protocol.traces = "somewhere/traces-2";
    place->result.tracing[VARIANT_BEFORE] = (struct tracing){ .file = "item_sync.before.json.gz",
                                                              .steps = 40,
                                                              .windows = 3,
                                                              .step_time_us = 1000,
                                                              .traced_step_time_us = 1025,
                                                              .spread = 0.04,
                                                              .rows = 5000 };
    snprintf(place->result.tracing[VARIANT_AFTER].reason,
             sizeof place->result.tracing[VARIANT_AFTER].reason, "tracing: the disk is full");
    root = write_one(place);
    scenario = scenarios_of(root)->child;
    assert_string_equal(text(member(scenario, "traces"), "before"),
                        "traces-2/item_sync.before.json.gz");
    assert_true(cJSON_IsNull(member(member(scenario, "traces"), "after")));
    tracing = member(member(scenario, "tracing"), "before");
    assert_true(number(tracing, "step_time_us") == 1000);
    assert_true(number(tracing, "traced_step_time_us") == 1025);
    assert_float_equal(number(tracing, "overhead"), 0.025, 1e-12);
    assert_true(number(tracing, "spread") == 0.04);
    assert_true(number(tracing, "dropped") == 0);
    assert_string_equal(text(member(member(scenario, "tracing"), "after"), "reason"),
                        "tracing: the disk is full");
}

TEST(without_traces_both_are_null)
{
    struct place *place = *state;
    const cJSON *root = write_one(place), *scenario;

    scenario = scenarios_of(root)->child;
    for (int v = 0; v < VARIANT_COUNT; v++) {
        const char *name = variant_name((enum variant)v);
        assert_true(cJSON_IsNull(member(member(scenario, "traces"), name)));
        assert_true(cJSON_IsNull(member(member(scenario, "tracing"), name)));
    }
}

TEST(broken_utf8_becomes_the_replacement_character)
{
    static const struct {
        const char *given, *expected;
    } cases[] = {
        { "caf\xe9", "caf\xef\xbf\xbd" },
        { "caf\xc3\xa9", "caf\xc3\xa9" },
        { "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },                 /* overlong */
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
        { "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" },                 /* cut short */
        { "\xf0\x9f\x94\xa5!", "\xf0\x9f\x94\xa5!" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json json = { 0 };
        cJSON *root = json_object(&json, NULL, NULL);
        json_text(&json, root, "text", cases[i].given);
        assert_string_equal(text(root, "text"), cases[i].expected);
        cJSON_Delete(root);
    }
}

/* --- One whole file at every moment --- */

TEST(a_second_run_replaces_the_first)
{
    struct place *place = *state;
    struct stat status;
    mode_t mask = umask(022);
    const cJSON *root;

    write_one(place);
    root = write_one(place);
    assert_int_equal(cJSON_GetArraySize(member(root, "benchmarks")),
                     VARIANT_COUNT * (PAIRS + AGGREGATES));
    assert_int_equal(files_in(place->folder), 1);
    assert_int_equal(stat(place->path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    umask(mask);
}

TEST(folders_are_made_with_their_parents)
{
    struct place *place = *state;
    struct result_file *file = NULL;
    char folder[192];

    snprintf(folder, sizeof folder, "%s/one/two", place->folder);
    assert_ok(result_file_open(&file, folder, NULL, &fixture_device, &fixture_health));
    assert_int_equal(access(folder, R_OK | W_OK), 0);
    result_file_close(file);
    rmdir(folder);
    snprintf(folder, sizeof folder, "%s/one", place->folder);
    rmdir(folder);
}

TEST(what_cannot_be_a_folder_is_refused_with_its_name)
{
    struct place *place = *state;
    struct result_file *file = NULL;
    char plain[192], inside[224];
    int descriptor;

    snprintf(plain, sizeof plain, "%s/plain", place->folder);
    snprintf(inside, sizeof inside, "%s/folder", plain);
    descriptor = open(plain, O_WRONLY | O_CREAT, 0644);
    assert_true(descriptor >= 0);
    close(descriptor);
    assert_int_equal(result_file_open(&file, plain, NULL, &fixture_device, &fixture_health),
                     STATUS_IO);
    assert_non_null(strstr(status_last()->text, plain));
    assert_non_null(strstr(status_last()->text, "choose another folder"));
    assert_null(file);
    assert_int_equal(result_file_open(&file, inside, NULL, &fixture_device, &fixture_health),
                     STATUS_IO);
    assert_int_equal(result_file_open(&file, "/proc/none", NULL, &fixture_device, &fixture_health),
                     STATUS_IO);
    assert_int_equal(result_file_open(&file, "", NULL, &fixture_device, &fixture_health),
                     STATUS_BAD_USAGE);
    unlink(plain);
}

TEST(a_folder_that_vanished_is_an_error_and_nothing_else)
{
    struct place *place = *state;
    struct result_file *file = open_file(place);
    char lock[192];

    snprintf(lock, sizeof lock, "%s/run.lock", place->folder);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(rmdir(place->folder), 0);
    assert_int_equal(result_file_add(file, &place->result), STATUS_IO);
    assert_non_null(strstr(status_last()->text, place->path));
    assert_non_null(strstr(status_last()->context, "item_sync"));

    /* It comes back: the next write has all scenarios. */
    assert_int_equal(mkdir(place->folder, 0700), 0);
    assert_ok(result_file_add(file, &place->result));
    result_file_close(file);
}

/* Adds a scenario where only `room` bytes may be written, and checks that the file is as it was. */
static void fail_to_add(const struct place *place, struct result_file *file, const char *reason)
{
    char *before = read_text(place->path), *after;

    assert_int_equal(result_file_add(file, &place->result), STATUS_IO);
    assert_non_null(strstr(status_last()->text, reason));
    assert_non_null(strstr(status_last()->text, place->path));
    after = read_text(place->path);
    assert_string_equal(after, before);
    assert_int_equal(files_in(place->folder), 2); /* with run.lock */
    free(before);
    free(after);
}

TEST(a_limit_on_file_sizes_leaves_the_last_file_whole)
{
    struct place *place = *state;
    struct result_file *file = open_file(place);
    struct rlimit before, low;
    struct stat there;

    assert_ok(result_file_add(file, &place->result));
    assert_int_equal(stat(place->path, &there), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = before;
    low.rlim_cur = (rlim_t)there.st_size - 1000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    fail_to_add(place, file, strerror(EFBIG));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    result_file_close(file);
}

/* A disk of 16 KiB, in name spaces that end with the process. Exits with 77 where they are not
 * allowed, else with the number of failures. */
static int fill_a_disk(const struct place *place)
{
    struct result_file *file = NULL;
    struct scenario_result result;
    char *text_before, *text_after;
    int failures = 0;

    if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", place->folder, "tmpfs", 0, "size=16k") != 0)
        return 77;
    if (result_file_open(&file, place->folder, NULL, &fixture_device, &fixture_health) != STATUS_OK)
        return 1;
    fixture_skipped(&result);
    if (result_file_add(file, &result) != STATUS_OK)
        return 1;
    text_before = read_text(place->path);
    fixture_reproduced(&result, PAIRS);
    failures += result_file_add(file, &result) != STATUS_IO;
    failures += strstr(status_last()->text, strerror(ENOSPC)) == NULL;
    failures += strstr(status_last()->text, "free some space") == NULL;
    text_after = read_text(place->path);
    failures += strcmp(text_before, text_after) != 0;
    failures += files_in(place->folder) != 2;
    return failures;
}

TEST(a_full_disk_leaves_the_last_file_whole)
{
    int ended;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(fill_a_disk(*state));
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFEXITED(ended));
    if (WEXITSTATUS(ended) == 77) {
        print_message("skipped: no file system may be mounted here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(ended), 0);
}

static int write_for_others(const char *folder)
{
    struct result_file *file = NULL;
    struct scenario_result result, skipped, aa;
    enum status status = result_file_open(&file, folder, NULL, &fixture_device, &fixture_health);

    fixture_reproduced(&result, PAIRS);
    fixture_skipped(&skipped);
    fixture_aa(&aa, PAIRS);
    if (status == STATUS_OK)
        status = result_file_add(file, &skipped);
    if (status == STATUS_OK)
        status = result_file_add(file, &aa);
    if (status == STATUS_OK)
        status = result_file_add(file, &result);
    if (status != STATUS_OK)
        fprintf(stderr, "%s\n", status_last()->text);
    result_file_close(file);
    fixture_release(&result);
    fixture_release(&aa);
    return status_exit_code(status);
}

TESTS_EACH(make_place, remove_place)

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return write_for_others(argv[2]);
    return tests_run(argc, argv);
}
