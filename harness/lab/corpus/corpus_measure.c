#include "harness/lab/corpus/corpus_measure.h"

#include "harness/base/clock.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/lab/experiment/own_scenario.h"
#include "harness/lab/experiment/parent/variant_traces.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside another bottleneck, a fix gains a smaller part of the step, which takes more pairs to
 * tell. */
enum { QUESTIONS_MOST = CORPUS_CAUSES + 1, EXTRA = 3, EXTRA_OF_TWO = 9 };

static const struct effect unknown = { NAN, NAN, NAN, NAN, NAN, 0 };

void corpus_file(char file[CORPUS_FILE], const struct corpus_item *item)
{
    snprintf(file, CORPUS_FILE, "%s.json.gz", item->name);
}

/* --- Questions --- */

static bool is_of_time(enum metric metric)
{
    return metric == METRIC_STEP_TIME || metric == METRIC_STEP_TIME_P95 ||
           metric == METRIC_SAMPLES_PER_SECOND || metric == METRIC_TOKENS_PER_SECOND;
}

static bool is_of_memory(enum metric metric)
{
    return metric == METRIC_ACTIVATION_PEAK || metric == METRIC_MEMORY_PEAK ||
           metric == METRIC_MEMORY_GROWTH || metric == METRIC_MEMORY_RESERVED ||
           metric == METRIC_RESERVED_RATIO;
}

struct expectation corpus_promise(const struct scenario *scenario)
{
    const struct expectation step_time = { .metric = METRIC_STEP_TIME, .direction = SHRINKS };

    for (const struct expectation *e = scenario->expect; !expectation_is_end(e); e++)
        if (!e->is_cost && is_of_time(e->metric))
            return step_time;
    return is_of_memory(scenario->expect[0].metric) ? scenario->expect[0] : step_time;
}

/* All fixes at once; the losses then agree as far as the loosest check asks. */
static void merge(struct own_change *change, const struct corpus_item *item, char texts[3][160])
{
    for (int i = 0; i < 3; i++) texts[i][0] = '\0';
    for (int i = 0; i < item->cause_count; i++) {
        const struct scenario *cause = item->causes[i];
        const char *parts[] = { cause->knob, cause->before, cause->after };
        for (int t = 0; t < 3; t++)
            text_append(texts[t], sizeof texts[t], "%s%s", i > 0 ? "," : "", parts[t]);
        if (cause->loss > change->loss)
            change->loss = cause->loss;
    }
    change->knob = texts[0];
    change->before = texts[1];
    change->after = texts[2];
}

/* Question number `index`: the fix of that cause, or all of them; of a healthy item, no change at
 * all. */
static enum status ask(struct own_scenario *own, const struct corpus_item *item, int index)
{
    struct own_change change = { "seed", "1", "1", METRIC_STEP_TIME, SHRINKS, LOSS_IDENTICAL };
    char base[OWN_SCENARIO_TEXT], texts[3][160];

    if (index < item->cause_count) {
        const struct scenario *cause = item->causes[index];
        struct expectation promise = corpus_promise(cause);
        change = (struct own_change){ cause->knob,    cause->before,     cause->after,
                                      promise.metric, promise.direction, cause->loss };
    } else if (item->cause_count > 0) {
        merge(&change, item, texts);
    }
    TRY(knobs_print(&item->config, base, sizeof base));
    TRY(own_scenario_make(own, item->name, base, &change));

    return STATUS_OK;
}

static int questions(const struct corpus_item *item)
{
    return item->kind == CORPUS_TWO ? QUESTIONS_MOST : 1;
}

/* --- Timing --- */

/* One question of several, as the item's share of time. The trace takes about as long as a
 * question. */
struct stage {
    const struct corpus_order *order;
    int number, total;
};

static void show(void *context, const struct scenario *scenario,
                 const struct experiment_state *state)
{
    const struct stage *stage = context;
    struct experiment_state whole = *state;

    whole.share = (stage->number + state->share) / stage->total;
    if (stage->order->progress != NULL)
        stage->order->progress(stage->order->context, scenario, &whole);
}

static void take(struct corpus_measured *measured, const struct corpus_item *item, int index,
                 const struct scenario_result *result)
{
    if (result->verdict == VERDICT_FAILED || result->verdict == VERDICT_SKIPPED) {
        snprintf(measured->reason, sizeof measured->reason, "%s", result->reason);
        return;
    }
    measured->device = result->device;
    snprintf(measured->settings, sizeof measured->settings, "%s", result->settings[VARIANT_BEFORE]);
    if (item->cause_count == 0) {
        measured->same = result->step_time;
    } else if (index == item->cause_count) {
        measured->together = result->step_time;
    } else {
        measured->alone[index].step_time = result->step_time;
        measured->alone[index].effect = result->expectations[0].effect;
    }
}

static enum status measure(struct corpus_measured *measured, const struct corpus_item *item,
                           const struct corpus_order *order, int index)
{
    enum status status = STATUS_OK;
    struct scenario_result result = { .verdict = VERDICT_FAILED };
    struct protocol protocol = order->protocol;
    struct stage stage = { order, index, questions(item) + 1 };
    struct own_scenario own;
    int most = item->kind == CORPUS_TWO ? EXTRA_OF_TWO : EXTRA;

    protocol.traces = NULL;
    protocol.seed = item->seed;
    protocol.extra = protocol.extra < most ? protocol.extra : most;
    protocol.aa = item->cause_count == 0;
    TRY_OUT(ask(&own, item, index));
    TRY_OUT(experiment_run(&result, order->program, &own.scenario, &protocol, show, &stage,
                           order->stop));
    take(measured, item, index, &result);

out:
    scenario_result_release(&result);
    return status;
}

/* --- The trace --- */

static enum status rename_trace(const struct corpus_item *item, const char *folder,
                                const char *written)
{
    char from[PATH_MAX], to[PATH_MAX], file[CORPUS_FILE];

    corpus_file(file, item);
    if ((size_t)snprintf(from, sizeof from, "%s/%s", folder, written) >= sizeof from ||
        (size_t)snprintf(to, sizeof to, "%s/%s", folder, file) >= sizeof to)
        FAIL(STATUS_BAD_USAGE, "the path %.60s... is too long; choose a shorter one", folder);
    if (rename(from, to) != 0)
        FAIL(STATUS_IO, "cannot rename %.300s: %s", from, strerror(errno));

    return STATUS_OK;
}

/* A child that was ended leaves what would have become its trace (atomic_file.h). */
static void remove_unfinished(const struct corpus_item *item, const char *folder)
{
    DIR *stream = opendir(folder);
    char begin[CORPUS_FILE];
    struct dirent *entry;

    if (stream == NULL)
        return;
    snprintf(begin, sizeof begin, "%s.%s.", item->name, variant_name(VARIANT_BEFORE));
    while ((entry = readdir(stream)) != NULL)
        if (strncmp(entry->d_name, begin, strlen(begin)) == 0)
            unlinkat(dirfd(stream), entry->d_name, 0);
    closedir(stream);
}

static enum status trace(struct corpus_measured *measured, const struct corpus_item *item,
                         const struct corpus_order *order)
{
    enum status status = STATUS_OK;
    struct scenario_result *result;
    struct stage stage = { order, questions(item), questions(item) + 1 };
    const struct experiment_state state = { .part = "trace", .number = 1, .total = 1 };
    struct own_scenario own;

    TRY_OUT(rows_make(&result, 1));
    TRY_OUT(ask(&own, item, 0));
    result->scenario = &own.scenario;
    result->protocol = order->protocol;
    result->protocol.seed = item->seed;
    result->protocol.unnamed = true;
    result->step_time.before =
        item->cause_count > 0 ? measured->alone[0].step_time.before : measured->same.before;
    show(&stage, &own.scenario, &state);
    TRY_OUT(variant_trace_make(result, VARIANT_BEFORE, order->program, order->stop));
    measured->tracing = result->tracing[VARIANT_BEFORE];
    if (measured->tracing.file[0] == '\0')
        snprintf(measured->reason, sizeof measured->reason, "%s", measured->tracing.reason);
    else
        TRY_OUT(rename_trace(item, order->protocol.traces, measured->tracing.file));

out:
    remove_unfinished(item, order->protocol.traces);
    if (result != NULL)
        scenario_result_release(result);
    free(result);
    return status;
}

/* --- The answer --- */

/* By its fix alone: where another bottleneck hides it, a trace cannot show what it costs. */
static bool shows(const struct corpus_gain *own)
{
    const struct confidence_interval interval = { own->effect.low, INFINITY, own->effect.coverage };

    return stats_interval_is_enough(&interval) &&
           own->effect.low >= 1 + LEAST_EFFECT_PERCENT / 100.0;
}

enum status corpus_measure(struct corpus_measured *measured, const struct corpus_item *item,
                           const struct corpus_order *order)
{
    enum status status = STATUS_OK;
    int64_t begin_ns = clock_ns();

    *measured = (struct corpus_measured){ .together = unknown, .same = unknown };
    for (int i = 0; i < item->cause_count; i++)
        measured->alone[i] =
            (struct corpus_gain){ unknown, unknown, corpus_promise(item->causes[i]).metric };
    for (int i = 0; i < questions(item) && measured->reason[0] == '\0'; i++)
        TRY_OUT(measure(measured, item, order, i));
    if (measured->reason[0] == '\0')
        TRY_OUT(trace(measured, item, order));
    if (measured->reason[0] != '\0' && order->stop != NULL && *order->stop != 0)
        FAIL_OUT(STATUS_INTERRUPTED, "stopped while %s was measured", item->name);
    for (int i = 0; i < item->cause_count; i++)
        measured->is_measurable[i] = shows(&measured->alone[i]);

out:
    measured->seconds = (double)(clock_ns() - begin_ns) * 1e-9;
    return status;
}
