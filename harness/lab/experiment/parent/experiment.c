/* The child's records are taken as they come, in any order: a repetition goes to its place among
 * the pairs, and what was not asked for is dropped. Only when the child has ended is it known which
 * pairs are whole. From these the verdict is given, unless the child itself said why there is none,
 * or ended in another way than it should. Traces come last, from children of their own, and cannot
 * change the verdict. */
#include "harness/lab/experiment/parent/experiment.h"

#include "harness/base/clock.h"
#include "harness/base/rows.h"
#include "harness/base/system/machine.h"
#include "harness/base/words/text.h"
#include "harness/lab/experiment/parent/arguments.h"
#include "harness/lab/experiment/parent/launcher.h"
#include "harness/lab/experiment/parent/process.h"
#include "harness/lab/experiment/parent/variant_diagnosis.h"
#include "harness/lab/experiment/records.h"
#include "harness/lab/experiment/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS_MOST = 10000 };

/* The records of the child so far. The arrays of the result have room for all pairs; `arrived` says
 * which repetitions are there. */
struct collector {
    struct scenario_result *result;
    bool *arrived[VARIANT_COUNT];
    int done;
    bool ended, skipped, failed; /* according to the child's records */
    char text[1024];             /* of skipped and failed */
    experiment_progress *progress;
    void *context;
    struct process *child;
    int64_t begin_ns; /* the child's time */
    struct record record;
};

static int pairs_most(const struct scenario_result *result)
{
    return result->protocol.repetitions + result->protocol.extra;
}

static int complete_pairs(const struct collector *collector)
{
    int count = 0;

    for (int i = 0; i < pairs_most(collector->result); i++)
        count += collector->arrived[VARIANT_BEFORE][i] && collector->arrived[VARIANT_AFTER][i];
    return count;
}

/* The pairs that are certain to come: once one more than those has begun, its whole group is. */
static int pairs_expected(const struct collector *collector)
{
    int planned = collector->result->protocol.repetitions, groups;
    int begun = (collector->done + VARIANT_COUNT - 1) / VARIANT_COUNT, most;

    if (begun <= planned)
        return planned;
    groups = (begun - planned + EXTRA_PAIRS - 1) / EXTRA_PAIRS;
    most = pairs_most(collector->result);
    return planned + groups * EXTRA_PAIRS < most ? planned + groups * EXTRA_PAIRS : most;
}

/* `done`: of all pairs, or before each trace of all traces, 0 to 1. */
static void report_progress(const struct collector *collector, const char *part, int number,
                            int total, double done)
{
    /* Two traces take about as long as the pairs: 45% to 71% of a scenario's time, measured in
     * quick and whole runs of launch_overhead and precision on two cores of a Xeon. */
    double pairs = collector->result->protocol.traces != NULL ? 0.5 : 1;
    bool is_trace = strcmp(part, "trace") == 0;
    const struct experiment_state state = {
        .part = part,
        .number = number < total ? number : total,
        .total = total,
        .share = is_trace ? pairs + (1 - pairs) * done : pairs * done,
    };

    if (collector->progress != NULL)
        collector->progress(collector->context, collector->result->scenario, &state);
}

static void report_pairs(const struct collector *collector)
{
    int total = pairs_expected(collector);

    report_progress(collector, "pair", 1 + complete_pairs(collector), total,
                    (double)collector->done / (VARIANT_COUNT * total));
}

/* Each record gives the child its time anew: a slow host only takes longer, and a child that
 * hangs still ends. */
static void extend_time(struct collector *collector)
{
    const struct protocol *protocol = &collector->result->protocol;
    double so_far = (double)(clock_ns() - collector->begin_ns) * 1e-9;

    collector->child->timeout_seconds = so_far + protocol->timeout_seconds;
    if (protocol->most_seconds > 0)
        collector->child->timeout_seconds =
            fmin(collector->child->timeout_seconds, protocol->most_seconds);
}

/* Takes over the record's step_ns. A repetition that nobody asked for, or that comes twice, is
 * dropped. */
static void take_repetition(struct collector *collector)
{
    struct record *record = &collector->record;
    struct scenario_result *result = collector->result;

    if (record->index >= pairs_most(result) || collector->arrived[record->variant][record->index])
        return;
    result->repetitions[record->variant][record->index] = record->repetition;
    record->repetition.step_ns = NULL;
    collector->arrived[record->variant][record->index] = true;
    collector->done++;
    report_pairs(collector);
}

static void take_line(void *context, const char *line)
{
    struct collector *collector = context;
    struct record *record = &collector->record;
    struct scenario_result *result = collector->result;

    if (!record_parse(record, line))
        return;
    extend_time(collector);
    switch (record->type) {
    case RECORD_SCENARIO:
        result->device = record->device;
        result->balance = record->balance;
        memcpy(result->settings, record->settings, sizeof result->settings);
        memcpy(result->fp32, record->fp32, sizeof result->fp32);
        if (record->window_seconds > 0)
            result->protocol.window_seconds = record->window_seconds;
        report_pairs(collector);
        break;
    case RECORD_WINDOW:
        result->protocol.window_seconds = record->window_seconds;
        break;
    case RECORD_REPETITION:
        take_repetition(collector);
        break;
    case RECORD_SKIPPED:
    case RECORD_ERROR:
        *(record->type == RECORD_SKIPPED ? &collector->skipped : &collector->failed) = true;
        memcpy(collector->text, record->text, sizeof collector->text);
        break;
    case RECORD_PROGRESS:
    case RECORD_TRACING: /* not from this child */
        break;
    case RECORD_END:
        collector->ended = true;
        break;
    case RECORD_TYPE_COUNT:
        break;
    }
    record_release(record);
}

/* Keeps the pairs that are complete, in order, and frees the rest. */
static void keep_pairs(struct collector *collector)
{
    struct scenario_result *result = collector->result;
    int kept = 0;

    for (int i = 0; i < pairs_most(result); i++) {
        bool both = collector->arrived[VARIANT_BEFORE][i] && collector->arrived[VARIANT_AFTER][i];
        for (int v = 0; v < VARIANT_COUNT; v++) {
            struct repetition *repetition = &result->repetitions[v][i];
            struct repetition taken = *repetition;
            memset(repetition, 0, sizeof *repetition);
            if (both)
                result->repetitions[v][kept] = taken;
            else
                free(taken.step_ns);
        }
        kept += both;
    }
    result->pairs = kept;
}

static enum status conclude_child(struct collector *collector, const struct process_report *report)
{
    struct scenario_result *result = collector->result;

    result->unmeasured = true;
    if (collector->skipped || collector->failed) {
        result->verdict = collector->failed ? VERDICT_FAILED : VERDICT_SKIPPED;
        snprintf(result->reason, sizeof result->reason, "%s", collector->text);
        if (!collector->failed)
            verdict_blame_others(result);
    } else if (!collector->ended || report->end != PROCESS_EXITED || report->code != 0) {
        result->verdict = VERDICT_FAILED;
        /* Says why a child failed that did not end as it should, with its last words. */
        char how[128];
        process_describe(report, how, sizeof how);
        if (report->end == PROCESS_EXITED && report->code == 0)
            snprintf(how, sizeof how, "ended before it was done");
        snprintf(result->reason, sizeof result->reason, "its process %s after %d of %d pairs%s%s",
                 how, complete_pairs(collector), pairs_expected(collector),
                 report->last_words[0] != '\0' ? "; its last words: " : "", report->last_words);
        if (report->end == PROCESS_TIMED_OUT)
            verdict_blame_others(result);
    } else {
        result->unmeasured = false;
        TRY(verdict_give(result));
        /* A child may also have ended since, without what others took, its pairs decided. */
        if (result->verdict == VERDICT_UNDECIDED && result->pairs < pairs_most(result) &&
            (double)(clock_ns() - collector->begin_ns) * 1e-9 > result->protocol.timeout_seconds)
            text_append(result->reason, sizeof result->reason,
                        "; no more than %d pairs, since these took more than %g s", result->pairs,
                        result->protocol.timeout_seconds);
    }

    return STATUS_OK;
}

static enum status open_collector(struct collector *collector)
{
    struct scenario_result *result = collector->result;

    for (int v = 0; v < VARIANT_COUNT; v++) {
        TRY(rows_make(&result->repetitions[v], pairs_most(result)));
        TRY(rows_make(&collector->arrived[v], pairs_most(result)));
    }

    return STATUS_OK;
}

static enum status make_traces(const struct collector *collector, const char *program,
                               const volatile sig_atomic_t *stop)
{
    for (int v = 0; v < VARIANT_COUNT; v++) {
        report_progress(collector, "trace", 1 + v, VARIANT_COUNT, (double)v / VARIANT_COUNT);
        TRY(variant_trace_make(collector->result, (enum variant)v, program, stop));
    }

    return STATUS_OK;
}

#define LOSS_SECONDS 0.2 /* less is too short for the kernel's ticks of 10 ms to tell the load */

static void open_result(struct scenario_result *result, const struct scenario *scenario,
                        const struct protocol *protocol)
{
    *result = (struct scenario_result){ .scenario = scenario, .protocol = *protocol };
    /* Until a verdict is given: an experiment that ends before has failed. */
    result->verdict = VERDICT_FAILED;
    result->step_time = (struct effect){ NAN, NAN, NAN, NAN, NAN, 0 };
    result->cpu_loss = (struct cpu_loss){ NAN, NAN, 0 };
    result->cpu_quota = machine_quota();
}

/* Why the ranks that a scenario needs cannot be started here; false: they can, or it needs one. */
static bool lacks_ranks(const struct scenario *scenario, const struct protocol *protocol,
                        const struct device_properties *device, char *reason, size_t size)
{
    int ranks = protocol_ranks(protocol, scenario);
    struct launcher launcher;

    if (ranks == 1)
        return false;
    if (device->is_gpu && device->peers + 1 < ranks)
        snprintf(reason, size, "%d ranks need a GPU each, and this process sees %d", ranks,
                 device->peers + 1);
    else if (launcher_find(&launcher, ranks) != STATUS_OK)
        snprintf(reason, size, "%s", status_last()->text);
    else
        return false;
    return true;
}

bool experiment_skips(struct scenario_result *result, const struct scenario *scenario,
                      const struct protocol *protocol, const struct device_properties *device)
{
    char reason[sizeof result->reason];

    if (!where_holds(scenario->needs, device)) {
        /* Says what the scenario needs and the device lacks, and names the quota that may be why.
         */
        double quota = device->shares_host_cores ? machine_quota() : 0;

        snprintf(reason, sizeof reason, "the bottleneck shows only %s; this is the %s",
                 wheres[scenario->needs].text, device->name);
        if (quota > 0)
            text_append(reason, sizeof reason, ", as a control group's quota is %.3g core%s", quota,
                        quota == 1 ? "" : "s");
    } else if (!lacks_ranks(scenario, protocol, device, reason, sizeof reason))
        return false;
    open_result(result, scenario, protocol);
    result->verdict = VERDICT_SKIPPED;
    result->device = *device;
    memcpy(result->reason, reason, sizeof result->reason);
    return true;
}

enum status experiment_run(struct scenario_result *result, const char *program,
                           const struct scenario *scenario, const struct protocol *protocol,
                           experiment_progress *progress, void *context,
                           const volatile sig_atomic_t *stop)
{
    struct collector collector = { .result = result, .progress = progress, .context = context };
    struct arguments arguments;
    struct process_report report;
    struct cpu_times first, second;
    int64_t begin_ns = clock_ns();
    enum status status = STATUS_OK;
    struct process child = { .program = program,
                             .arguments = arguments.list,
                             .kept = protocol->lock,
                             .softly = protocol_ranks(protocol, scenario) > 1,
                             .stop = stop,
                             .line = take_line,
                             .context = &collector };

    open_result(result, scenario, protocol);
    if (protocol->repetitions < 1 || protocol->repetitions > REPETITIONS_MOST)
        FAIL_OUT(STATUS_BAD_USAGE, "%d repetitions; give 1 to %d", protocol->repetitions,
                 REPETITIONS_MOST);
    TRY_OUT(open_collector(&collector));
    collector.child = &child;
    collector.begin_ns = begin_ns;
    extend_time(&collector);
    arguments_exec(&arguments, scenario, protocol);
    /* Lost processor time counts only while pairs run: the verdict does not depend on the
     * traces. */
    cpu_times_read(&first, "");
    TRY_OUT(process_run(&child, &report));
    cpu_times_read(&second, "");
    if (second.now - first.now >= LOSS_SECONDS)
        result->cpu_loss = cpu_loss_between(&first, &second);
    if (report.end == PROCESS_INTERRUPTED)
        FAIL_OUT(STATUS_INTERRUPTED, "%s was interrupted after %d of %d pairs", scenario->name,
                 complete_pairs(&collector), pairs_expected(&collector));
    keep_pairs(&collector);
    TRY_OUT(conclude_child(&collector, &report));
    if (protocol->traces != NULL && !result->unmeasured && result->verdict != VERDICT_SKIPPED &&
        result->verdict != VERDICT_FAILED)
        TRY_OUT(make_traces(&collector, program, stop));
    variant_diagnosis_make(result);

out:
    for (int v = 0; v < VARIANT_COUNT; v++) free(collector.arrived[v]);
    result->seconds = (double)(clock_ns() - begin_ns) * 1e-9;
    if (status != STATUS_OK)
        snprintf(result->reason, sizeof result->reason, "%s", status_last()->text);
    return status;
}
