/* The ladder on a machine that is computed: each wrong setting costs time, and is found by it. */
#include "harness/base/status.h"
#include "harness/lab/experiment/own_scenario.h"
#include "harness/lab/search/ladder.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

/* A setting that costs time, and the finding that names it. */
struct cost {
    const char *knob, *value, *finding;
    double us;
};

struct machine {
    const struct cost *costs;
    int count;
    double base_us;
    double blind; /* fixes change nothing that is measured, whatever they gain; 0 or 1 */
    bool losses_differ;
    int undecided; /* the first rungs, whatever they gain */
    double now, trace_seconds, rung_seconds;
    bool thorough;
    int stop_after; /* rungs; 0: never */
    int traces, rungs, blocks;
    char tried[LADDER_RUNGS][128]; /* "knob=value" */
};

static struct device_properties device(void)
{
    return (struct device_properties){ .name = "modelled",
                                       .host_cores = 2,
                                       .shares_host_cores = true,
                                       .memory_bytes = (int64_t)1 << 40 };
}

/* The finding costs, in the settings of a variant. */
static double cost_of(const struct cost *cost, const struct scenario *scenario,
                      enum variant variant)
{
    struct training_config config;
    struct device_properties properties = device();
    char value[64];

    assert_ok(scenario_config(scenario, variant, &config));
    assert_ok(knobs_resolve(&config, &properties));
    assert_ok(knob_get(&config, cost->knob, value, sizeof value));
    return strcmp(value, cost->value) == 0 ? cost->us : 0;
}

static double step_us(const struct machine *machine, const struct scenario *scenario,
                      enum variant variant)
{
    double us = machine->base_us;

    for (int i = 0; i < machine->count; i++) us += cost_of(&machine->costs[i], scenario, variant);
    return us;
}

static enum status diagnose(void *context, const struct scenario *now, struct findings *findings,
                            double *step_time_us)
{
    struct machine *machine = context;

    machine->traces++;
    machine->now += machine->trace_seconds;
    *step_time_us = step_us(machine, now, VARIANT_BEFORE);
    findings->items = calloc((size_t)machine->count + 1, sizeof *findings->items);
    for (double most = INFINITY;;) { /* the dearest first */
        const struct cost *dearest = NULL;
        for (int i = 0; i < machine->count; i++) {
            double us = cost_of(&machine->costs[i], now, VARIANT_BEFORE);
            if (us > 0 && us < most && (dearest == NULL || us > dearest->us))
                dearest = &machine->costs[i];
        }
        if (dearest == NULL)
            return STATUS_OK;
        most = dearest->us;
        findings->items[findings->count++] = (struct finding){
            .id = dearest->finding,
            .severity = dearest->us > 0.15 * *step_time_us ? SEVERITY_MAJOR : SEVERITY_MINOR,
            .lost_ns_per_step = dearest->us * 1e3,
            .predicted_gain = *step_time_us / (*step_time_us - dearest->us),
        };
    }
}

static enum status compare(void *context, const struct scenario *rung, bool is_block,
                           double seconds, struct scenario_result *result)
{
    struct machine *machine = context;
    double before = step_us(machine, rung, VARIANT_BEFORE),
           after = machine->blind > 0 ? before : step_us(machine, rung, VARIANT_AFTER);
    (void)seconds;

    machine->blocks += is_block;
    if (machine->stop_after > 0 && machine->rungs == machine->stop_after)
        FAIL(STATUS_INTERRUPTED, "stopped");
    assert_true(machine->rungs < LADDER_RUNGS);
    snprintf(machine->tried[machine->rungs++], 128, "%s=%s", rung->knob, rung->after);
    machine->now += machine->rung_seconds;
    result->pairs = 6;
    result->losses_agree = !machine->losses_differ;
    result->step_time =
        (struct effect){ before, after, before / after, before / after, before / after, 0.97 };
    result->verdict = machine->losses_differ                                  ? VERDICT_FAILED
                      : before > after && machine->rungs > machine->undecided ? VERDICT_REPRODUCED
                                                                              : VERDICT_UNDECIDED;
    if (machine->losses_differ)
        snprintf(result->reason, sizeof result->reason, "the losses differ");

    return STATUS_OK;
}

static double seconds(void *context)
{
    return ((const struct machine *)context)->now;
}

static struct ladder *ladder; /* of the last climb */

static int forget(void **state)
{
    free(ladder);
    ladder = NULL;
    return 0;
}

static void climb(struct machine *machine, const char *settings, double budget,
                  enum status expected)
{
    const struct ladder_probe probe = { diagnose, compare, seconds, machine, NULL, NULL };

    free(ladder);
    ladder = calloc(1, sizeof *ladder);
    assert_non_null(ladder);
    ladder->device = device();
    ladder->budget_seconds = budget;
    ladder->thorough = machine->thorough;
    knobs_defaults(&ladder->config);
    assert_ok(knobs_apply(&ladder->config, settings));
    assert_int_equal(ladder_climb(ladder, &probe), expected);
    assert_int_equal(ladder->count, machine->rungs);
}

static void assert_value(const char *knob, const char *expected)
{
    char value[64];

    assert_ok(knob_get(&ladder->config, knob, value, sizeof value));
    assert_string_equal(value, expected);
}

static const struct cost loop_costs[] = {
    { "loss_every", "1", "host_sync", 500 },
    { "workers", "0", "data_loading", 900 },
    { "allocation", "direct", "allocation_churn", 100 },
};

TEST(the_dearest_finding_is_fixed_first_until_none_is_left)
{
    struct machine machine = { .costs = loop_costs, .count = 3, .base_us = 1000 };

    climb(&machine, "launch=eager input=decoded workers=0 loss_every=1 allocation=direct", 100,
          STATUS_OK);
    assert_int_equal(ladder->end, LADDER_NOTHING_FOUND);
    assert_int_equal(machine.rungs, 3);
    assert_int_equal(machine.traces, 4);
    assert_string_equal(machine.tried[0], "workers=2");
    assert_string_equal(machine.tried[1], "loss_every=20");
    assert_string_equal(machine.tried[2], "allocation=caching");
    assert_value("workers", "cores");
    assert_value("loss_every", "20");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ladder->rungs[i].end, RUNG_KEPT);
        assert_true(fabs(ladder->rungs[i].predicted_gain - ladder->rungs[i].step_time.factor) <
                    1e-9);
    }
    assert_true(fabs(ladder->samples_per_second / ladder->first_samples_per_second - 2.5) < 1e-9);
}

/* 4% of a step and 3% of it are no rungs: both are in the block, whose gain is measured as one. */
TEST(what_costs_little_is_one_block)
{
    static const struct cost costs[] = { { "loss_every", "1", "host_sync", 40 },
                                         { "optimizer", "unfused", "optimizer_overhead", 30 } };

    for (int thorough = 0; thorough < 2; thorough++) {
        struct machine machine = {
            .costs = costs, .count = 2, .base_us = 930, .thorough = thorough
        };
        const struct rung *block;
        climb(&machine,
              "input=decoded workers=0 loss_every=1 launch=graph "
              "optimizer=unfused attention=naive log=synced",
              100, STATUS_OK);
        block = thorough ? &ladder->rungs[0] : &ladder->unseen;
        assert_int_equal(ladder->end, LADDER_NOTHING_FOUND);
        assert_int_equal(machine.rungs, thorough);
        assert_int_equal(machine.blocks, thorough);
        assert_null(block->finding);
        assert_null(block->fix);
        assert_int_equal(block->changes, 5);
        assert_string_equal(block->knob, "workers,loss_every,attention,optimizer,log");
        assert_string_equal(block->before, "0,1,naive,unfused,synced");
        assert_string_equal(block->after, "2,20,fused,multi_tensor,queued");
        assert_int_equal(ladder->unseen.changes, thorough ? 0 : 5);
        assert_value("loss_every", thorough ? "20" : "1");
        assert_value("optimizer", thorough ? "multi_tensor" : "unfused");
        if (thorough) {
            assert_int_equal(block->end, RUNG_KEPT);
            assert_true(fabs(block->step_time.factor - 1000 / 930.0) < 1e-9);
        }
    }
}

/* One rank adds up nothing, and samples in device memory need no worker: no rung for these. */
TEST(a_knob_that_cannot_act_is_no_rung)
{
    static const struct cost costs[] = { { "seed", "1", "exposed_communication", 500 },
                                         { "width", "auto", "data_loading", 400 } };
    struct machine machine = { .costs = costs, .count = 2, .base_us = 1000, .thorough = true };

    climb(&machine, "model=light workers=0 allreduce=after_backward bucket_mb=tensor prefetch=1",
          100, STATUS_OK);
    for (int i = 0; i < machine.rungs; i++)
        if (strstr(machine.tried[i], "allreduce") != NULL ||
            strstr(machine.tried[i], "bucket_mb") != NULL ||
            strstr(machine.tried[i], "workers") != NULL)
            fail_msg("%s was tried", machine.tried[i]);
}

/* Checkpointing costs time, and bf16 changes the losses: the block leaves both, and sets nothing
 * that a user set to a value of his own. */
TEST(the_block_asks_no_price)
{
    struct machine machine = { .base_us = 1000, .thorough = true };

    climb(&machine,
          "model=heavy precision=fp32 checkpointing=none launch=graph attention=fused workers=1",
          100, STATUS_OK);
    assert_int_equal(ladder->end, LADDER_NOTHING_FOUND);
    assert_int_equal(machine.rungs, 0);
}

/* host_sync has three fixes; none helps, each is tried once, and the settings stay. */
TEST(a_fix_that_does_not_help_is_taken_back_and_the_next_one_tried)
{
    static const struct cost costs[] = { { "seed", "1", "host_sync", 500 } };
    struct machine machine = { .costs = costs, .count = 1, .base_us = 1000 };

    climb(&machine, "loss_every=1 clipping=host launch=blocking", 100, STATUS_OK);
    assert_int_equal(ladder->end, LADDER_NO_FIX_LEFT);
    assert_string_equal(ladder->left, "host_sync");
    assert_int_equal(machine.traces, 1);
    assert_int_equal(machine.rungs, 3);
    assert_string_equal(machine.tried[0], "loss_every=20");
    assert_string_equal(machine.tried[1], "launch=eager");
    assert_string_equal(machine.tried[2], "clipping=device");
    for (int i = 0; i < machine.rungs; i++) assert_int_equal(ladder->rungs[i].end, RUNG_TAKEN_BACK);
    /* The sum is that of the kept rungs: none. */
    assert_true(ladder->samples_per_second == ladder->first_samples_per_second);
    assert_value("loss_every", "1");
    assert_value("launch", "blocking");
}

/* One rule for every rung: what looks better and is not measurably so is taken back. */
TEST(an_undecided_fix_is_taken_back)
{
    static const struct cost costs[] = { { "loss_every", "1", "host_sync", 500 } };

    for (int thorough = 0; thorough < 2; thorough++) {
        struct machine machine = {
            .costs = costs, .count = 1, .base_us = 1000, .undecided = 100, .thorough = thorough
        };
        climb(&machine, "loss_every=1 launch=graph", 100, STATUS_OK);
        assert_int_equal(machine.rungs, 1 + thorough);
        for (int i = 0; i < machine.rungs; i++) {
            assert_int_equal(ladder->rungs[i].end, RUNG_TAKEN_BACK);
            assert_string_equal(ladder->rungs[i].reason, i == 0 ? "the machine is too noisy to tell"
                                                                : "it does not measurably help");
        }
        assert_value("loss_every", "1");
        assert_int_equal(ladder->end, LADDER_NO_FIX_LEFT);
    }
}

/* A graph is refused with the host's clipping and the host's GELU: both go first, though neither is
 * found. */
TEST(what_refuses_a_fix_is_fixed_before_it)
{
    static const struct cost costs[] = { { "launch", "eager", "launch_bound", 800 } };
    struct machine machine = { .costs = costs, .count = 1, .base_us = 1000 };

    climb(&machine, "launch=eager clipping=host gelu=host", 100, STATUS_OK);
    assert_int_equal(machine.rungs, 3);
    assert_non_null(ladder->rungs[0].needed_by);
    assert_string_equal(ladder->rungs[0].needed_by->name, "launch_overhead");
    assert_non_null(ladder->rungs[1].needed_by);
    assert_null(ladder->rungs[2].needed_by);
    assert_string_equal(machine.tried[2], "launch=graph");
    assert_value("clipping", "device");
    assert_value("gelu", "device");
    assert_value("launch", "graph");
    assert_int_equal(ladder->end, LADDER_NOTHING_FOUND);
}

/* A graph is where a fix leaves the launches, so launch_blocking's eager is no fix for it. */
TEST(a_fix_does_not_undo_another)
{
    static const struct cost costs[] = { { "seed", "1", "host_sync", 500 } };
    struct machine machine = { .costs = costs, .count = 1, .base_us = 1000 };

    climb(&machine, "launch=graph", 100, STATUS_OK);
    assert_int_equal(machine.rungs, 0);
    for (int i = 0; i < machine.rungs; i++)
        assert_string_not_equal(machine.tried[i], "launch=eager");
    assert_int_equal(ladder->end, LADDER_NO_FIX_LEFT);
}

/* Two scenarios have the knob `log`: a thread writes the lines where the loop wrote them. */
TEST(a_log_stays_where_it_goes)
{
    static const char *const logs[][2] = { { "synced", "log=queued" },
                                           { "posted", "log=posted_queued" } };

    for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
        const struct cost cost = { "log", logs[i][0], "logging_gap", 500 };
        struct machine machine = { .costs = &cost, .count = 1, .base_us = 1000 };
        char settings[64];

        snprintf(settings, sizeof settings, "launch=graph loss_every=1 log=%s", logs[i][0]);
        climb(&machine, settings, 100, STATUS_OK);
        assert_int_equal(machine.rungs, 1);
        assert_string_equal(machine.tried[0], logs[i][1]);
        assert_int_equal(ladder->end, LADDER_NOTHING_FOUND);
    }
}

TEST(a_fix_that_changes_the_losses_is_taken_back)
{
    struct machine machine = {
        .costs = loop_costs, .count = 3, .base_us = 1000, .losses_differ = true
    };

    climb(&machine, "loss_every=1", 100, STATUS_OK);
    assert_true(machine.rungs > 0);
    assert_int_equal(ladder->rungs[0].end, RUNG_TAKEN_BACK);
    assert_string_equal(ladder->rungs[0].reason, "the losses differ");
    assert_value("loss_every", "1");
}

/* A trace of 3 s and rungs of 10: the first is done at 13, the second would end at 26. */
TEST(no_rung_begins_that_the_time_does_not_hold)
{
    struct machine machine = {
        .costs = loop_costs, .count = 3, .base_us = 1000, .trace_seconds = 3, .rung_seconds = 10
    };

    climb(&machine, "input=decoded workers=0 loss_every=1 allocation=direct launch=eager", 25,
          STATUS_OK);
    assert_int_equal(ladder->end, LADDER_OUT_OF_TIME);
    assert_int_equal(machine.rungs, 1);
    assert_true(strstr(ladder->left, "host_sync") != NULL);
    assert_true(machine.now <= 25);
    assert_value("workers", "cores");
}

TEST(an_interrupt_leaves_what_was_measured)
{
    struct machine machine = { .costs = loop_costs, .count = 3, .base_us = 1000, .stop_after = 1 };

    climb(&machine, "input=decoded workers=0 loss_every=1 launch=eager", 100, STATUS_INTERRUPTED);
    assert_int_equal(ladder->end, LADDER_STOPPED);
    assert_int_equal(ladder->count, 1);
    assert_int_equal(ladder->rungs[0].end, RUNG_KEPT);
    assert_value("workers", "cores");
    assert_value("loss_every", "1");
}

/* On a CPU and on a GPU; the settings are possible, and each wrong value is that of a scenario with
 * a fix. */
TEST(everything_wrong_is_possible_and_has_fixes)
{
    for (int gpu = 0; gpu < 2; gpu++) {
        struct device_properties properties = device();
        struct training_config config, defaults, resolved;
        int wrong = 0;

        properties.is_gpu = gpu;
        properties.shares_host_cores = !gpu;
        knobs_defaults(&config);
        assert_false(ladder_is_set(&config));
        ladder_set_all_wrong(&config, &properties);
        assert_true(ladder_is_set(&config));
        resolved = config;
        assert_ok(knobs_resolve(&resolved, &properties));
        knobs_defaults(&defaults);
        for (int i = 0; scenarios[i] != NULL; i++) {
            char now[64], usual[64];
            assert_ok(knob_get(&config, scenarios[i]->knob, now, sizeof now));
            assert_ok(knob_get(&defaults, scenarios[i]->knob, usual, sizeof usual));
            wrong += strcmp(now, usual) != 0 && strcmp(now, scenarios[i]->before) == 0;
        }
        if (wrong < 12)
            fail_msg("only %d settings are wrong on a %s", wrong, gpu ? "GPU" : "CPU");
        assert_int_equal(config.loader.workers, 0);
        assert_int_equal(config.logging.loss_every, 1);
        assert_int_equal(config.saving.save_every, 0);
        assert_int_equal(config.optimizer.reads_overflow, defaults.optimizer.reads_overflow);
        assert_true(gpu || config.loader.persistent_workers); /* an epoch is 128 steps */
    }
}

TEST(a_scenario_reads_back_from_its_text)
{
    const struct own_change change = { "loss_every",         "1",   "20",
                                       METRIC_MEMORY_GROWTH, GROWS, LOSS_ORDER };
    struct own_scenario made, read;
    char text[OWN_SCENARIO_TEXT];

    assert_ok(own_scenario_make(&made, "one", "model=light launch=eager", &change));
    assert_true(made.scenario.is_own);
    own_scenario_print(text, &made.scenario);
    assert_ok(own_scenario_parse(&read, "two", text));
    assert_string_equal(read.scenario.name, "two");
    assert_string_equal(read.scenario.base, "model=light launch=eager");
    assert_string_equal(read.scenario.knob, "loss_every");
    assert_string_equal(read.scenario.before, "1");
    assert_string_equal(read.scenario.after, "20");
    assert_int_equal(read.scenario.expect[0].metric, METRIC_MEMORY_GROWTH);
    assert_int_equal(read.scenario.expect[0].direction, GROWS);
    assert_int_equal(read.scenario.loss, LOSS_ORDER);
    assert_int_equal(own_scenario_parse(&read, "two", "loss_every 1 20"), STATUS_BAD_USAGE);
    assert_int_equal(own_scenario_parse(&read, "two", "a 1 2 none shrinks identical b=1"),
                     STATUS_BAD_USAGE);
}

TESTS_WITH(NULL, forget)
