/* Causes are removed one after the other, by order_of(), and each replay has the changes of all
 * before it. A finding's own bounds hold within the combination: its share of a change, the least
 * step, and the gain that no replay sees. */
#include "harness/desk/diagnosis/what_if.h"

#include "harness/base/words/nearest.h"
#include "harness/base/words/text.h"
#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/rules/rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A cause with what its finding says of its change. */
struct cause {
    const struct rule *rule;
    double share;              /* the part of the change's gain that belongs to this cause */
    const struct rule *behind; /* whose change is to be made first; NULL: none */
    double least_step_ns;      /* of the traced step */
    double own_ns; /* the least gain, if a replay cannot show it; 0: a replay shows it */
};

struct causes {
    const struct facts *facts;
    struct cause items[WHAT_IF_CAUSES];
    int count;
};

/* The changes of some causes, each once. */
struct changes {
    const struct rule *rules[2 * WHAT_IF_CAUSES];
    double gained_ns[2 * WHAT_IF_CAUSES]; /* by each, after those before it */
    int count;
    double saved_ns; /* by all */
};

/* Rules of unlike symptoms may advise the same. */
static bool are_one_change(const struct rule *a, const struct rule *b)
{
    return a->alter == b->alter && a->saved_computing_ns == b->saved_computing_ns;
}

/* The number of a change; it is made if it was not. */
static int make_change(struct changes *changes, const struct facts *facts, const struct rule *rule)
{
    double before_ns = changes->saved_ns;

    for (int i = 0; i < changes->count; i++)
        if (are_one_change(changes->rules[i], rule))
            return i;
    changes->rules[changes->count++] = rule;
    changes->saved_ns = facts_saved_together_ns(facts, changes->rules, changes->count);
    changes->gained_ns[changes->count - 1] = changes->saved_ns - before_ns;
    return changes->count - 1;
}

/* Makes a cause's change, and returns the time that it gains after the changes made so far. A
 * change that has to come before it is made only to compute that. */
static double gain(struct changes *changes, const struct facts *facts, const struct cause *cause)
{
    struct changes alone = *changes;

    if (cause->behind == NULL)
        return cause->share * changes->gained_ns[make_change(changes, facts, cause->rule)];
    make_change(&alone, facts, cause->behind);
    make_change(changes, facts, cause->rule);
    return cause->share * alone.gained_ns[make_change(&alone, facts, cause->rule)];
}

/* Causes are removed in this order: those whose gain is bounded by a least step after the others,
 * and last those whose change needs another change first. */
static int order_of(const struct cause *cause)
{
    return cause->behind != NULL ? 2 : cause->least_step_ns > 0 ? 1 : 0;
}

/* A host alone has to run its operators, unless one of the causes makes fewer or shorter ones of
 * them. */
static double least_of_operators_ns(const struct causes *causes, unsigned set)
{
    const struct facts *facts = causes->facts;

    if (!facts->summary->timeline.host_alone)
        return 0;
    for (int i = 0; i < causes->count; i++)
        if ((set >> i & 1) != 0 && (causes->items[i].rule->shortens_work ||
                                    causes->items[i].rule->saved_computing_ns != NULL))
            return 0;
    return facts_computing_share(facts) * facts->step_ns;
}

/* The traced step without a set of causes, a bit for each. */
static double step_without(const struct causes *causes, unsigned set)
{
    struct changes changes = { .count = 0 };
    double step_ns = causes->facts->step_ns;

    for (int order = 0; order <= 2; order++)
        for (int i = 0; i < causes->count; i++) {
            const struct cause *cause = &causes->items[i];
            if ((set >> i & 1) == 0 || order_of(cause) != order)
                continue;
            step_ns -=
                fmax(0, fmin(gain(&changes, causes->facts, cause), step_ns - cause->least_step_ns));
        }
    for (int i = 0; i < causes->count; i++)
        if (set >> i & 1)
            step_ns = fmin(step_ns, causes->facts->step_ns - causes->items[i].own_ns);
    return fmin(causes->facts->step_ns, fmax(step_ns, least_of_operators_ns(causes, set)));
}

/* --- Causes --- */

/* The time of a traced step that a finding says can be saved; if it predicts no gain, its cost. */
static double own_time_ns(const struct finding *finding, const struct facts *facts)
{
    return finding->predicted_gain > 1
               ? facts->step_ns * (1 - 1 / finding->predicted_gain)
               : finding->lost_ns_per_step * facts->step_ns / facts_whole_ns(facts);
}

static struct cause cause_of(const struct rule *rule, const struct finding *finding,
                             const struct facts *facts)
{
    struct cause cause = { .rule = rule, .share = 1 };

    if (finding == NULL || finding->severity == SEVERITY_INFORMATION)
        return cause;
    cause.share = finding->replayed_share;
    cause.behind = finding->behind != NULL ? rule_find(finding->behind) : NULL;
    cause.least_step_ns = finding->least_step_ns;
    if (rule->saved_computing_ns != NULL) {
        cause.own_ns = own_time_ns(finding, facts);
    } else if (!finding->is_replayed) {
        double all_ns = facts_saved_ns(facts, rule);
        double own_ns = own_time_ns(finding, facts);
        cause.share = all_ns > 0 && own_ns > 0 ? fmin(1, own_ns / all_ns) : 0;
    }
    return cause;
}

/* Whether a finding is among those that are combined. */
static bool may_combine(const struct finding *finding)
{
    return finding->severity > SEVERITY_INFORMATION && finding->predicted_gain > 1 &&
           rule_is_replayed(rule_find(finding->id));
}

static struct causes causes_of(const struct findings *findings, const struct facts *facts, int most)
{
    struct causes causes = { .facts = facts };

    for (int64_t i = 0; i < findings->count && causes.count < most; i++)
        if (may_combine(&findings->items[i]))
            causes.items[causes.count++] =
                cause_of(rule_find(findings->items[i].id), &findings->items[i], facts);
    return causes;
}

static struct causes chosen(const struct findings *findings, const struct facts *facts,
                            const struct what_if_choice *choice)
{
    struct causes causes = { .facts = facts };

    if (choice->count == 0)
        return causes_of(findings, facts, WHAT_IF_CAUSES);
    for (int i = 0; i < choice->count; i++)
        causes.items[causes.count++] =
            cause_of(choice->rules[i], findings_find(findings, choice->rules[i]->id), facts);
    return causes;
}

/* --- Rows --- */

static int rules_of(const struct rule **rules, const struct causes *causes, unsigned set)
{
    int count = 0;

    for (int i = 0; i < causes->count; i++)
        if (set >> i & 1)
            rules[count++] = causes->items[i].rule;
    return count;
}

/* The device's work in a traced step, with the changes. */
static double busy_without(const struct causes *causes, const struct rule *const *rules, int count)
{
    const struct facts *facts = causes->facts;
    SCRATCH_ARENA(scratch, facts->summary->arena);
    struct intervals busy = { .arena = scratch };
    double ns;

    facts_iteration_ns(facts, rules, count, &busy);
    intervals_merge(&busy);
    ns = (double)intervals_within_ns(&busy, INT64_MIN, INT64_MAX);
    return facts->step_ns * ns / facts->iteration_ns;
}

static struct what_if_row row_of(const struct causes *causes, unsigned set)
{
    const struct rule *rules[WHAT_IF_CAUSES];
    int count = rules_of(rules, causes, set);
    double step_ns = step_without(causes, set);
    double busy_ns = fmin(step_ns, busy_without(causes, rules, count));

    return (struct what_if_row){ set, facts_untraced_ns(causes->facts, step_ns, rules, count),
                                 facts_untraced_ns(causes->facts, busy_ns, rules, count) };
}

struct what_if what_if_of(const struct findings *findings, const struct facts *facts,
                          const struct what_if_choice *choice)
{
    struct what_if what_if = { .cause_count = 0 };
    struct causes causes;
    int most;

    if (!facts->replay_holds) {
        snprintf(what_if.why, sizeof what_if.why,
                 facts->iteration_ns > 0
                     ? "A replay of this trace does not give back its step, so it cannot tell."
                     : "The trace has nothing that could be replayed.");
        return what_if;
    }
    causes = chosen(findings, facts, choice);
    what_if.cause_count = causes.count;
    for (int i = 0; i < causes.count; i++) what_if.causes[i] = causes.items[i].rule;
    what_if.recorded = row_of(&causes, 0);
    most = choice->count > 0 ? 0 : causes.count <= WHAT_IF_ALL ? causes.count : 2;
    for (int count = 1; count <= most; count++) /* one cause, then two, and so on */
        for (unsigned set = 1; set < 1U << causes.count; set++)
            if (__builtin_popcount(set) == count)
                what_if.rows[what_if.row_count++] = row_of(&causes, set);
    for (int i = 1; i <= choice->count; i++)
        what_if.rows[what_if.row_count++] = row_of(&causes, (1U << i) - 1);
    if (what_if.row_count == 0)
        snprintf(what_if.why, sizeof what_if.why,
                 "No finding has a change that a replay could make.");
    return what_if;
}

/* --- Findings one after the other --- */

double what_if_own_share(const struct what_if_taken *taken, const struct finding *finding)
{
    struct causes causes = { .facts = taken->facts };
    const struct rule *rule = rule_find(finding->id);
    unsigned others = (1U << taken->count) - 1, all = 1U << taken->count;
    double alone_ns;

    if (!finding->is_replayed)
        return 1;
    for (int i = 0; i < taken->count; i++)
        causes.items[causes.count++] =
            cause_of(rule_find(taken->items[i]->id), taken->items[i], taken->facts);
    causes.items[causes.count++] = cause_of(rule, finding, taken->facts);
    alone_ns = taken->facts->step_ns - step_without(&causes, all);
    return alone_ns > 0
               ? (step_without(&causes, others) - step_without(&causes, others | all)) / alone_ns
               : 0;
}

void what_if_take(struct what_if_taken *taken, const struct finding *finding)
{
    if (finding->is_replayed && taken->count + 1 < WHAT_IF_CAUSES)
        taken->items[taken->count++] = finding;
}

/* --- The next fix --- */

/* If pairs gain the same, the one whose causes come first wins. */
static void find_pair(struct next_fix *next, const struct causes *causes)
{
    const double more = 1.001; /* than a replay is exact */
    double step_ns = INFINITY;

    for (int i = 0; i < causes->count; i++)
        for (int j = i + 1; j < causes->count; j++) {
            double ns = step_without(causes, 1U << i | 1U << j);
            if (!(ns * more < step_ns))
                continue;
            next->pair[0] = causes->items[i].rule->id;
            next->pair[1] = causes->items[j].rule->id;
            next->pair_gain = causes->facts->step_ns / ns;
            step_ns = ns;
        }
}

struct next_fix next_fix_of(const struct findings *findings, const struct facts *facts)
{
    struct next_fix next = { .first = NULL };
    struct causes causes = { .count = 0 };

    if (facts->replay_holds)
        causes = causes_of(findings, facts, WHAT_IF_ALL);
    if (causes.count < 2)
        return next;
    next.first = causes.items[0].rule->id;
    next.second = causes.items[1].rule->id;
    next.gain = step_without(&causes, 1) / step_without(&causes, 3);
    find_pair(&next, &causes);
    return next;
}

/* --- Names --- */

enum { CAUSES_MOST = 24, CAUSE_NAME = 24 };

/* A finding whose change replays know. */
static enum status find_cause(const struct rule **found, const char *name)
{
    const char *ids[CAUSES_MOST], *near;
    const struct rule *rule;
    char known[CAUSES_MOST * CAUSE_NAME] = "";
    int count = 0;

    *found = rule_find(name);
    if (*found != NULL && rule_is_replayed(*found))
        return STATUS_OK;
    for (int i = 0; (rule = rule_at(i)) != NULL; i++)
        if (rule_is_replayed(rule) && count < CAUSES_MOST) {
            text_join(known, sizeof known, ", ", "%s", rule->id);
            ids[count++] = rule->id;
        }
    if (*found != NULL)
        FAIL(STATUS_BAD_USAGE, "--what-if=%s: no replay knows that change, but those of %s", name,
             known);
    near = nearest_name(name, ids, count);
    FAIL(STATUS_BAD_USAGE, "--what-if: there is no cause %.60s; %s%s%s",
         name[0] != '\0' ? name : "\"\"", near != NULL ? "did you mean " : "replays know ",
         near != NULL ? near : known, near != NULL ? "?" : "");
}

enum status what_if_choice_read(struct what_if_choice *choice, const char *names)
{
    *choice = (struct what_if_choice){ .asked = true };
    while (names != NULL) {
        size_t length = strcspn(names, ",");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        if (choice->count == WHAT_IF_CAUSES)
            FAIL(STATUS_BAD_USAGE, "--what-if: at most %d causes", WHAT_IF_CAUSES);
        TRY(find_cause(&choice->rules[choice->count], name));
        for (int i = 0; i < choice->count; i++)
            if (choice->rules[i] == choice->rules[choice->count])
                FAIL(STATUS_BAD_USAGE, "--what-if: %s is named twice", name);
        choice->count++;
        names = names[length] == ',' ? names + length + 1 : NULL;
    }

    return STATUS_OK;
}
