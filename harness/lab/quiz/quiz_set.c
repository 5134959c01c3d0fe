/* Sets of a quiz from a result of `run`: what is right comes from the result, and wrong choices
 * from findings that the trace certainly does not show. */
#include "harness/lab/quiz/quiz_set.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/text/benchmark_rows.h"
#include "harness/text/json.h"
#include "harness/text/result_traces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTHING = QUIZ_CHOICES - 1 };

const char *quiz_question_text(const struct quiz_set *set, enum quiz_question question)
{
    static const char *const texts[][QUIZ_QUESTIONS] = {
        { "What holds it back?", "Where does one see it in a timeline?",
          "By which factor would the fix shorten the step?" },
        { "What is wrong with it?", "What does one look for in a profile?",
          "By which factor would the fix change the count that shows it?" },
    };

    return texts[set->lesson != NULL][question];
}

const char *quiz_set_name(const struct quiz_set *set)
{
    return set->lesson != NULL ? set->lesson->name : set->scenario->name;
}

double quiz_factor(const struct quiz_set *set)
{
    return set->variant == VARIANT_BEFORE ? set->effect : 1;
}

/* --- The causes in a trace, and those it could be taken for --- */

static const cJSON *find_finding(const cJSON *findings, const char *id)
{
    const cJSON *finding;

    cJSON_ArrayForEach(finding, findings)
    {
        if (strcmp(json_text_of(finding, "id"), id) == 0)
            return finding;
    }
    return NULL;
}

static bool is_listed(const struct accepted_finding list[SCENARIO_FINDINGS], const char *id)
{
    for (int i = 0; i < SCENARIO_FINDINGS && list[i].id != NULL; i++)
        if (strcmp(list[i].id, id) == 0)
            return true;
    return false;
}

/* Adds a scenario's findings that are wrong to `causes`, and its place to `places` if all of them
 * are. */
static void add_wrong(struct quiz_pool *causes, struct quiz_pool *places,
                      const struct quiz_set *set, const cJSON *findings,
                      const struct scenario *other)
{
    bool all = true;

    for (int i = 0; i < SCENARIO_FINDINGS && other->accept[i].id != NULL; i++) {
        const struct rule *rule = rule_find(other->accept[i].id);
        /* Whether this finding is certainly a wrong answer. */
        bool wrong = find_finding(findings, other->accept[i].id) == NULL &&
                     !is_listed(set->scenario->tolerated_after, other->accept[i].id) &&
                     !(set->variant == VARIANT_BEFORE &&
                       is_listed(set->scenario->accept, other->accept[i].id));
        all = all && wrong;
        if (wrong && rule != NULL)
            quiz_pool_add(causes, rule->title);
    }
    if (all && (other != set->scenario || set->variant == VARIANT_AFTER))
        quiz_pool_add(places, other->look);
}

/* False: there are too few wrong answers for a choice. */
static bool draw_choices(struct quiz_set *set, const cJSON *findings, struct random random)
{
    struct quiz_pool causes = { .count = 0 }, places = { .count = 0 };
    bool before = set->variant == VARIANT_BEFORE;
    const struct rule *rule = before ? rule_find(set->finding) : NULL;

    add_wrong(&causes, &places, set, findings, set->scenario);
    for (int i = 0; scenarios[i] != NULL; i++)
        add_wrong(&causes, &places, set, findings, scenarios[i]);
    if (causes.count < NOTHING || places.count < NOTHING || (before && rule == NULL))
        return false;
    quiz_fill(set, QUIZ_CAUSE, &random, &causes, rule != NULL ? rule->title : NULL,
              "nothing of these");
    quiz_fill(set, QUIZ_PLACE, &random, &places, before ? set->scenario->look : NULL,
              "nowhere: nothing of these is there");
    return true;
}

/* --- The sets of a result --- */

/* Traces are named from the result file on. */
static bool find_trace(char trace[PATH_MAX], const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    int length = (int)strlen(path);

    if (ends_in(path, ".json"))
        length = slash != NULL ? (int)(slash - path) : 0;
    snprintf(folder, sizeof folder, "%.*s", length, path);
    return result_trace_is_beside(trace, folder, name) && access(trace, R_OK) == 0;
}

/* The right answer is the first finding that the scenario accepts; after the fix, none is. False:
 * the trace before the fix has no such finding. */
static bool take_cause(struct quiz_set *set, const cJSON *findings)
{
    const cJSON *finding;

    if (set->variant == VARIANT_AFTER)
        return true;
    cJSON_ArrayForEach(finding, findings)
    {
        if (is_listed(set->scenario->accept, json_text_of(finding, "id"))) {
            set->finding = json_text_of(finding, "id");
            set->evidence = json_text_of(finding, "evidence");
            set->predicted = json_number_of(finding, "predicted_gain");
            return true;
        }
    }
    return false;
}

/* False: it cannot be asked about. Each scenario and variant has random numbers of its own, so its
 * choices do not depend on what else is in the result. */
static bool fill_set(struct quiz_set *set, const cJSON *entry, const char *path, uint64_t seed)
{
    const char *name = variant_name(set->variant);
    const cJSON *findings = json_member(json_member(entry, "findings"), name);
    const cJSON *interval = json_member(entry, "interval");
    uint64_t stream = QUIZ_FIRST_STREAM + (uint64_t)set->variant;

    for (const struct scenario *const *each = scenarios; *each != set->scenario; each++)
        stream += VARIANT_COUNT;
    set->effect = json_number_of(entry, "effect");
    set->low = json_number_at(interval, 0);
    set->high = json_number_at(interval, 1);
    return set->effect > 0 && cJSON_IsArray(findings) && !cJSON_IsTrue(json_member(entry, "aa")) &&
           find_trace(set->trace, path, json_text_of(json_member(entry, "traces"), name)) &&
           take_cause(set, findings) && draw_choices(set, findings, random_seed(seed, stream));
}

enum status quiz_sets_make(struct quiz_sets *sets, const struct benchmark_file *result,
                           const char *path, uint64_t seed)
{
    enum status status = STATUS_OK;
    const cJSON *all = benchmark_scenarios(result->root), *entry;

    *sets = (struct quiz_sets){ .count = 0 };
    TRY_OUT(rows_make(&sets->items, cJSON_GetArraySize(all) * VARIANT_COUNT + 1));
    cJSON_ArrayForEach(entry, all)
    {
        for (int v = 0; v < VARIANT_COUNT; v++) {
            struct quiz_set *set = &sets->items[sets->count];
            *set = (struct quiz_set){ .scenario = scenario_find(json_text_of(entry, "name")),
                                      .variant = (enum variant)v,
                                      .predicted = NAN };
            if (set->scenario != NULL && fill_set(set, entry, path, seed))
                sets->count++;
        }
    }
    if (sets->count == 0)
        FAIL_OUT(
            STATUS_BAD_INPUT,
            "%s has no scenario with traces and findings to ask about: chokepoint run makes some, "
            "without --no-trace or --aa",
            path);
    TRY_OUT(quiz_arrange(sets, seed));
    if (sets->count == 0)
        FAIL_OUT(STATUS_BAD_INPUT,
                 "%s has no trace before a fix that shows a finding of its scenario", path);

out:
    return status;
}

void quiz_sets_release(struct quiz_sets *sets)
{
    free(sets->items);
    *sets = (struct quiz_sets){ .count = 0 };
}
