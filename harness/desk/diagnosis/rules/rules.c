/* Shared by all rules: their rows, the facts of a step, replays of it with what they advise, and
 * how a cost becomes a severity and a gain. A replay is asked for by rules and by whoever compares
 * their findings, so its times are kept (known_times). */
#include "harness/desk/diagnosis/rules/rules.h"

#include "harness/base/words/text.h"
#include "harness/desk/analysis/names/event_names.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Rows --- */

static const struct rule *const tables[] = {
    rules_of_memory, rules_of_launches,  rules_of_loading, rules_of_host,  rules_of_copies,
    rules_of_device, rules_of_operators, rules_of_ranks,   rules_of_trace, rules_of_program
};

const struct rule *rule_at(int number)
{
    for (size_t table = 0; table < ARRAY_SIZE(tables); table++)
        for (const struct rule *rule = tables[table]; rule->id != NULL; rule++)
            if (number-- == 0)
                return rule;
    return NULL;
}

const struct rule *rule_find(const char *id)
{
    const struct rule *rule;

    for (int i = 0; (rule = rule_at(i)) != NULL; i++)
        if (strcmp(rule->id, id) == 0)
            break;
    return rule;
}

struct finding rule_finding(const struct rule *rule)
{
    return (struct finding){ .id = rule->id,
                             .title = rule->title,
                             .advice = rule->advice,
                             .bottleneck = rule->bottleneck,
                             .severity = SEVERITY_MINOR,
                             .confidence = CONFIDENCE_HIGH,
                             .lost_ns_per_step = NAN,
                             .predicted_gain = NAN,
                             .replayed_share = 1 };
}

int rule_count(void)
{
    int count = 0;

    while (rule_at(count) != NULL) count++;
    return count;
}

/* --- Facts --- */

/* A call without work and work without a call may be one pair whose numbers differ, so only the
 * excess of such calls counts. */
static bool lacks_work(const struct launches *launches)
{
    int64_t lost = launches->lost_count - launches->orphan_count;

    return lost * 10 > launches->count + launches->lost_count;
}

struct facts facts_of(const struct summary *ranks, int64_t count, int64_t which)
{
    const struct summary *summary = &ranks[which];
    const struct span_row *optimizer =
        spans_find(&summary->spans, summary->trace, "Optimizer.step#", true);
    const struct span_row *forward = spans_find(&summary->spans, summary->trace, "forward", false);
    struct facts facts = { .summary = summary, .ranks = ranks, .rank_count = count, .steps = 1 };
    const double spread = 0.02; /* of a replay that gives back the trace */
    struct replayed_time time;
    double recorded_ns;

    facts.known = ARENA_NEW(summary->arena, struct known_times, 1);
    if (summary->timeline.work_count > 0)
        facts.device = timeline_device(&summary->timeline);
    facts.has_steps = summary->steps.count > 0;
    if (facts.has_steps)
        facts.steps = (double)summary->steps.count;
    else if (optimizer != NULL)
        facts.steps = (double)optimizer->count;
    facts.window_ns = (double)(summary->idle.end_ns - summary->idle.start_ns);
    facts.step_ns = facts.window_ns / facts.steps;
    facts.median_step_ns = facts.has_steps ? summary->steps.median_ns : facts.step_ns;
    facts.busy_ns = (double)summary->idle.busy_ns / facts.steps;
    facts.launches = (double)summary->launches.count / facts.steps;
    facts.lacks_work = lacks_work(&summary->launches);
    facts.program = traced_program_of(summary);
    facts.passes = forward != NULL ? (double)forward->count / facts.steps : 1;
    recorded_ns = (double)(summary->graph.end_ns - summary->graph.start_ns);
    time = replay(summary->arena, &summary->graph, NULL, 0, NULL);
    facts.iteration_ns = time.turn_ns;
    facts.replay_holds =
        time.turn_ns > 0 && fabs(time.first_ns - recorded_ns) <= spread * recorded_ns;
    return facts;
}

/* --- Replays --- */

/* The change of a rule that makes kernels shorter, all by the same factor. */
static void shorten_computing(const void *context, const struct trace_graph *graph, int64_t at,
                              struct graph_node *node)
{
    const double *factor = context;
    (void)graph;
    (void)at;

    if (node->stream != GRAPH_NONE && node->kind == WORK_COMPUTATION)
        node->duration_ns = (int64_t)((double)node->duration_ns * *factor);
}

/* The part of the computation's time that a rule's change leaves. */
static double computing_left(const struct rule *rule, const struct facts *facts)
{
    double all_ns = (double)facts->summary->usage.kind_ns[WORK_COMPUTATION] / facts->steps;
    double saved_ns = rule->saved_computing_ns != NULL ? rule->saved_computing_ns(facts) : 0;

    return saved_ns > 0 ? fmax(0, 1 - saved_ns / all_ns) : 1;
}

bool rule_is_replayed(const struct rule *rule)
{
    return rule->alter != NULL || rule->saved_computing_ns != NULL;
}

static double replayed_iteration_ns(const struct facts *facts, const struct rule *const *rules,
                                    int count, struct intervals *busy)
{
    struct replay_change changes[2 * FACTS_FIXED_MOST];
    double left[2 * FACTS_FIXED_MOST];

    count += facts->fixed_count;
    for (int i = 0; i < count; i++) {
        const struct rule *rule =
            i < facts->fixed_count ? facts->fixed[i] : rules[i - facts->fixed_count];
        left[i] = computing_left(rule, facts);
        changes[i] = rule->alter != NULL ? (struct replay_change){ rule->alter, facts }
                                         : (struct replay_change){ shorten_computing, &left[i] };
    }
    return replay(facts->summary->arena, &facts->summary->graph, changes, count, busy).turn_ns;
}

double facts_iteration_ns(const struct facts *facts, const struct rule *const *rules, int count,
                          struct intervals *busy)
{
    struct known_times *known = facts->known;
    struct known_time time = { .iteration_ns = 0 };

    if (known == NULL || busy != NULL)
        return replayed_iteration_ns(facts, rules, count, busy);
    for (int i = 0; i < count; i++) time.rules[i] = rules[i];
    for (int i = 0; i < known->count; i++)
        if (memcmp(known->items[i].rules, time.rules, sizeof time.rules) == 0)
            return known->items[i].iteration_ns;
    time.iteration_ns = replayed_iteration_ns(facts, rules, count, NULL);
    if (known->count < FACTS_KNOWN_MOST)
        known->items[known->count++] = time;
    return time.iteration_ns;
}

double facts_saved_together_ns(const struct facts *facts, const struct rule *const *rules,
                               int count)
{
    return facts->iteration_ns > 0
               ? facts->step_ns *
                     (1 - facts_iteration_ns(facts, rules, count, NULL) / facts->iteration_ns)
               : 0;
}

double facts_saved_ns(const struct facts *facts, const struct rule *rule)
{
    return facts_saved_together_ns(facts, &rule, 1);
}

void facts_fix(struct facts *facts, const struct rule *rule)
{
    double iteration_ns;

    if (facts->fixed_count == FACTS_FIXED_MOST || !(facts->iteration_ns > 0))
        return;
    iteration_ns = facts_iteration_ns(facts, &rule, 1, NULL);
    facts->step_ns *= iteration_ns / facts->iteration_ns;
    facts->iteration_ns = iteration_ns;
    facts->fixed[facts->fixed_count++] = rule;
    facts->known = NULL;
}

/* --- Costs --- */

void finding_judges(struct finding *finding, const char *what, double value, double good,
                    double bad)
{
    finding->judged = (struct judged){ what, value, good, bad };
}

bool finding_costs(struct finding *finding, const struct facts *facts, double lost_ns)
{
    return finding_costs_from(finding, facts, lost_ns, RULE_SHARE_LEAST);
}

void finding_grade(struct finding *finding, double whole_ns, double lost_ns)
{
    double share = whole_ns > 0 ? lost_ns / whole_ns : 0;

    finding->lost_ns_per_step = lost_ns;
    finding->predicted_gain = share < 1 ? 1 / (1 - share) : NAN;
    finding->severity = share < RULE_SHARE_MAJOR      ? SEVERITY_MINOR
                        : share < RULE_SHARE_CRITICAL ? SEVERITY_MAJOR
                                                      : SEVERITY_CRITICAL;
}

bool finding_costs_from(struct finding *finding, const struct facts *facts, double lost_ns,
                        double least)
{
    double share;

    lost_ns = fmax(0, lost_ns);
    if (lost_ns >
        facts->step_ns) { /* no step can lose more than it has: what the rule sums overlaps */
        lost_ns = facts->step_ns;
        finding->confidence = CONFIDENCE_LOW;
    }
    share = facts->step_ns > 0 ? lost_ns / facts->step_ns : 0;
    finding_judges(finding, "lost share of a step", share, least, RULE_SHARE_MAJOR);
    if (share >= least)
        finding_grade(finding, facts->step_ns, lost_ns);
    return share >= least;
}

/* The idle time per step that the host causes; a device whose work is queued waits for nothing that
 * the host could do sooner. */
static double host_idle_ns(const struct facts *facts)
{
    const struct idle *idle = &facts->summary->idle;

    return fmax(0, (double)(idle->all.idle_ns - idle->all.stalled_ns - idle->all.unknown_ns)) /
           facts->steps;
}

/* No step gains what the trace has not: what happens once, nothing before hides; and with as much
 * work at most that idle time goes. A loop has one part more of it than a window whose ends are
 * left out (idle.h); of few steps, that would be too much to suppose. */
static double most_saved_ns(const struct rule *rule, const struct facts *facts, double touched_ns)
{
    enum { STEPS_LEAST = 10 };
    const struct steps *steps = &facts->summary->steps;
    bool is_cut = steps->count >= STEPS_LEAST &&
                  facts->summary->idle.start_ns > steps->items[0].event->start_ns;
    double idle_ns = host_idle_ns(facts), end_ns = is_cut ? idle_ns / (facts->steps - 1) : 0;

    if (facts_of_whole(facts))
        return touched_ns;
    return rule->shortens_work ? facts->step_ns
                               : facts->step_ns * (idle_ns + end_ns) / (facts->step_ns + end_ns);
}

bool finding_replays(struct finding *finding, const struct facts *facts, double touched_ns)
{
    const struct rule *rule = rule_find(finding->id);
    struct facts before = *facts; /* the change */
    double most_ns = most_saved_ns(rule, facts, touched_ns), saved_ns;

    if (!finding_costs(finding, facts, touched_ns) || !(finding->replayed_share > 0))
        return finding->lost_ns_per_step > 0;
    if (!facts->replay_holds) {
        finding->confidence = CONFIDENCE_LOW;
        return true;
    }
    if (finding->behind != NULL)
        facts_fix(&before, rule_find(finding->behind));
    saved_ns = facts_saved_ns(&before, rule) * finding->replayed_share;
    if (saved_ns > most_ns) {
        finding->replayed_share *= most_ns / saved_ns;
        saved_ns = most_ns;
    }
    finding->is_replayed = true;
    if (finding_costs(finding, facts, fmin(saved_ns, facts->step_ns - finding->least_step_ns))) {
        if (!rule->shortens_work) /* the window's ends are no step's */
            finding->lost_ns_per_step = fmin(finding->lost_ns_per_step, host_idle_ns(facts));
        return true;
    }
    finding_gains_nothing(finding, facts);
    finding_says(finding, "; replayed without that, the step takes as long");
    return true;
}

void finding_says(struct finding *finding, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text_append_list(finding->evidence, sizeof finding->evidence, format, arguments);
    va_end(arguments);
}

void finding_informs(struct finding *finding)
{
    finding->severity = SEVERITY_INFORMATION;
    finding->lost_ns_per_step = 0;
    finding->predicted_gain = 1;
}

void finding_gains_nothing(struct finding *finding, const struct facts *facts)
{
    finding_informs(finding);
    if (finding->bottleneck != facts_pace(facts))
        finding->bottleneck = BOTTLENECK_NONE;
}

/* --- Shares and words --- */

double facts_whole_ns(const struct facts *facts)
{
    double untraced_ns = facts->summary->trace->cost.step_ns;

    return untraced_ns > 0 ? untraced_ns : facts->step_ns;
}

bool facts_on_host_cores(const struct facts *facts)
{
    return facts->device != NULL && facts->device->shares_host_cores == 1;
}

bool facts_on_gpu(const struct facts *facts)
{
    return facts->device != NULL && facts->device->shares_host_cores != 1;
}

double facts_untraced_ns(const struct facts *facts, double traced_ns,
                         const struct rule *const *rules, int count)
{
    double whole_ns = facts_whole_ns(facts);
    double computing_ns = (double)facts->summary->usage.kind_ns[WORK_COMPUTATION] / facts->steps;
    double scaled_ns = facts->step_ns > 0 ? traced_ns * whole_ns / facts->step_ns : traced_ns;

    if (!facts_on_gpu(facts) || !(whole_ns < facts->step_ns))
        return scaled_ns;
    for (int i = 0; i < count; i++) computing_ns *= computing_left(rules[i], facts);
    return fmin(whole_ns, fmax(scaled_ns, fmin(traced_ns, computing_ns)));
}

double facts_busy_share(const struct facts *facts)
{
    return facts->step_ns > 0 ? facts->busy_ns / facts->step_ns : 0;
}

double facts_device_share(const struct facts *facts)
{
    const struct idle *idle = &facts->summary->idle;
    double all = (double)idle->busy_ns + idle->paced_ns;

    if (facts->summary->steps.count < IDLE_STEPS_LEAST)
        return facts_busy_share(facts);
    return all > 0 ? (double)idle->busy_ns / all : 0;
}

double facts_computing_share(const struct facts *facts)
{
    const struct summary *summary = facts->summary;

    if (!summary->timeline.host_alone)
        return facts_busy_share(facts);
    return facts->window_ns > 0
               ? (double)summary->idle.all.free_ns[HOST_OPERATOR] / facts->window_ns
               : 0;
}

enum bottleneck facts_pace(const struct facts *facts)
{
    const struct usage *usage = &facts->summary->usage;
    int64_t computing_ns = usage->kind_ns[WORK_COMPUTATION];
    int64_t sending_ns = usage->communication_exposed_ns, copying_ns = usage->copy_exposed_ns;
    int64_t moving_ns = interval_later(sending_ns, copying_ns);
    bool is_busy = facts_computing_share(facts) >= RULE_BUSY_GOOD;

    if (facts_are_few(facts))
        return BOTTLENECK_NONE;
    if (facts->summary->timeline.host_alone || computing_ns >= moving_ns)
        return !is_busy                              ? BOTTLENECK_NONE
               : facts->summary->timeline.host_alone ? BOTTLENECK_HOST
                                                     : BOTTLENECK_DEVICE;
    if (!is_busy && (double)moving_ns < RULE_SHARE_CRITICAL * facts->window_ns)
        return BOTTLENECK_NONE;
    return sending_ns >= copying_ns ? BOTTLENECK_COMMUNICATION : BOTTLENECK_COPIES;
}

bool facts_host_sets_pace(const struct facts *facts)
{
    return !facts->summary->timeline.host_alone && facts_busy_share(facts) < RULE_BUSY_GOOD &&
           facts->summary->idle.paced_ns >= RULE_SHARE_MAJOR * facts->window_ns;
}

/* Two steps are few, but if each is nearly all one thing that the host does, no third is needed. */
static bool one_cause_fills(const struct facts *facts)
{
    static const enum host_kind causes[] = { HOST_LOADING,    HOST_LOGGING,   HOST_SAVING,
                                             HOST_ALLOCATING, HOST_FIRST_USE, HOST_WORKING };
    int64_t most_ns = 0;

    for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
        most_ns = interval_later(most_ns, idle_host_ns(&facts->summary->idle.all, causes[i]));
    return facts->summary->steps.count >= 2 && !facts_steps_are_guessed(facts) &&
           (double)most_ns >= RULE_SHARE_FILLS * facts->window_ns;
}

bool facts_are_few(const struct facts *facts)
{
    int64_t count = 0;
    bool filled = facts_busy_share(facts) >= RULE_BUSY_GOOD &&
                  facts->busy_ns * facts->steps >= RULE_WORK_LEAST * RULE_SHORT_KERNEL_NS;

    for (int64_t i = 0; i < facts->rank_count && count < RULE_WORK_LEAST; i++)
        count += facts->ranks[i].timeline.host_alone ? facts->ranks[i].operators.count
                                                     : facts->ranks[i].timeline.work_count;
    return count < RULE_WORK_LEAST && !filled && !one_cause_fills(facts);
}

bool facts_are_foreign(const struct facts *facts)
{
    const struct trace_file *trace = facts->summary->trace;

    if (trace->event_count == 0 && trace->frame_count == 0 &&
        trace->other_count > trace->name_count && trace->recorder == NULL)
        return true;
    return facts->summary->timeline.work_count == 0 && trace->unread_device != NULL;
}

bool facts_of_whole(const struct facts *facts)
{
    return !facts->has_steps && facts->steps < 2;
}

double facts_profiler_ns(const struct facts *facts)
{
    const struct idle *idle = &facts->summary->idle;

    return (double)intervals_within_ns(&facts->summary->first_uses.idle_profiler, idle->start_ns,
                                       idle->end_ns) /
           facts->steps;
}

double facts_cut_ns(const struct facts *facts)
{
    const struct summary *summary = facts->summary;

    return summary->steps.count == 0 && summary->timeline.work_count > 0
               ? fmax(0, (double)(summary->idle.start_ns - summary->timeline.all.start_ns))
               : 0;
}

bool facts_steps_are_guessed(const struct facts *facts)
{
    return facts->summary->steps.anchor != NULL;
}

bool facts_steps_of_engine(const struct facts *facts, int64_t *prefills)
{
    const struct steps *steps = &facts->summary->steps;

    if (steps->region == NULL || !name_is_engine_step(steps->region) ||
        facts->summary->digest != NULL) /* which has no events */
        return false;
    for (int64_t i = 0; prefills != NULL && i < steps->count; i++)
        *prefills +=
            name_prefills(trace_file_name(facts->summary->trace, steps->items[i].event->name));
    return true;
}

/* SGLang has marks of both kinds, one around the other. */
int64_t facts_engine_marks(const struct facts *facts, const char **name)
{
    const struct timeline *timeline = &facts->summary->timeline;
    int64_t counts[2] = { 0, 0 };
    const char *names[2] = { "", "" };
    bool has_steps;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const char *mark = trace_file_name(timeline->trace, timeline->host[i]->name);
        bool is_step = name_begins(mark, "step[");
        if (timeline->host[i]->kind == EVENT_KIND_ANNOTATION && name_is_engine_step(mark) &&
            counts[is_step]++ == 0)
            names[is_step] = mark;
    }
    has_steps = counts[true] > 0;
    *name = names[has_steps];
    return counts[has_steps];
}

struct step_text step_text(const struct facts *facts)
{
    struct step_text step;

    snprintf(step.text, sizeof step.text,
             facts_of_whole(facts)                     ? "the trace's %s"
             : facts->summary->trace->cost.step_ns > 0 ? "a %s step as traced"
                                                       : "a %s step",
             quantity_time(facts->step_ns).text);
    return step;
}

const char *facts_per(const struct facts *facts)
{
    return facts_of_whole(facts) ? "in total" : "per step";
}
