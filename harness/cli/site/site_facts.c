/* A function per kind of page, in a table. Whatever a document lacks stays empty: it may be of a
 * stranger's file. */
#include "harness/cli/site/site.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/desk/compare/comparison_output.h"
#include "harness/text/json.h"

#include <stdio.h>
#include <string.h>

static void copy(char *to, size_t size, const char *text)
{
    to[0] = '\0';
    text_append(to, size, "%s", text != NULL ? text : "");
}
#define SET(to, text) copy(to, sizeof(to), text)

/* "8 reproduced, 2 skipped": how often the elements of an array have each text as that member. */
static void count_words(char *to, size_t size, const cJSON *array, const char *name)
{
    const cJSON *one, *other;

    cJSON_ArrayForEach(one, array)
    {
        const char *word = json_text_of(one, name);
        int count = 0;
        bool is_first = true;
        cJSON_ArrayForEach(other, array)
        {
            bool same = strcmp(json_text_of(other, name), word) == 0;
            is_first = is_first && (count > 0 || !same || other == one);
            count += same;
        }
        if (is_first && word[0] != '\0')
            text_join(to, size, ", ", "%d %.40s", count, word);
    }
}

static bool has_word(const cJSON *array, const char *name, const char *word)
{
    const cJSON *one;

    cJSON_ArrayForEach(one, array)
    {
        if (strcmp(json_text_of(one, name), word) == 0)
            return true;
    }
    return false;
}

/* --- Results and benchmarks --- */

static void take_context(struct site_facts *facts, const cJSON *context)
{
    const char *device = json_text_of(context, "device_name"),
               *processor = json_text_of(context, "cpu_model");

    SET(facts->date, json_text_of(context, "date"));
    SET(facts->commit, json_text_of(context, "commit"));
    SET(facts->machine, device);
    if (processor[0] != '\0' && strstr(device, processor) == NULL)
        text_join(facts->machine, sizeof facts->machine, ", ", "%s", processor);
    if (facts->machine[0] == '\0')
        SET(facts->machine, json_text_of(context, "host_name"));
}

static void of_result(struct site_facts *facts, const cJSON *document)
{
    const cJSON *result = json_member(document, "result"), *own = json_member(result, "chokepoint"),
                *scenarios = json_member(own, "scenarios"), *kernels = json_member(own, "kernels"),
                *arms = json_member(json_member(own, "trial"), "arms");
    bool is_bad = has_word(scenarios, "verdict", "failed") ||
                  has_word(scenarios, "verdict", "not reproduced") ||
                  has_word(scenarios, "verdict", "different") ||
                  has_word(kernels, "verdict", "not as foretold") ||
                  has_word(kernels, "verdict", "failed");

    take_context(facts, json_member(result, "context"));
    count_words(facts->sentence, sizeof facts->sentence, scenarios, "verdict");
    count_words(facts->sentence, sizeof facts->sentence, kernels, "verdict");
    if (arms != NULL) {
        bool gains = has_word(arms, "verdict", "gain");
        count_words(facts->sentence, sizeof facts->sentence, arms, "verdict");
        SET(facts->verdict, gains ? "a fix gains" : "no fix gains");
        return;
    }
    facts->tone = is_bad                                        ? "bad"
                  : has_word(scenarios, "verdict", "undecided") ? "doubtful"
                                                                : "good";
    SET(facts->verdict, is_bad ? "not all as predicted" : "as predicted");
}

static void of_benchmarks(struct site_facts *facts, const cJSON *document)
{
    const cJSON *files = json_member(document, "benchmarks"), *last = NULL, *one;
    int failed = 0, rows = 0;

    cJSON_ArrayForEach(one, files)
    {
        const cJSON *row;
        last = one;
        cJSON_ArrayForEach(row, json_member(one, "rows"))
        {
            rows++;
            failed += json_text_of(row, "reason")[0] != '\0';
        }
    }
    SET(facts->date, json_text_of(last, "date"));
    SET(facts->commit, json_text_of(last, "commit"));
    SET(facts->machine, json_text_of(last, "machine"));
    facts->tone = failed > 0 ? "doubtful" : "plain";
    SET(facts->verdict, failed > 0 ? "not whole" : "measured");
    text_append(facts->sentence, sizeof facts->sentence, "%d row%s in %d file%s", rows,
                rows == 1 ? "" : "s", cJSON_GetArraySize(files),
                cJSON_GetArraySize(files) == 1 ? "" : "s");
    if (failed > 0)
        text_append(facts->sentence, sizeof facts->sentence, ", %d of them not whole", failed);
}

/* --- Traces and jobs --- */

static void of_traces(struct site_facts *facts, const cJSON *document)
{
    static const char *const severities[] = { "critical", "major", "minor" };
    const cJSON *diagnosis = json_member(document, "diagnosis"),
                *traces = json_member(diagnosis, "traces"), *run = json_member(diagnosis, "run"),
                *one;
    const cJSON *first = cJSON_IsObject(run) ? run : cJSON_GetArrayItem(traces, 0);
    size_t worst = ARRAY_SIZE(severities);

    cJSON_ArrayForEach(one, traces) for (size_t i = 0; i < worst;
                                         i++) if (has_word(json_member(one, "findings"), "severity",
                                                           severities[i])) worst = i;
    SET(facts->machine, json_text_of(json_member(cJSON_GetArrayItem(traces, 0), "device"), "name"));
    SET(facts->sentence, json_text_of(first, "headline"));
    if (first == NULL && cJSON_GetArraySize(json_member(diagnosis, "snapshots")) > 0)
        text_append(facts->sentence, sizeof facts->sentence, "%d snapshots of memory",
                    cJSON_GetArraySize(json_member(diagnosis, "snapshots")));
    facts->tone = worst < 2 ? "bad" : worst == 2 ? "doubtful" : "plain";
    SET(facts->verdict, worst < ARRAY_SIZE(severities) ? severities[worst] : "nothing found");
}

static void of_job(struct site_facts *facts, const cJSON *document)
{
    const cJSON *job = json_member(document, "job"), *findings = json_member(job, "findings");
    int count = cJSON_GetArraySize(findings);
    bool is_explained = cJSON_IsTrue(json_member(job, "explained"));

    facts->tone = count > 0 ? "bad" : is_explained ? "good" : "doubtful";
    text_append(facts->verdict, sizeof facts->verdict, "%d finding%s", count,
                count == 1 ? "" : "s");
    SET(facts->sentence, count > 0 ? json_text_of(cJSON_GetArrayItem(findings, 0), "text")
                         : is_explained
                             ? "no rank, node or group delays the others"
                             : "the collectives in these digests do not explain the step");
}

/* --- Histories and fleets --- */

static void of_row(char *to, size_t size, const cJSON *row)
{
    const cJSON *changes = json_member(row, "changes"),
                *last = cJSON_GetArrayItem(changes, cJSON_GetArraySize(changes) - 1);
    const char *verdict = json_text_of(row, "verdict");

    text_append(to, size, "%.120s is %s", json_text_of(row, "row"), verdict);
    if (last != NULL)
        text_append(to, size, ", %s since %.10s%s%.12s",
                    comparison_percent(json_number_of(row, "change")).text,
                    json_text_of(last, "date"), json_text_of(last, "commit")[0] != '\0' ? ", " : "",
                    json_text_of(last, "commit"));
    else if (json_number_of(row, "drift") != 0)
        text_append(to, size, ", by a drift of %s",
                    comparison_percent(json_number_of(row, "drift")).text);
}

/* The row that matters most: the first of the worst verdict. */
static const cJSON *worst_row(const cJSON *rows)
{
    static const char *const order[] = { "slower", "moved", "no longer measured", "faster" };
    const cJSON *row;

    for (size_t i = 0; i < ARRAY_SIZE(order); i++) cJSON_ArrayForEach(row, rows)
        {
            if (strcmp(json_text_of(row, "verdict"), order[i]) == 0)
                return row;
        }
    return NULL;
}

/* The last run of all rows says when and what was measured. */
static void take_last_run(struct site_facts *facts, const cJSON *rows)
{
    const cJSON *row;

    cJSON_ArrayForEach(row, rows)
    {
        const cJSON *dates = json_member(row, "dates"), *commits = json_member(row, "commits");
        int last = cJSON_GetArraySize(dates) - 1;
        const char *date = cJSON_GetStringValue(cJSON_GetArrayItem(dates, last));

        if (date == NULL || strcmp(date, facts->date) <= 0)
            continue;
        SET(facts->date, date);
        SET(facts->commit, cJSON_GetStringValue(cJSON_GetArrayItem(commits, last)));
        SET(facts->machine, json_text_of(row, "machine"));
    }
}

static void of_history(struct site_facts *facts, const cJSON *document)
{
    const cJSON *history = json_member(document, "history"), *rows = json_member(history, "rows");
    const cJSON *worst = worst_row(rows);
    double end = json_number_of(history, "exit_code");
    int count = cJSON_GetArraySize(rows);

    take_last_run(facts, rows);
    facts->tone = end == GATE_PASSED ? "good" : end == GATE_FAILED ? "bad" : "doubtful";
    SET(facts->verdict,
        end == GATE_PASSED ? "nothing slower" : json_text_of(history, "not_passed_because"));
    if (worst != NULL)
        of_row(facts->sentence, sizeof facts->sentence, worst);
    else
        text_append(facts->sentence, sizeof facts->sentence, "no change in %d row%s", count,
                    count == 1 ? "" : "s");
}

/* The first kind of a fleet of several has the most machines. */
static void of_fleet(struct site_facts *facts, const cJSON *document)
{
    const cJSON *fleet = json_member(document, "fleet"), *out = json_member(fleet, "out"),
                *kind = cJSON_GetArrayItem(json_member(fleet, "kinds"), 0),
                *outlier = cJSON_GetArrayItem(json_member(kind, "outliers"), 0), *node;
    int count = cJSON_GetArraySize(out);
    bool tells = cJSON_IsTrue(json_member(fleet, "tells"));

    cJSON_ArrayForEach(node, json_member(kind, "nodes"))
    {
        if (strcmp(json_text_of(node, "date"), facts->date) > 0)
            SET(facts->date, json_text_of(node, "date"));
    }
    SET(facts->machine, json_text_of(kind, "name"));
    facts->tone = count > 0 ? "bad" : tells ? "good" : "doubtful";
    SET(facts->verdict, count > 0 ? "out" : tells ? "none out" : "cannot tell");
    cJSON_ArrayForEach(node, out)
    {
        text_join(facts->sentence, sizeof facts->sentence, ", ", "%s", node->valuestring);
    }
    if (count > 0 && outlier != NULL)
        text_append(facts->sentence, sizeof facts->sentence, ": %s of %s is %.0f%% off",
                    json_text_of(outlier, "figure"), json_text_of(outlier, "node"),
                    100 * json_number_of(outlier, "off"));
    if (count == 0)
        text_append(facts->sentence, sizeof facts->sentence, "no node is out, of %.0f%s",
                    json_number_of(fleet, "node_count"),
                    tells ? "" : ", but not all was measured and tells");
}

void site_facts_take(struct site_facts *facts, enum site_kind kind, const cJSON *document)
{
    static void (*const takers[SITE_KINDS])(struct site_facts *, const cJSON *) = {
        of_result, of_traces, of_history, of_fleet, of_job, of_benchmarks
    };

    const cJSON *trouble = cJSON_GetArrayItem(json_member(document, "troubles"), 0);

    *facts = (struct site_facts){ .tone = "plain" };
    takers[kind](facts, document);
    if (facts->sentence[0] != '\0' || trouble == NULL)
        return;
    facts->tone = "bad";
    SET(facts->verdict, "could not be read");
    SET(facts->sentence, cJSON_GetStringValue(trouble));
}
