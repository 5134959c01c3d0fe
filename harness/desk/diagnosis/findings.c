/* Rules are asked one after the other, and what each finds is inserted where it belongs in the
 * order. Then findings are compared: those that have the same idle time share it, and the first one
 * may hide others. All that is a matter of one trace. Beside other ranks a digest's findings change
 * only by the rules that look at ranks, so these alone are asked again. */
#include "harness/desk/diagnosis/findings.h"

#include "harness/base/words/text.h"
#include "harness/desk/diagnosis/finding_place.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/diagnosis/what_if.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *severity_name(enum severity severity)
{
    static const char *const names[] = { "information", "minor", "major", "critical" };

    return (unsigned)severity < ARRAY_SIZE(names) ? names[severity] : "unknown";
}

const char *confidence_name(enum confidence confidence)
{
    static const char *const names[] = { "low", "medium", "high" };

    return (unsigned)confidence < ARRAY_SIZE(names) ? names[confidence] : "unknown";
}

const char *finding_why_minor(const struct finding *finding)
{
    if (finding->severity != SEVERITY_MINOR ||
        !(finding->predicted_gain * (1 - RULE_SHARE_MAJOR) >= 1))
        return "";
    return finding->shares_time                    ? "; minor, as it overlaps with another finding"
           : finding->once_fixed != NULL           ? "; minor until the other is fixed"
           : finding->confidence == CONFIDENCE_LOW ? "; minor, as that is a guess"
                                                   : "";
}

const char *finding_gain_bound(const struct finding *finding)
{
    return finding->gain_is_least ? "at least " : finding->gain_is_most ? "at most " : "";
}

/* The places of the order, the last one first. A finding that names the pace comes before those
 * that gain little: a minor gain is within the error of predictions (RULE_SHARE_MAJOR). */
enum urgency {
    INFORMS,
    COSTS_NO_TIME,
    MAY_COST_TIME, /* a guess */
    COSTS_LATER,   /* once another finding is fixed */
    COSTS_LITTLE,
    NAMES_THE_PACE, /* says what fills the step, or makes it a little shorter */
    COSTS_AT_MOST,
    COSTS_TIME,
    ENDS_THE_RUN,
    JUDGES_THE_TRACE, /* as one that does not tell */
};

/* Findings of memory cost no time. Those that end a run come first all the same. A cost that is
 * only bounded may be none, and counts time that another finding explains. A guess comes after what
 * is known. */
static enum urgency urgency(const struct finding *finding, const struct facts *facts)
{
    if (finding->severity == SEVERITY_INFORMATION)
        return finding->bottleneck == BOTTLENECK_NONE          ? INFORMS
               : finding->bottleneck == BOTTLENECK_UNCLEAR     ? JUDGES_THE_TRACE
               : finding->bottleneck == BOTTLENECK_UNSUPPORTED ? JUDGES_THE_TRACE
                                                               : NAMES_THE_PACE;
    if (isnan(finding->lost_ns_per_step))
        return finding->severity >= SEVERITY_MAJOR && finding->bottleneck != BOTTLENECK_NONE
                   ? ENDS_THE_RUN
                   : COSTS_NO_TIME;
    if (finding->confidence == CONFIDENCE_LOW)
        return MAY_COST_TIME;
    if (finding->once_fixed != NULL)
        return COSTS_LATER;
    if (finding->severity == SEVERITY_MINOR)
        return finding->bottleneck == facts_pace(facts) ? NAMES_THE_PACE : COSTS_LITTLE;
    return finding->gain_is_most ? COSTS_AT_MOST : COSTS_TIME;
}

bool finding_comes_before(const struct finding *a, const struct finding *b,
                          const struct facts *facts)
{
    enum urgency urgency_a = urgency(a, facts), urgency_b = urgency(b, facts);
    bool informs_a = a->severity == SEVERITY_INFORMATION;
    bool informs_b = b->severity == SEVERITY_INFORMATION;

    if (urgency_a != urgency_b)
        return urgency_a > urgency_b;
    if (informs_a != informs_b)
        return informs_a;
    if (a->shares_time != b->shares_time)
        return b->shares_time;
    if (a->is_replayed && b->is_replayed && a->lost_ns_per_step == b->lost_ns_per_step)
        return a->predicted_gain > b->predicted_gain;
    return a->lost_ns_per_step > b->lost_ns_per_step;
}

const struct finding *findings_limit(const struct findings *findings)
{
    return findings->count > 0 && findings->items[0].bottleneck != BOTTLENECK_NONE ? findings->items
                                                                                   : NULL;
}

/* Keeps the order; equals stay in the order of their tables. */
static void insert_finding(struct findings *findings, const struct finding *finding,
                           const struct facts *facts)
{
    int64_t at = findings->count++;

    while (at > 0 && finding_comes_before(finding, &findings->items[at - 1], facts)) {
        findings->items[at] = findings->items[at - 1];
        at--;
    }
    findings->items[at] = *finding;
}

/* Lost time is idle time, and a device whose work is missing from the trace only seems idle. A
 * handful of kernels shows no pattern. */
static void doubt(struct finding *finding, const struct facts *facts)
{
    if ((facts->lacks_work || facts_are_few(facts)) && !isnan(finding->lost_ns_per_step) &&
        finding->severity != SEVERITY_INFORMATION)
        finding->confidence = CONFIDENCE_LOW;
}

/* A guess must not alarm anyone. */
static void moderate(struct finding *finding)
{
    if (finding->confidence == CONFIDENCE_LOW && finding->severity > SEVERITY_MINOR)
        finding->severity = SEVERITY_MINOR;
}

/* Findings about the trace itself. */
static bool is_of_trace(const struct finding *finding)
{
    for (const struct rule *rule = rules_of_trace; rule->id != NULL; rule++)
        if (rule->id == finding->id)
            return true;
    return false;
}

/* Whether a finding's cost is idle time. */
static bool costs_idle_time(const struct finding *finding)
{
    static const enum bottleneck idle[] = { BOTTLENECK_UNCLEAR,  BOTTLENECK_LAUNCHING,
                                            BOTTLENECK_LOADING,  BOTTLENECK_HOST_WORK,
                                            BOTTLENECK_WAITING,  BOTTLENECK_ALLOCATION,
                                            BOTTLENECK_FIRST_USE };

    for (size_t i = 0; i < ARRAY_SIZE(idle) && finding->lost_ns_per_step > 0; i++)
        if (finding->bottleneck == idle[i])
            return true;
    return false;
}

/* Information that names what sets the pace. */
static bool names_pace(const struct finding *finding, const struct facts *facts)
{
    return finding->severity == SEVERITY_INFORMATION && finding->bottleneck != BOTTLENECK_NONE &&
           finding->bottleneck == facts_pace(facts);
}

/* All that is said of a trace that is not sound is only possible, even if it was mended; but what a
 * clock may have wrong is weighed against what is claimed: idle time, that the whole window has
 * little of it, or what the device does by itself. If nothing stands, the trace does not tell. */
static void distrust(struct findings *findings, const struct facts *facts)
{
    const struct soundness *soundness = &facts->summary->soundness;
    struct finding *of_trace = NULL;
    bool stands = false;

    for (int64_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        bool paces = names_pace(finding, facts);
        double idle_ns = costs_idle_time(finding) ? finding->lost_ns_per_step * facts->steps
                         : paces                  ? facts->window_ns
                                                  : 0;
        if (strcmp(finding->id, "insufficient_data") == 0)
            of_trace = finding;
        if (!is_of_trace(finding) && soundness_trust(soundness, idle_ns) != TRUST_WHOLE)
            finding->confidence = CONFIDENCE_LOW;
        moderate(finding);
        stands = stands ||
                 ((paces || finding->lost_ns_per_step > 0) && finding->confidence > CONFIDENCE_LOW);
    }
    if (of_trace != NULL && !stands && soundness->rows[SOUND_CLOCK].trust == TRUST_LITTLE)
        of_trace->bottleneck = BOTTLENECK_UNCLEAR;
}

/* If steps differ much for no reason that the trace shows, their mean is of no step, and neither
 * are gains of it. */
static void doubt_uneven(struct findings *findings)
{
    const double much = 0.2; /* deviation over mean; untrace() allows a tracer the same */
    const struct finding *uneven = findings_find(findings, "uneven_steps");

    for (int64_t i = 0; i < findings->count && uneven != NULL && uneven->judged.value > much; i++) {
        struct finding *finding = &findings->items[i];
        if (finding->severity != SEVERITY_INFORMATION && finding->predicted_gain > 1 &&
            finding->confidence == CONFIDENCE_HIGH)
            finding->confidence = CONFIDENCE_MEDIUM;
    }
}

/* The lost time of the step as it is without a tracer: the same share of it. For a replayed
 * finding, the gain is computed anew, since the tracer does not slow the computation. */
static void cost_untraced(struct finding *finding, const struct facts *facts)
{
    double whole_ns = facts_whole_ns(facts);

    if (finding->is_replayed)
        finding_grade(finding, whole_ns,
                      whole_ns - facts_untraced_ns(
                                     facts, facts->step_ns - finding->lost_ns_per_step, NULL, 0));
    else
        finding->lost_ns_per_step *= whole_ns / facts->step_ns;
}

/* Costs are of the untraced step. If that is unknown, or tracing changed the step much, or other
 * programs did, confidence drops. */
static void untrace(struct finding *finding, const struct facts *facts)
{
    const struct trace_cost *cost = &facts->summary->trace->cost;
    bool known = cost->step_ns > 0 && facts->step_ns > 0;

    if (isnan(finding->lost_ns_per_step) || finding->severity == SEVERITY_INFORMATION)
        return;
    if (known)
        cost_untraced(finding, facts);
    if (finding->confidence == CONFIDENCE_HIGH &&
        (!known || facts->summary->steps.count < 3 ||
         trace_file_is_disturbed(facts->summary->trace) ||
         !(fabs(trace_file_overhead(facts->summary->trace)) < 0.2)))
        finding->confidence = CONFIDENCE_MEDIUM;
}

static bool any_costs(const struct findings *findings)
{
    for (int64_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity != SEVERITY_INFORMATION)
            return true;
    return false;
}

/* Nothing of what the program does not do. */
static void say_exposed(struct findings *findings, const char *kind, int64_t all_ns, double share)
{
    if (all_ns > 0)
        text_append(findings->healthy, sizeof findings->healthy, "; exposed %s take%s %.1f%%", kind,
                    strcmp(kind, "copies") == 0 ? "" : "s", 100 * share);
}

static void explain_health(struct findings *findings, const struct facts *facts)
{
    const struct usage *usage = &facts->summary->usage;
    double copies = (double)usage->copy_exposed_ns / facts->window_ns;
    double communication = (double)usage->communication_exposed_ns / facts->window_ns;

    if (!bottleneck_computes(facts_pace(facts)) || any_costs(findings) ||
        !(copies < RULE_SHARE_LEAST) || !(communication < RULE_COMMUNICATION_LEAST))
        return;
    if (facts->summary->timeline.host_alone) {
        snprintf(findings->healthy, sizeof findings->healthy,
                 "operators take %.0f%% of %s; no known cause costs %.0f%% or more",
                 100 * facts_computing_share(facts),
                 facts_of_whole(facts) ? "the trace" : "the step", 100 * RULE_SHARE_LEAST);
        return;
    }
    snprintf(findings->healthy, sizeof findings->healthy,
             "the device is busy for %.0f%% of %s; no known cause costs %.0f%% or more",
             100 * facts->busy_ns / facts->step_ns, facts->has_steps ? "the step" : "the trace",
             100 * RULE_SHARE_LEAST);
    say_exposed(findings, "copies", usage->kind_ns[WORK_COPY], copies);
    say_exposed(findings, "communication", usage->kind_ns[WORK_COMMUNICATION], communication);
}

/* --- Asking the rules --- */

static const char *advice_of(const struct rule *rule, const struct traced_program *program)
{
    if (program->is_plain && rule->plain != NULL)
        return rule->plain;
    if (program->serves && rule->serving != NULL)
        return rule->serving;
    return !program->trains && rule->inferring != NULL ? rule->inferring : rule->advice;
}

/* A finding as its rule leaves it, but for device time that a host which sets the pace may hide;
 * false: there is none. */
static bool ask_rule(struct finding *finding, const struct rule *rule, const struct facts *facts)
{
    *finding = rule_finding(rule);
    finding->advice = advice_of(rule, &facts->program);
    finding->of_whole = facts_of_whole(facts);
    /* In a trace without a device the host computes, so rules about computing blame the host. */
    if (rule->bottleneck == BOTTLENECK_DEVICE && facts->summary->timeline.host_alone)
        finding->bottleneck = BOTTLENECK_HOST;
    if (rule->judge == NULL ||
        (facts_are_foreign(facts) && rule->bottleneck != BOTTLENECK_UNSUPPORTED) ||
        !rule->judge(finding, facts))
        return false;
    if (finding->bottleneck == BOTTLENECK_DEVICE && finding->severity > SEVERITY_INFORMATION &&
        facts_host_sets_pace(facts))
        finding->gain_is_most = true;
    return true;
}

static void insert_judged(struct findings *findings, struct finding *finding,
                          const struct facts *facts)
{
    untrace(finding, facts);
    doubt(finding, facts);
    moderate(finding);
    insert_finding(findings, finding, facts);
}

/* Asks rule number `number`, and notes its threshold. */
static void judge_rule(struct findings *findings, const struct rule *rule, int number,
                       const struct facts *facts)
{
    struct finding finding;
    bool found = ask_rule(&finding, rule, facts);

    findings->thresholds[number] =
        (struct threshold){ rule->id, rule->threshold, found, finding.judged };
    if (found)
        insert_judged(findings, &finding, facts);
}

static struct findings no_findings(struct arena *arena)
{
    return (struct findings){ .items = ARENA_NEW(arena, struct finding, rule_count()),
                              .thresholds = ARENA_NEW(arena, struct threshold, rule_count()),
                              .threshold_count = rule_count() };
}

/* --- Time that several findings have --- */

/* Sets all in order anew. */
static void order_findings(struct findings *findings, const struct facts *facts)
{
    int64_t count = findings->count;
    struct finding *again = ARENA_NEW(facts->summary->arena, struct finding, count);

    memcpy(again, findings->items, (size_t)count * sizeof *again);
    findings->count = 0;
    for (int64_t i = 0; i < count; i++) insert_finding(findings, &again[i], facts);
}

/* Waiting for a core is in the times of all parts, and nobody knows what is left of each. */
static bool is_of_all_parts(const struct finding *finding)
{
    return strcmp(finding->id, "lost_core") == 0 ||
           (strcmp(finding->id, "oversubscribed_host") == 0 &&
            finding->bottleneck == BOTTLENECK_UNCLEAR);
}

/* The first finding owns its idle time. A later one does if the idle time is enough for both, and a
 * replay after the changes of the earlier ones gains as much as without them. */
static bool owns_its_time(const struct what_if_taken *taken, double taken_ns,
                          const struct finding *finding, double idle_ns)
{
    const double spread = 0.02; /* of rounding, and of what is counted at the ends of the window */

    return taken_ns == 0 || (taken_ns + finding->lost_ns_per_step <= (1 + spread) * idle_ns &&
                             what_if_own_share(taken, finding) >= 1 - spread);
}

/* Rules look at the same idle time from several sides: what puts it off, and what is done in it.
 * The first finding has it, and those that do not own theirs share it. Together, exclusive findings
 * lose what a replay without all of them gains. */
static void share_idle_time(struct findings *findings, const struct facts *facts)
{
    double idle_ns = facts_whole_ns(facts) * (1 - facts_busy_share(facts)), taken_ns = 0;
    struct what_if_taken taken = { .facts = facts };

    for (int64_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        if (!costs_idle_time(finding) || finding->shares_time || finding->gain_is_most ||
            is_of_all_parts(finding))
            continue;
        if (owns_its_time(&taken, taken_ns, finding, idle_ns)) {
            what_if_take(&taken, finding);
            taken_ns += finding->lost_ns_per_step;
            continue;
        }
        finding->shares_time = true;
        finding->severity = SEVERITY_MINOR;
        finding_says(finding, "; this overlaps with another finding");
    }
    order_findings(findings, facts);
}

/* --- Findings that another one hides --- */

/* A finding that takes half of the step or more makes all others small. */
static bool first_hides(const struct findings *findings, const struct facts *facts)
{
    const struct finding *first = &findings->items[0];

    return findings->count > 0 && first->severity == SEVERITY_CRITICAL && !first->gain_is_most &&
           first->predicted_gain > 1 && !is_of_all_parts(first) &&
           facts->summary->steps.count >= IDLE_STEPS_LEAST;
}

/* The facts of the step that is left when the first finding is fixed. */
static struct facts facts_without(const struct finding *first, const struct facts *facts)
{
    struct facts left = *facts;

    if (first->is_replayed) {
        facts_fix(&left, rule_find(first->id));
    } else {
        left.step_ns /= first->predicted_gain;
        left.known = NULL; /* what a change takes from the computation may go by the step */
    }
    if (first->bottleneck == BOTTLENECK_COMMUNICATION) /* which keeps the device busy */
        left.busy_ns = fmax(0, left.busy_ns - first->lost_ns_per_step);
    return left;
}

/* Asks a rule about that step. Share and gain of what it finds are of that step. */
static void judge_hidden(struct findings *findings, const struct rule *rule, const char *first,
                         const struct facts *left, const struct facts *facts)
{
    struct finding finding;

    if (findings_find(findings, rule->id) != NULL || !ask_rule(&finding, rule, left) ||
        finding.severity == SEVERITY_INFORMATION || !(finding.predicted_gain > 1) ||
        finding.confidence == CONFIDENCE_LOW)
        return;
    finding.severity = SEVERITY_MINOR;
    finding.confidence = CONFIDENCE_MEDIUM;
    finding.once_fixed = first;
    finding_says(&finding, "; once %s is fixed, that is %.0f%% of what is left of the step", first,
                 100 * (1 - 1 / finding.predicted_gain));
    insert_judged(findings, &finding, facts);
}

/* Findings that will be large once the first one is fixed are named too, after all that matter
 * now. */
static void find_hidden(struct findings *findings, const struct facts *facts)
{
    const struct rule *rule;
    struct facts left;
    const char *first;

    if (!first_hides(findings, facts))
        return;
    left = facts_without(&findings->items[0], facts);
    findings->left_step_ns = left.step_ns;
    first = findings->items[0].id; /* that moves as findings are inserted */
    for (int i = 0; (rule = rule_at(i)) != NULL; i++)
        judge_hidden(findings, rule, first, &left, facts);
}

/* --- Places --- */

struct placing {
    struct findings *findings;
    const struct facts *facts;
    atomic_llong next; /* finding */
};

static void place_some(struct arena *arena, void *context)
{
    struct placing *placing = context;

    for (int64_t i; (i = atomic_fetch_add(&placing->next, 1)) < placing->findings->count;) {
        struct finding *finding = &placing->findings->items[i];
        finding_place_of(arena, finding, rule_find(finding->id)->site, placing->facts);
    }
}

static void fix_and_place(struct arena *arena, void *context)
{
    struct placing *placing = context;

    placing->findings->next = next_fix_of(placing->findings, placing->facts);
    place_some(arena, context);
}

/* --- All --- */

struct findings findings_judged(const struct facts *facts)
{
    struct arena *arena = facts->summary->arena;
    struct findings findings = no_findings(arena);
    struct placing placing = { .findings = &findings, .facts = facts };
    const struct rule *rule;

    for (int i = 0; (rule = rule_at(i)) != NULL; i++) judge_rule(&findings, rule, i, facts);
    share_idle_time(&findings, facts);
    find_hidden(&findings, facts);
    /* A place is a search through all calls of the loop's thread, and the next fix takes some
     * replays: two of all that are done at once. */
    arena_run_both(arena, fix_and_place, place_some, &placing);
    return findings;
}

/* Adds the doubts, the headline and the next fix that follow from all findings together. */
static void conclude_findings(struct findings *findings, const struct facts *facts)
{
    const struct finding *first;

    doubt_uneven(findings);
    distrust(findings, facts);
    order_findings(findings, facts);
    explain_health(findings, facts);
    findings->headline = headline_of(findings_limit(findings), facts);
    first = findings_first(findings);
    if (first == NULL || first->id != findings->next.first || first->confidence == CONFIDENCE_LOW)
        findings->next = (struct next_fix){ .first = NULL };
}

struct findings findings_of(const struct facts *facts)
{
    struct findings findings = findings_judged(facts);

    conclude_findings(&findings, facts);
    return findings;
}

/* Asks the rules that look at ranks. The findings that the first one of the trace alone hides are
 * kept if it is still the first, at the same cost. */
static void judge_beside_ranks(struct findings *findings, const struct findings *alone,
                               const struct facts *facts)
{
    const struct finding *first = findings->items;
    struct facts left = *facts;
    const struct rule *rule;
    const char *id;

    for (int i = 0; (rule = rule_at(i)) != NULL; i++)
        if (rule->asks_ranks)
            judge_rule(findings, rule, i, facts);
    if (!first_hides(findings, facts) || !(alone->left_step_ns > 0) ||
        alone->items[0].id != first->id ||
        alone->items[0].lost_ns_per_step != first->lost_ns_per_step)
        return;
    left.step_ns = alone->left_step_ns;
    id = first->id;
    for (int64_t i = 0; i < alone->count; i++)
        if (alone->items[i].once_fixed != NULL && !rule_find(alone->items[i].id)->asks_ranks)
            insert_finding(findings, &alone->items[i], facts);
    for (int i = 0; (rule = rule_at(i)) != NULL; i++)
        if (rule->asks_ranks)
            judge_hidden(findings, rule, id, &left, facts);
}

struct findings findings_of_digest(const struct findings *alone, const struct facts *facts)
{
    struct findings findings = no_findings(facts->summary->arena);
    bool is_alone = facts->rank_count == 1;

    memcpy(findings.thresholds, alone->thresholds,
           (size_t)alone->threshold_count * sizeof *findings.thresholds);
    findings.next = alone->next;
    for (int64_t i = 0; i < alone->count; i++) {
        const struct finding *finding = &alone->items[i];
        if (is_alone || (finding->once_fixed == NULL && !rule_find(finding->id)->asks_ranks))
            findings.items[findings.count++] = *finding;
    }
    if (!is_alone)
        judge_beside_ranks(&findings, alone, facts);
    conclude_findings(&findings, facts);
    return findings;
}

/* --- Findings of another file --- */

static void merge_finding(struct finding *finding, const struct finding *other)
{
    if (!isnan(finding->lost_ns_per_step)) {
        finding_says(finding, "; %s", other->evidence);
        return;
    }
    memcpy(finding->evidence, other->evidence, sizeof finding->evidence);
    finding->advice = other->advice;
    finding->confidence = other->confidence;
    finding->severity = other->severity > finding->severity ? other->severity : finding->severity;
}

void findings_join(struct findings *findings, const struct finding *others, int64_t count,
                   const struct facts *facts)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0;
        while (at < findings->count && findings->items[at].id != others[i].id) at++;
        if (at < findings->count)
            merge_finding(&findings->items[at], &others[i]);
        else
            findings->items[findings->count++] = others[i];
    }
    order_findings(findings, facts);
    if (any_costs(findings))
        findings->healthy[0] = '\0';
    findings->headline = headline_of(findings_limit(findings), facts);
}

const struct finding *findings_first(const struct findings *findings)
{
    for (int64_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity > SEVERITY_INFORMATION)
            return &findings->items[i];
    return NULL;
}

const struct finding *findings_find(const struct findings *findings, const char *id)
{
    for (int64_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].id, id) == 0)
            return &findings->items[i];
    return NULL;
}

enum status findings_copy(struct findings *copy, const struct findings *findings)
{
    size_t bytes = (size_t)findings->count * sizeof *copy->items;

    *copy = *findings;
    copy->thresholds = NULL;
    copy->threshold_count = 0;
    copy->items = malloc(bytes + 1);
    if (copy->items == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld findings", (long long)findings->count);
    memcpy(copy->items, findings->items, bytes);

    return STATUS_OK;
}

void findings_release(struct findings *copy)
{
    free(copy->items);
    *copy = (struct findings){ .count = 0 };
}
