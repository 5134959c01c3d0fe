/* A timing child from the device to the last record: settings and balance, the pair that does not
 * count, windows planned from its step times, then pairs while they are needed. The child keeps
 * what it measured, without the single steps, and gives verdicts on it, only to know whether it
 * needs more pairs. */
#include "harness/lab/experiment/child/timing.h"

#include "harness/base/clock.h"
#include "harness/base/figures/quantity.h"
#include "harness/base/random.h"
#include "harness/base/rows.h"
#include "harness/lab/experiment/child/resolution.h"
#include "harness/lab/experiment/child/session.h"
#include "harness/lab/experiment/child/window.h"
#include "harness/lab/experiment/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ORDER_STREAM = 0x70616972, /* of random numbers: "pair" */
    LONGER_MOST = 2, /* times as long as asked for, a window becomes for the sake of four slices */
};

struct timing {
    struct session session;
    struct device *device;
    enum variant only; /* VARIANT_COUNT: both */
    struct window_plan plan;
    double longest; /* seconds of a window that is not shortened */
    double pilot[VARIANT_COUNT][METRIC_COUNT];
    int64_t begin_ns;
    bool apart; /* the device does not hold both runs of a pair: one comes after the other */
    struct scenario_result so_far; /* what was measured, without the single steps */
};

static bool is_run(const struct timing *timing, enum variant variant)
{
    return timing->only == VARIANT_COUNT || timing->only == variant;
}

static bool is_fp32(const struct training_config *config)
{
    return config->model.precision == PRECISION_FP32;
}

static enum status send_scenario(struct timing *timing)
{
    struct session *session = &timing->session;
    struct record *record = &session->record;

    memset(record, 0, sizeof *record);
    record->type = RECORD_SCENARIO;
    record->device = *device_properties(timing->device);
    record->balance = session->balance;
    record->window_seconds = timing->plan.seconds;
    for (int v = 0; v < VARIANT_COUNT; v++) {
        TRY(knobs_print(&session->configs[v], record->settings[v], sizeof record->settings[v]));
        record->fp32[v] = is_fp32(&session->configs[v]);
    }
    return session_send(session);
}

/* Sends a repetition and keeps what the verdict so far needs of it. */
static enum status send_repetition(struct timing *timing, enum variant variant, int index,
                                   struct repetition *repetition)
{
    struct record *record = &timing->session.record;
    enum status status = STATUS_OK;

    memset(record, 0, sizeof *record);
    record->type = RECORD_REPETITION;
    record->variant = variant;
    record->index = index;
    record->repetition = *repetition;
    *repetition = (struct repetition){ 0 };
    TRY_OUT(session_send(&timing->session));
    timing->so_far.repetitions[variant][index] = record->repetition;
    timing->so_far.repetitions[variant][index].step_ns = NULL;
    timing->so_far.repetitions[variant][index].step_count = 0;

out:
    record_release(record);
    return status;
}

/* Whether the bottleneck costs anything on this machine. UNSUPPORTED, with both numbers, if it does
 * not. */
static enum status check_cost(const struct timing *timing)
{
    const struct least_cost *least = &timing->session.scenario->least_cost;
    const double *pilot = timing->pilot[least->variant];
    double cost_us = pilot[least->metric], step_us = pilot[METRIC_STEP_TIME];

    if (least->metric == METRIC_NONE || cost_us >= least->share * step_us)
        return STATUS_OK;
    FAIL(STATUS_UNSUPPORTED, "%s is %s, %.2g%% of a step's %s; the effect shows only from %g%% on",
         metric_text(least->metric), quantity_time(cost_us * 1e3).text, 100 * cost_us / step_us,
         quantity_time(step_us * 1e3).text, 100 * least->share);
}

/* Plans windows of `seconds`, and says so if that is another length. */
static enum status plan_windows(struct timing *timing, double seconds)
{
    struct session *session = &timing->session;
    bool both = timing->only == VARIANT_COUNT;
    double step_ns[VARIANT_COUNT], said = timing->plan.seconds;

    for (int v = 0; v < VARIANT_COUNT; v++) step_ns[v] = timing->pilot[v][METRIC_STEP_TIME] * 1e3;
    timing->plan.seconds = seconds;
    window_plan_steps(&timing->plan, &step_ns[both ? 0 : timing->only], both ? VARIANT_COUNT : 1);
    if (!(seconds < said || seconds > said))
        return STATUS_OK;
    memset(&session->record, 0, sizeof session->record);
    session->record.type = RECORD_WINDOW;
    session->record.window_seconds = seconds;
    return session_send(session);
}

/* As long as they have to be for what is promised. One variant alone promises nothing. */
static double seconds_needed(struct timing *timing)
{
    const struct session *session = &timing->session;
    const struct device_properties *device = device_properties(timing->device);
    double margin =
        timing->only != VARIANT_COUNT
            ? 0
            : resolution_margin(session->scenario, session->protocol->aa, device, timing->pilot);

    return fmax(resolution_seconds(session->protocol->shortest_seconds, timing->longest, margin),
                device->window_seconds_least);
}

/* The pair that does not count: it warms up files, pools and primitives. Its metrics give the
 * length of a window, and its step times the number of steps. */
static enum status run_pilot_pair(struct timing *timing)
{
    bool both = timing->only == VARIANT_COUNT;
    const struct training_config *configs = &timing->session.configs[both ? 0 : timing->only];
    int count = both ? VARIANT_COUNT : 1;
    enum status status = STATUS_OK;

    timing->plan.period = training_period(configs, count);
    for (int i = 0; i < count; i++) {
        enum variant variant = both ? (enum variant)i : timing->only;
        TRY_OUT(window_pilot(timing->device, &configs[i], &timing->plan, timing->pilot[variant]));
        if (variant == timing->session.scenario->least_cost.variant)
            TRY_OUT(check_cost(timing));
        TRY_OUT(session_progress(&timing->session));
    }
    TRY_OUT(plan_windows(timing, seconds_needed(timing)));

out:
    if (status != STATUS_OK)
        status_context("first pair");
    return status;
}

/* Both runs in turns, or, once the device turned out too small for that, one after the other. */
static enum status run_windows(struct timing *timing, struct window_run *runs, int count,
                               int *failed)
{
    enum status status = STATUS_OK;

    if (!timing->apart) {
        status = window_pair(runs, count, timing->device, &timing->plan, failed);
        timing->apart = status == STATUS_DEVICE_OUT_OF_MEMORY && count > 1;
        if (!timing->apart)
            goto out;
        TRY_OUT(device_memory_trim(timing->device));
    }
    for (int i = 0; i < count; i++) {
        status = window_pair(&runs[i], 1, timing->device, &timing->plan, failed);
        *failed = i;
        TRY_OUT(status);
    }

out:
    return status;
}

static enum status run_pair(struct timing *timing, bool after_first, int index)
{
    struct repetition repetitions[VARIANT_COUNT] = { 0 };
    struct window_run runs[VARIANT_COUNT] = { 0 };
    enum variant variants[VARIANT_COUNT];
    int count = 0, failed = -1;
    enum status status = STATUS_OK;

    for (int i = 0; i < VARIANT_COUNT; i++) {
        enum variant variant = (i == 0) == after_first ? VARIANT_AFTER : VARIANT_BEFORE;
        if (!is_run(timing, variant))
            continue;
        runs[count].name = variant_name(variant);
        runs[count].config = &timing->session.configs[variant];
        runs[count].repetition = &repetitions[count];
        variants[count++] = variant;
    }
    TRY_OUT(run_windows(timing, runs, count, &failed));
    for (int i = 0; i < count; i++)
        TRY_OUT(send_repetition(timing, variants[i], index, &repetitions[i]));
    timing->so_far.pairs = index + 1;

out:
    for (int i = 0; i < count; i++) free(repetitions[i].step_ns);
    if (status != STATUS_OK && failed >= 0)
        status_context("%s, repetition %d", variant_name(variants[failed]), index + 1);
    else if (status != STATUS_OK)
        status_context("repetition %d", index + 1);
    return status;
}

/* All pairs of the protocol, then EXTRA_PAIRS more at a time while the verdict so far is undecided,
 * of windows that are not shortened: there is more noise than the first pair showed. One variant
 * alone has no verdict, so nothing is added; nor is anything on a host so slow that the time of a
 * repetition is over. The parent gives the verdict that counts, from the same pairs.
 *
 * In each group either variant opens half of the pairs, in shuffled order, so drift within a pair
 * affects both equally. */
static enum status run_pairs(struct timing *timing)
{
    const struct protocol *protocol = timing->session.protocol;
    int most = protocol->repetitions + protocol->extra, group = protocol->repetitions, done = 0;
    struct random random = random_seed(protocol->seed, ORDER_STREAM);
    struct scenario_result *so_far = &timing->so_far;
    uint32_t *first;
    enum status status = STATUS_OK;

    TRY_OUT(rows_make(&first, most));
    const struct session *session = &timing->session;
    so_far->scenario = session->scenario;
    so_far->protocol = *session->protocol;
    so_far->device = *device_properties(timing->device);
    for (int v = 0; v < VARIANT_COUNT; v++) {
        so_far->fp32[v] = is_fp32(&session->configs[v]);
        TRY_OUT(rows_make(&so_far->repetitions[v], most));
    }
    so_far->verdict = VERDICT_UNDECIDED;
    while (so_far->verdict == VERDICT_UNDECIDED && done < most) {
        if (group > most - done)
            group = most - done;
        for (int i = 0; i < group; i++) first[i] = (uint32_t)i % VARIANT_COUNT;
        random_shuffle(&random, first, (uint32_t)group);
        for (int i = 0; i < group; i++, done++) TRY_OUT(run_pair(timing, first[i] != 0, done));
        if (timing->only != VARIANT_COUNT)
            break;
        TRY_OUT(verdict_give(so_far));
        group = EXTRA_PAIRS;
        if ((double)(clock_ns() - timing->begin_ns) * 1e-9 > protocol->timeout_seconds)
            break;
        if (so_far->verdict == VERDICT_UNDECIDED && done < most)
            TRY_OUT(plan_windows(timing, timing->longest));
    }

out:
    free(first);
    return status;
}

static enum status run_timing(struct timing *timing)
{
    struct session *session = &timing->session;
    bool holds = false;

    TRY(session_open_device(session->protocol, (struct activity_sink){ 0 }, &timing->device));
    timing->longest = fmax(session->protocol->window_seconds,
                           device_properties(timing->device)->window_seconds_least);
    timing->plan.seconds = timing->longest;
    timing->plan.longest = LONGER_MOST * timing->longest;
    TRY(session_settle(session, timing->device));
    TRY(send_scenario(timing));
    TRY(session_check_balance(session, &holds));
    if (!holds)
        return STATUS_OK;
    TRY(run_pilot_pair(timing));
    TRY(run_pairs(timing));
    return session_send_text(session, RECORD_END, "");
}

enum status timing_child(const struct scenario *scenario, const struct protocol *protocol,
                         enum variant only, int descriptor)
{
    struct timing *timing;
    enum status status = STATUS_OK;

    TRY_OUT(rows_make(&timing, 1));
    session_start(&timing->session, scenario, protocol, descriptor);
    timing->only = only;
    timing->begin_ns = clock_ns();
    status = session_end(&timing->session, run_timing(timing));
    scenario_result_release(&timing->so_far);
    device_close(timing->device);

out:
    free(timing);
    return status;
}
