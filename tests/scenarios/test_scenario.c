/* The tables of scenario.h: what rows mean, where lists end, and the names that result files
 * hold. */
#include "harness/engine/settings/knobs.h"
#include "scenarios/scenario.h"
#include "tests/fixtures/cmocka_prelude.h"

/* The narrowest screen has 60 columns; fifteen lines are read at a glance. */
enum { SNIPPET_COLUMNS = 58, SNIPPET_LINES = 15 };

/* Each metric, in each direction, with nothing else stated: "at least 5%". */
TEST(only_a_row_without_a_metric_ends_the_list)
{
    const struct expectation end = { .metric = METRIC_NONE };

    assert_true(expectation_is_end(&end));
    for (int metric = METRIC_FIRST; metric < METRIC_COUNT; metric++)
        for (int direction = SHRINKS; direction <= GROWS; direction++) {
            const struct expectation row = { .metric = (enum metric)metric,
                                             .direction = (enum direction)direction };
            assert_false(expectation_is_end(&row));
        }
}

/* A row that is left out is zeros, which must mean "the end". */
TEST(rows_that_are_left_out_end_the_list)
{
    const struct scenario scenario = { .expect = { { METRIC_STEP_TIME, SHRINKS, .at_least = 0 } } };

    assert_false(expectation_is_end(&scenario.expect[0]));
    assert_true(expectation_is_end(&scenario.expect[1]));
}

TEST(every_scenario_expects_something_and_ends)
{
    for (int i = 0; scenarios[i] != NULL; i++) {
        bool ended = false;
        assert_false(expectation_is_end(&scenarios[i]->expect[0]));
        for (int row = 0; row < SCENARIO_EXPECTATIONS; row++) {
            bool end = expectation_is_end(&scenarios[i]->expect[row]);
            if (ended && !end)
                fail_msg("%s: row %d comes after the end", scenarios[i]->name, row);
            ended = end;
        }
    }
}

/* A knob that could not act in the settings of its own scenario would teach nothing. */
TEST(every_scenario_turns_a_knob_that_acts)
{
    const struct device_properties device = {
        .kind = "cpu", .host_cores = 4, .memory_bytes = (int64_t)64 << 30, .tf32 = true
    };

    for (int i = 0; scenarios[i] != NULL; i++)
        for (int variant = 0; variant < VARIANT_COUNT; variant++) {
            struct training_config config;
            char why[KNOB_WHY];
            assert_ok(scenario_config(scenarios[i], (enum variant)variant, &config));
            if (knobs_resolve(&config, &device) == STATUS_OK &&
                !knob_acts(&config, scenarios[i]->knob, why))
                fail_msg("%s: %s", scenarios[i]->name, why);
        }
}

static void assert_snippet(const char *name, const char *snippet)
{
    int lines = 0;

    if (snippet == NULL || snippet[0] == '\0')
        fail_msg("%s: .pytorch has no lines (scenario.h)", name);
    while (*snippet != '\0') {
        size_t length = strcspn(snippet, "\n");
        if (length > SNIPPET_COLUMNS)
            fail_msg("%s: more than %d columns: %.*s", name, SNIPPET_COLUMNS, (int)length, snippet);
        snippet += length + (snippet[length] == '\n');
        lines++;
    }
    if (lines > SNIPPET_LINES)
        fail_msg("%s: %d lines of PyTorch", name, lines);
}

TEST(every_scenario_is_a_whole_lesson)
{
    for (int i = 0; scenarios[i] != NULL; i++) {
        const struct scenario *scenario = scenarios[i];
        const char *points[] = { scenario->title, scenario->symptom, scenario->cause,
                                 scenario->fix,   scenario->look,    scenario->cost };
        for (size_t point = 0; point < ARRAY_SIZE(points); point++)
            if (points[point] == NULL || points[point][0] == '\0')
                fail_msg("%s: point %zu of the lesson is missing", scenario->name, point);
        if (scenario->group == GROUP_NONE)
            fail_msg("%s: .group is missing", scenario->name);
        assert_snippet(scenario->name, scenario->pytorch.before);
        assert_snippet(scenario->name, scenario->pytorch.after);
    }
}

/* So do all lists of them; `list` prints the core ones among the others. */
TEST(scenarios_beyond_the_core_come_group_by_group)
{
    for (int i = scenarios_core + 1; scenarios[i] != NULL; i++)
        if (scenarios[i]->group < scenarios[i - 1]->group)
            fail_msg("%s comes too late in list.c", scenarios[i]->name);
}

/* `run memory` is a group. */
TEST(no_group_is_named_like_a_scenario)
{
    for (int group = GROUP_FIRST; group < GROUP_COUNT; group++) {
        assert_null(scenario_find(scenario_groups[group].name));
        assert_int_equal(group_find(scenario_groups[group].name), group);
    }
    assert_int_equal(group_find("none"), GROUP_NONE);
    assert_int_equal(group_find("core"), GROUP_NONE);
}

/* Neither loading nor copying can overlap with a device on the only core: the fix could not help
 * there. */
TEST(what_overlaps_host_and_device_needs_two_cores)
{
    for (int i = 0; scenarios[i] != NULL; i++)
        if (scenarios[i]->balance.kind != BALANCE_NONE ||
            strstr(scenarios[i]->base, "input=decoded") != NULL ||
            strcmp(scenarios[i]->after, "overlapped") == 0)
            assert_int_not_equal(scenarios[i]->needs, ANYWHERE);
}

TEST(no_metric_is_called_nothing)
{
    assert_string_equal(metric_name(METRIC_NONE), "unknown");
    assert_string_equal(metric_name(METRIC_COUNT), "unknown");
    assert_string_equal(metric_unit(METRIC_NONE), "");
    assert_string_equal(metric_name(METRIC_STEP_TIME), "step_time");
    assert_string_equal(metric_unit(METRIC_STEP_TIME), "us");
    assert_string_equal(metric_name(METRIC_MEMORY_PEAK), "memory_peak_bytes");
}

TEST(where_follows_the_device)
{
    static const struct device_properties single = { .shares_host_cores = true,
                                                     .host_cores = 1,
                                                     .fused_attention = true };
    static const struct device_properties no_library = { .is_gpu = true,
                                                         .bf16_matrix_units = true };
    static const struct device_properties
        small = { .shares_host_cores = true, .host_cores = 2 },
        large = { .shares_host_cores = true, .host_cores = 4, .bf16_matrix_units = true },
        gpu = { .is_gpu = true, .host_cores = 2, .fused_attention = true },
        bf16_gpu = { .is_gpu = true, .bf16_matrix_units = true, .fused_attention = true };
    static const struct {
        enum where where;
        bool small, large, gpu, bf16_gpu;
        const char *name;
    } cases[] = {
        { ANYWHERE, true, true, true, true, "anywhere" },
        { WHERE_CPU_DEVICE, true, true, false, false, "cpu_device" },
        { WHERE_CUDA, false, false, true, true, "cuda" },
        { WHERE_CPU_BF16_UNITS, false, true, false, false, "cpu_bf16_units" },
        { WHERE_CPU_VECTORS, true, false, false, false, "cpu_vectors" },
        { WHERE_CUDA_BF16_UNITS, false, false, false, true, "cuda_bf16_units" },
        { WHERE_ATTENTION_LIBRARY, false, false, false, true, "attention_library" },
        { WHERE_TWO_CORES, true, true, true, true, "two_cores" },
        { WHERE_FOUR_CORES, false, true, true, true, "four_cores" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(where_holds(cases[i].where, &small), cases[i].small);
        assert_int_equal(where_holds(cases[i].where, &large), cases[i].large);
        assert_int_equal(where_holds(cases[i].where, &gpu), cases[i].gpu);
        assert_int_equal(where_holds(cases[i].where, &bf16_gpu), cases[i].bf16_gpu);
        assert_string_equal(wheres[cases[i].where].name, cases[i].name);
        assert_int_equal(wheres[cases[i].where].text[0] == '\0', cases[i].where == ANYWHERE);
    }
    assert_false(where_holds(WHERE_TWO_CORES, &single));
    assert_true(where_holds(WHERE_ATTENTION_LIBRARY, &single));
    assert_false(where_holds(WHERE_ATTENTION_LIBRARY, &no_library));
}

TEST(names_are_those_of_the_result_files)
{
    assert_string_equal(balances[BALANCE_NONE].name, "none");
    assert_string_equal(balances[BALANCE_HOST_OVER_DEVICE].name, "host_over_device");
    assert_string_equal(balances[BALANCE_DEVICE_OVER_HOST].name, "device_over_host");
    assert_string_equal(balances[BALANCE_DEVICE_OVER_HOST].over, "device");
    assert_string_equal(balances[BALANCE_DEVICE_OVER_HOST].under, "host");
    assert_string_equal(loss_checks[LOSS_IDENTICAL].name, "identical");
    assert_string_equal(loss_checks[LOSS_ORDER].name, "fp32_order");
    assert_string_equal(loss_checks[LOSS_16_BIT].name, "16_bit");
    assert_string_equal(loss_checks[LOSS_ROUTING].name, "routing");
}

/* "a,b" from "1,2" to "3,4", for scenarios that are in no list. */
TEST(a_change_may_be_of_several_knobs)
{
    const struct scenario several = { .name = "several",
                                      .base = "model=light",
                                      .knob = "loss_every,launch,batch",
                                      .before = "1,eager,2",
                                      .after = "20,graph,4" };
    const struct scenario wrong = { .name = "wrong",
                                    .base = "model=light",
                                    .knob = "loss_every,launch",
                                    .before = "1",
                                    .after = "20,none" };
    struct training_config config;

    assert_ok(scenario_config(&several, VARIANT_BEFORE, &config));
    assert_int_equal(config.logging.loss_every, 1);
    assert_int_equal(config.launch.mode, LAUNCH_EAGER);
    assert_int_equal(config.model.batch, 2);
    assert_ok(scenario_config(&several, VARIANT_AFTER, &config));
    assert_int_equal(config.logging.loss_every, 20);
    assert_int_equal(config.launch.mode, LAUNCH_GRAPH);
    assert_int_equal(config.model.batch, 4);
    for (int v = 0; v < VARIANT_COUNT; v++)
        assert_int_equal(scenario_config(&wrong, (enum variant)v, &config), STATUS_BAD_USAGE);
}
