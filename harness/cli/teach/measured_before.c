#include "harness/cli/teach/measured_before.h"

#include "harness/lab/experiment/effect_words.h"
#include "harness/text/json.h"

#include <math.h>
#include <string.h>

enum status measured_before_read(struct measured_before *measured, const char *path)
{
    return benchmark_file_read(&measured->result, path, BENCHMARK_TIME);
}

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* NaN where there is none: a number that is not finite was written as null. */
static double number(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* METRIC_NONE: this version does not know it. */
static enum metric find_metric(const char *name)
{
    int metric = METRIC_COUNT - 1;

    while (metric > METRIC_NONE && strcmp(name, metric_name((enum metric)metric)) != 0) metric--;
    return (enum metric)metric;
}

/* `coverage` is that of the scenario: all its intervals come from the same pairs. */
static void print_effect(const struct page *page, const cJSON *entry, double coverage)
{
    enum metric metric = find_metric(json_text_of(entry, "metric"));
    bool shrinks = strcmp(json_text_of(entry, "direction"), "shrinks") == 0;
    const cJSON *interval = member(entry, "interval");
    const struct effect effect = {
        number(member(entry, "before")),         number(member(entry, "after")),
        number(member(entry, "effect")),         number(cJSON_GetArrayItem(interval, 0)),
        number(cJSON_GetArrayItem(interval, 1)), coverage
    };
    struct change_text change;
    char words[256];

    if (metric == METRIC_NONE || !isfinite(effect.before) || !isfinite(effect.after))
        return;
    change = effect_words(&effect, metric, shrinks ? SHRINKS : GROWS);
    snprintf(words, sizeof words, "%s%s%s%s", change.effect, change.interval[0] != '\0' ? " (" : "",
             change.interval, change.interval[0] != '\0' ? ")" : "");
    page_note(page, metric_name(metric), words);
}

void measured_before_print(const struct measured_before *measured, const struct scenario *scenario,
                           const struct page *page)
{
    const cJSON *entry =
        workload_scenario(measured->result.root, scenario->name, strlen(scenario->name));
    const cJSON *expectations = member(entry, "expectations"), *expectation;
    const char *device = json_text_of(member(entry, "device"), "name");
    char date[64];

    if (cJSON_GetArraySize(expectations) == 0)
        return;
    benchmark_file_context(&measured->result, "date", date, sizeof date);
    page_summary(page, "Measured earlier");
    page_paragraph(page, INK_PLAIN, "%s on %s, %s (%s)", json_text_of(entry, "verdict"),
                   device[0] != '\0' ? device : "an unknown device",
                   date[0] != '\0' ? date : "at an unknown date", measured->result.path);
    fputs(page->markdown ? "\n" : "", page->console.stream);
    cJSON_ArrayForEach(expectation, expectations)
        print_effect(page, expectation, number(member(entry, "coverage")));
}

void measured_before_release(struct measured_before *measured)
{
    benchmark_file_release(&measured->result);
}
