#include "tests/lab/result/result_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4, SAMPLES = 32 };

const struct device_properties fixture_device = {
    .kind = "cpu",
    .name = "CPU device (Test \"9000\", 2 cores)",
    .isa = "avx2",
    .gemm_library = "oneDNN 2.6.3",
    .memory_bytes = (int64_t)1 << 31,
    .multiprocessors = 1,
    .warp_lanes = 1,
    .host_cores = 2,
    .shares_host_cores = true,
    .launch_ns = 412.4,
    .doorbell = true,
};

const struct device_health fixture_health = { .source = "Linux",
                                              .now = { .clock_mhz = 2944.5, .temperature_c = NAN },
                                              .clock_max_mhz = NAN };

static void start(struct scenario_result *result, const char *scenario)
{
    memset(result, 0, sizeof *result);
    result->scenario = scenario_find(scenario);
    result->device = fixture_device;
    result->protocol = (struct protocol){
        .device = "cpu", .repetitions = 9, .window_seconds = 0.2, .seed = UINT64_MAX
    };
    for (int variant = 0; variant < VARIANT_COUNT; variant++)
        snprintf(result->settings[variant], sizeof result->settings[variant], "loss_every=%s",
                 variant == VARIANT_BEFORE ? "1" : "20");
}

static void fill(struct repetition *repetition, double step_time_us)
{
    for (int metric = METRIC_FIRST; metric < METRIC_COUNT; metric++)
        repetition->metric[metric] = metric;
    repetition->metric[METRIC_STEP_TIME] = step_time_us;
    repetition->metric[METRIC_SAMPLES_PER_SECOND] = SAMPLES / (STEPS * step_time_us * 1e-6);
    repetition->metric[METRIC_SYNCS_PER_STEP] = 0;
    repetition->metric[METRIC_DATA_WAIT] = NAN; /* not measured */
    repetition->steps = STEPS;
    repetition->samples = SAMPLES;
    repetition->wall_ns = (int64_t)(STEPS * step_time_us * 1e3);
    repetition->cpu_ns = repetition->wall_ns / 2;
    repetition->step_count = STEPS - 1;
    repetition->step_ns = malloc(sizeof *repetition->step_ns * (STEPS - 1));
    if (repetition->step_ns == NULL)
        abort();
    for (int i = 0; i < STEPS - 1; i++) repetition->step_ns[i] = step_time_us * 1e3 + i;
    for (int i = 0; i < LOSS_STEPS; i++) repetition->losses[i] = 2.3f - 0.1f * (float)i;
    repetition->warmup_steps = 10;
    repetition->warmed_up = true;
    repetition->vitals[0] = repetition->vitals[1] = device_vitals_unknown;
}

/* As the verdict leaves an expectation that held. */
static void expect(struct scenario_result *result)
{
    for (int i = 0; i < 2; i++) {
        result->expectations[i] = (struct expectation_result){
            .expectation = &result->scenario->expect[i],
            .outcome = OUTCOME_MET,
            .effect = { 1, 0.05, 20, 20, 20, 0.96 },
        };
        if (result->scenario->expect[i].metric == METRIC_STEP_TIME)
            result->expectations[i].effect = result->step_time;
    }
    result->expectations[0].effect = (struct effect){ 1, 0, INFINITY, INFINITY, INFINITY, 0.96 };
    result->expectation_count = 2;
}

/* Pairs of repetitions with these step times in us, each 1 us longer than the last. */
static void fill_pairs(struct scenario_result *result, int pairs, double before, double after)
{
    result->pairs = pairs;
    for (int variant = 0; variant < VARIANT_COUNT; variant++) {
        result->repetitions[variant] = calloc((size_t)pairs, sizeof(struct repetition));
        if (result->repetitions[variant] == NULL)
            abort();
        for (int i = 0; i < pairs; i++)
            fill(&result->repetitions[variant][i],
                 (variant == VARIANT_BEFORE ? before : after) + i);
    }
    result->losses_agree = true;
    result->seconds = 8.25;
}

void fixture_reproduced(struct scenario_result *result, int pairs)
{
    start(result, "item_sync");
    result->verdict = VERDICT_REPRODUCED;
    fill_pairs(result, pairs, 1500, 1000);
    result->step_time = (struct effect){ 1504, 1004, 1.498, 1.494, 1.5, 0.96 };
    result->balance = (struct balance_result){ true, 700e3, 1000e3, 0.7, 96 };
    expect(result);
}

void fixture_skipped(struct scenario_result *result)
{
    start(result, "loader_workers");
    result->verdict = VERDICT_SKIPPED;
    result->losses_agree = true;
    result->loss_difference = NAN;
    result->step_time = (struct effect){ NAN, NAN, NAN, NAN, NAN, NAN };
    snprintf(result->reason, sizeof result->reason,
             "device over host work is 0.2, outside 0.4 to 0.8; the folder is \"caf\xe9\"");
}

void fixture_aa(struct scenario_result *result, int pairs)
{
    start(result, "small_batch");
    result->protocol.aa = true;
    result->verdict = VERDICT_NO_DIFFERENCE;
    fill_pairs(result, pairs, 1500, 1470);
    result->step_time = (struct effect){ 1504, 1474, 1.02, 1.02, 1.02, 0.96 };
}

void fixture_not_reproduced(struct scenario_result *result, int pairs)
{
    fixture_reproduced(result, pairs);
    result->verdict = VERDICT_NOT_REPRODUCED;
    snprintf(result->reason, sizeof result->reason, "step_time shrank too little");
    result->expectations[1].outcome = OUTCOME_NOT_MET;
    snprintf(result->expectations[1].reason, sizeof result->expectations[1].reason,
             "step_time: 1.10x faster (1.05 to 1.15), expected at least 1.25x faster");
}

void fixture_release(struct scenario_result *result)
{
    for (int variant = 0; variant < VARIANT_COUNT; variant++) {
        for (int i = 0; i < result->pairs; i++) free(result->repetitions[variant][i].step_ns);
        free(result->repetitions[variant]);
    }
}
