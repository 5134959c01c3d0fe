#include "harness/lab/quiz/quiz_set.h"

#include "harness/base/random.h"
#include "harness/base/rows.h"
#include "harness/base/words/ends_in.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/text/benchmark_rows.h"
#include "harness/text/json.h"
#include "harness/text/result_traces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POOL_MOST = 256, NOTHING = QUIZ_CHOICES - 1 };
enum { ORDER_STREAM, ARRANGE_STREAM, FIRST_STREAM };

const char *const quiz_questions[QUIZ_QUESTIONS] = {
    [QUIZ_CAUSE] = "What holds it back?",
    [QUIZ_PLACE] = "Where does one see it in a timeline?",
    [QUIZ_FACTOR] = "By which factor would the fix shorten the step?",
};

/* Choices that may be wrong answers. */
struct pool {
    const char *items[POOL_MOST];
    uint32_t count;
};

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double number(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
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

/* Whether a finding is certainly no right answer. */
static bool is_wrong(const struct quiz_set *set, const cJSON *findings, const char *id)
{
    return find_finding(findings, id) == NULL && !is_listed(set->scenario->tolerated_after, id) &&
           !(set->variant == VARIANT_BEFORE && is_listed(set->scenario->accept, id));
}

static void pool_add(struct pool *pool, const char *text)
{
    for (uint32_t i = 0; i < pool->count; i++)
        if (strcmp(pool->items[i], text) == 0)
            return;
    if (pool->count < POOL_MOST)
        pool->items[pool->count++] = text;
}

/* Adds a scenario's findings that are wrong to `causes`, and its place to `places` if all of them are. */
static void add_wrong(struct pool *causes, struct pool *places, const struct quiz_set *set,
                      const cJSON *findings, const struct scenario *other)
{
    bool all = true;

    for (int i = 0; i < SCENARIO_FINDINGS && other->accept[i].id != NULL; i++) {
        const struct rule *rule = rule_find(other->accept[i].id);
        bool wrong = is_wrong(set, findings, other->accept[i].id);
        all = all && wrong;
        if (wrong && rule != NULL)
            pool_add(causes, rule->title);
    }
    if (all && (other != set->scenario || set->variant == VARIANT_AFTER))
        pool_add(places, other->look);
}

/* Puts `right` and wrong ones in any order, and "nothing" last. Where nothing is right, `right` is NULL, and
 * the first of the pool, the scenario's own, is among the wrong ones. */
static void fill(struct quiz_set *set, enum quiz_question question, struct random *random,
                 struct pool *pool, const char *right, const char *nothing)
{
    const char **choices = set->choices[question];
    uint32_t order[NOTHING];

    for (uint32_t i = 0; i < NOTHING; i++) order[i] = i;
    random_shuffle(random, order, NOTHING);
    for (uint32_t i = 0; i < NOTHING; i++) {
        bool own = i == 0 && right == NULL;
        uint32_t which = own ? 0 : random_below(random, pool->count);
        if (i == 0 && right != NULL) {
            choices[order[i]] = right;
            continue;
        }
        choices[order[i]] = pool->items[which];
        pool->items[which] = pool->items[--pool->count];
    }
    choices[NOTHING] = nothing;
    set->right[question] = right != NULL ? (int)order[0] : NOTHING;
}

/* False: there are too few wrong answers for a choice. */
static bool draw_choices(struct quiz_set *set, const cJSON *findings, struct random random)
{
    struct pool causes = { .count = 0 }, places = { .count = 0 };
    bool before = set->variant == VARIANT_BEFORE;
    const struct rule *rule = before ? rule_find(set->finding) : NULL;

    add_wrong(&causes, &places, set, findings, set->scenario);
    for (int i = 0; scenarios[i] != NULL; i++)
        add_wrong(&causes, &places, set, findings, scenarios[i]);
    if (causes.count < NOTHING || places.count < NOTHING || (before && rule == NULL))
        return false;
    fill(set, QUIZ_CAUSE, &random, &causes, rule != NULL ? rule->title : NULL, "nothing of these");
    fill(set, QUIZ_PLACE, &random, &places, before ? set->scenario->look : NULL,
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

static bool find_cause(struct quiz_set *set, const cJSON *findings)
{
    const cJSON *finding;

    if (set->variant == VARIANT_AFTER)
        return true;
    cJSON_ArrayForEach(finding, findings)
    {
        if (is_listed(set->scenario->accept, json_text_of(finding, "id"))) {
            set->finding = json_text_of(finding, "id");
            set->evidence = json_text_of(finding, "evidence");
            set->predicted = number(member(finding, "predicted_gain"));
            return true;
        }
    }
    return false;
}

static bool make_set(struct quiz_set *set, const cJSON *entry, const char *path, uint64_t seed)
{
    const char *name = variant_name(set->variant);
    const cJSON *findings = member(member(entry, "findings"), name);
    const cJSON *interval = member(entry, "interval");
    uint64_t stream = FIRST_STREAM + (uint64_t)set->variant;

    for (const struct scenario *const *each = scenarios; *each != set->scenario; each++)
        stream += VARIANT_COUNT;
    set->effect = number(member(entry, "effect"));
    set->low = number(cJSON_GetArrayItem(interval, 0));
    set->high = number(cJSON_GetArrayItem(interval, 1));
    return set->effect > 0 && cJSON_IsArray(findings) && !cJSON_IsTrue(member(entry, "aa")) &&
           find_trace(set->trace, path, json_text_of(member(entry, "traces"), name)) &&
           find_cause(set, findings) && draw_choices(set, findings, random_seed(seed, stream));
}

static void shuffle(struct quiz_sets *sets, uint64_t seed)
{
    struct random random = random_seed(seed, ORDER_STREAM);

    for (int i = sets->count - 1; i > 0; i--) {
        int other = (int)random_below(&random, (uint32_t)i + 1);
        struct quiz_set set = sets->items[i];
        sets->items[i] = sets->items[other];
        sets->items[other] = set;
    }
}

/* The next set from `from` on that is of the variant; the count where there is none. */
static int next_of(const struct quiz_sets *sets, int from, enum variant variant)
{
    while (from < sets->count && sets->items[from].variant != variant) from++;
    return from;
}

/* Puts the sets into an order of which every beginning has at most a third after the fix; those that would be more
 * are dropped. Where one may come, half the time it does, so that no place tells what it is. */
static enum status arrange(struct quiz_sets *sets, uint64_t seed)
{
    struct random random = random_seed(seed, ARRANGE_STREAM);
    struct quiz_set *items;
    int before = next_of(sets, 0, VARIANT_BEFORE), after = next_of(sets, 0, VARIANT_AFTER);
    int count = 0, afters = 0;

    TRY(rows_make(&items, sets->count + 1));
    while (before < sets->count || after < sets->count) {
        bool may_be_after = after < sets->count && QUIZ_AFTER_ONE_IN * (afters + 1) <= count + 1;
        if (before == sets->count && !may_be_after)
            break;
        if (may_be_after && (before == sets->count || random_below(&random, 2) == 0)) {
            items[count++] = sets->items[after];
            after = next_of(sets, after + 1, VARIANT_AFTER);
            afters++;
        } else {
            items[count++] = sets->items[before];
            before = next_of(sets, before + 1, VARIANT_BEFORE);
        }
    }
    free(sets->items);
    sets->items = items;
    sets->count = count;

    return STATUS_OK;
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
            if (set->scenario != NULL && make_set(set, entry, path, seed))
                sets->count++;
        }
    }
    if (sets->count == 0)
        FAIL_OUT(
            STATUS_BAD_INPUT,
            "%s has no scenario with traces and findings to ask about: chokepoint run makes some, "
            "without --no-trace or --aa",
            path);
    shuffle(sets, seed);
    TRY_OUT(arrange(sets, seed));
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
