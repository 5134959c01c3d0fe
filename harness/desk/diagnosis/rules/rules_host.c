/* Findings of a loop whose host does something else than giving the device work. */
#include "harness/desk/diagnosis/rules/host_facts.h"

#include "harness/base/figures/statistics.h"
#include "harness/desk/analysis/names/event_names.h"

#include <math.h>
#include <string.h>

/* --- Waits in the loop --- */

/* The time in calls that launch, without copies that wait in them, or the kernels that launches
 * wait for. */
static double launching_ns(const struct facts *facts)
{
    const struct host_activity *host = &facts->summary->host;
    const struct trace_file *trace = facts->summary->trace;
    double ns = (double)facts->summary->launches.host_ns;

    if (host->launches_wait)
        return fmax(0, ns - facts->busy_ns * facts->steps);
    for (int64_t i = 0; i < host->wait_count; i++)
        if (!name_is_wait(trace_file_name(trace, host->waits[i]->name)))
            ns -= (double)(host->waits[i]->end_ns - host->waits[i]->start_ns);
    return fmax(0, ns);
}

static const struct trace_event *event_of(const struct facts *facts, const struct graph_node *node)
{
    return &facts->summary->trace->events[node->event];
}

/* The host has to wait for data that it copied to itself to work on: it copies the result back. A
 * smaller copy is a number that is read. */
static bool is_operand(const struct facts *facts, const struct trace_graph *graph, int64_t at)
{
    enum { BYTES = 1024 };
    const struct graph_node *copy = &graph->nodes[graph->nodes[at].after];
    const struct trace_file *trace = facts->summary->trace;

    if (copy->kind != WORK_COPY || event_of(facts, copy)->bytes < BYTES ||
        strstr(trace_file_name(trace, event_of(facts, copy)->name), "DtoH") == NULL)
        return false;
    while (++at < graph->count && graph->nodes[at].stream == GRAPH_NONE) continue;
    return at < graph->count && graph->nodes[at].kind == WORK_COPY &&
           strstr(trace_file_name(trace, event_of(facts, &graph->nodes[at])->name), "HtoD") != NULL;
}

/* A log's waits are its own, if it costs something. */
static bool is_logged(const struct facts *facts, const struct graph_node *node)
{
    return facts_host_ns(facts, HOST_LOGGING) >= RULE_SHARE_LEAST * facts->step_ns &&
           intervals_contain(&facts->summary->host.logging, node->at_ns);
}

/* A capture waits for the device itself, and so does a save, for the state. */
static bool is_before_wait(const struct trace_graph *graph, int64_t at)
{
    while (++at < graph->count && graph->nodes[at].stream == GRAPH_NONE)
        if (graph->nodes[at].kind == HOST_CAPTURING || graph->nodes[at].kind == HOST_SAVING)
            return true;
    return false;
}

/* The host does not wait. */
static void read_later(const void *context, const struct trace_graph *graph, int64_t at,
                       struct graph_node *node)
{
    if (node->stream != GRAPH_NONE || node->kind != HOST_WAITING || node->after == GRAPH_NONE ||
        is_operand(context, graph, at) || is_logged(context, node) || is_before_wait(graph, at))
        return;
    node->after = GRAPH_NONE;
    node->duration_ns = 0;
}

/* Idle time that no wait causes, and that stays without them. */
static double idle_of_others(const struct facts *facts)
{
    static const enum host_kind others[] = { HOST_LOGGING, HOST_SAVING, HOST_ALLOCATING,
                                             HOST_FIRST_USE, HOST_CAPTURING };
    double idle = 0;

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) idle += facts_host_ns(facts, others[i]);
    return idle;
}

/* Without the waits, a step takes what the host does otherwise or what the device takes, whichever
 * is longer. A replay leaves such calls as long as they are beside their waits, and they are
 * shorter if they do not wait. */
static bool judge_blocking_launches(struct finding *finding, const struct facts *facts)
{
    double launching = launching_ns(facts) / facts->steps;
    double host =
        launching + facts_host_ns(facts, HOST_LOADING) + facts_host_ns(facts, HOST_WORKING);

    finding_says(finding,
                 "the host waits until the device has no work left, %.0f times %s with its %.0f "
                 "launches; launching takes %s of %s, and the device works for %s",
                 (double)facts_idle(facts)->drained_count / facts->steps, facts_per(facts),
                 facts->launches, quantity_time(launching).text, step_text(facts).text,
                 quantity_time(facts->busy_ns).text);
    return finding_costs(finding, facts,
                         fmin(facts->step_ns - fmax(host, facts->busy_ns) - idle_of_others(facts),
                              fmin(facts_saved_ns(facts, rule_find(finding->id)),
                                   facts->step_ns - finding->least_step_ns)));
}

/* The idle times after waits. */
struct after_waits {
    double *ns;
    int count;
};

static void take_after_wait(void *context, const struct idle_gap *gap)
{
    struct after_waits *after = context;

    if (gap->time.drained_count > 0)
        after->ns[after->count++] = (double)gap->time.idle_ns;
}

/* Waits in a loop cost about the same each time. If a tenth of them or fewer have most of the idle
 * time, the host may as well be said to do long work there: names how many, and returns their
 * time. */
static double name_few_waits(struct finding *finding, const struct facts *facts)
{
    const struct summary *summary = facts->summary;
    struct arena *scratch = arena_scratch(summary->arena);
    struct after_waits after = { ARENA_NEW(scratch, double, summary->timeline.work_count + 2), 0 };
    double all = 0, most = 0;
    int few = 0;

    idle_visit(scratch, &summary->timeline, &summary->steps, &summary->host, take_after_wait,
               &after);
    stats_sort(after.ns, after.count);
    for (int i = 0; i < after.count; i++) all += after.ns[i];
    while (few < after.count && most < all / 2) most += after.ns[after.count - ++few];
    arena_close(scratch);
    if (few == 0 || few * 10 > after.count)
        return 0;
    finding_says(finding,
                 "; after %d of these waits it works for %s in all, after the other %d for %s", few,
                 quantity_time(most).text, after.count - few, quantity_time(all - most).text);
    return most;
}

/* The host's work after waits; after a wait in mid-step, part of it in a later gap. The time until
 * it notices that its wait is over counts as well, but no more than that: a thread that lost its
 * core once shows no pattern. */
static double put_off_ns(const struct idle_time *time)
{
    double noticing_ns = (double)time->drained_ns[HOST_WAITING];
    double ns = (double)time->free_ns[HOST_LOADING] + (double)time->free_ns[HOST_WORKING];

    for (int i = 0; i < HOST_KIND_COUNT; i++)
        ns += i == HOST_WAITING ? 0 : (double)time->drained_ns[i];
    return ns + fmin(ns, noticing_ns);
}

static bool judge_host_sync(struct finding *finding, const struct facts *facts)
{
    const struct idle_time *time = facts_idle(facts);
    double waits = (double)time->drained_count / facts->steps, after_ns = 0, few_ns;

    if (time->drained_count == 0)
        return false;
    if (facts_of_whole(facts) || facts_steps_are_guessed(facts))
        finding->title = "The host waits for the device";
    finding->least_step_ns = facts_least_of_cores_ns(facts);
    if (facts_loading_is_uneven(facts)) /* only the work of several steps would cover a long load */
        finding->behind = "data_loading";
    if (facts_waits_for_launches(facts))
        return judge_blocking_launches(finding, facts);
    for (int i = 0; i < HOST_KIND_COUNT; i++) after_ns += (double)time->drained_ns[i];
    if (!(after_ns > 0)) /* nothing follows: the recording ends there */
        return false;
    finding_says(
        finding,
        "the host waits until the device has no work left, %.3g time%s %s; it then works for "
        "%s until the device has work again, which takes %s",
        waits, waits > 0.995 && waits < 1.005 ? "" : "s", facts_per(facts),
        quantity_time(after_ns / facts->steps).text, quantity_time(facts->busy_ns).text);
    few_ns = name_few_waits(finding, facts);
    if (!facts_of_whole(facts)) /* they may come back in each step */
        few_ns = 0;
    return finding_replays(finding, facts, fmax(put_off_ns(time) - few_ns, 0) / facts->steps) &&
           (finding->severity > SEVERITY_INFORMATION ||
            after_ns - few_ns >= RULE_SHARE_LEAST * facts->window_ns);
}

static double say_idle(struct finding *finding, const struct facts *facts, enum host_kind activity,
                       const char *what)
{
    double idle = facts_host_ns(facts, activity);

    if (facts->summary->timeline.host_alone)
        finding_says(finding, "the loop %s for %s of %s", what, quantity_time(idle).text,
                     step_text(facts).text);
    else
        finding_says(finding, "the device is idle for %s of %s while the loop %s",
                     quantity_time(idle).text, step_text(facts).text, what);
    return idle;
}

/* Another thread needs a core for what it does, but for the time that a disk or a network takes. */
static bool replays_on_cores(struct finding *finding, const struct facts *facts, double touched_ns)
{
    finding->least_step_ns = facts_least_of_cores_ns(facts);
    if (!finding_replays(finding, facts, touched_ns))
        return false;
    finding->gain_is_least =
        finding->least_step_ns > 0 && finding->lost_ns_per_step > 0 &&
        finding->lost_ns_per_step > 0.99 * (facts->step_ns - finding->least_step_ns);
    return true;
}

/* Another thread writes the log, from results that were copied meanwhile. */
static void log_in_background(const void *context, const struct trace_graph *graph, int64_t at,
                              struct graph_node *node)
{
    const struct facts *facts = context;
    (void)graph;
    (void)at;

    if (node->stream == GRAPH_NONE &&
        (node->kind == HOST_LOGGING ||
         (node->kind == HOST_WAITING &&
          intervals_contain(&facts->summary->host.logging, node->at_ns)))) {
        node->after = GRAPH_NONE;
        node->duration_ns = 0;
    }
}

static bool judge_logging_gap(struct finding *finding, const struct facts *facts)
{
    double idle = say_idle(finding, facts, HOST_LOGGING, "logs");

    return replays_on_cores(finding, facts, idle);
}

/* Another thread writes the state, from copies to pinned memory on a stream of their own. */
static void save_in_background(const void *context, const struct trace_graph *graph, int64_t at,
                               struct graph_node *node)
{
    (void)context;
    (void)at;
    graph_node_drop(node, HOST_SAVING);
    if (node->stream != GRAPH_NONE && node->call != GRAPH_NONE &&
        graph->nodes[node->call].kind == HOST_SAVING)
        node->stream = (int16_t)graph->stream_count;
}

static bool judge_save_pause(struct finding *finding, const struct facts *facts)
{
    double idle = say_idle(finding, facts, HOST_SAVING, "saves");
    double copies = facts_saved_copies_ns(facts);

    if (copies > 0)
        finding_says(finding, "; its copies take %s", quantity_time(copies).text);
    return replays_on_cores(finding, facts, idle + copies);
}

/* --- The length of steps --- */

#define UNEVEN 0.1 /* standard deviation over mean */

/* The time that a step took, how much of it is explained, and that of other work of the host. The
 * first step is left out. */
struct step_figures {
    double *length, *explained, *working, *blocks;
    int count;
};

static struct step_figures step_figures(struct arena *arena, const struct facts *facts)
{
    int64_t most = facts->summary->steps.count;

    return (struct step_figures){ ARENA_NEW(arena, double, most), ARENA_NEW(arena, double, most),
                                  ARENA_NEW(arena, double, most), ARENA_NEW(arena, double, most),
                                  0 };
}

static double working_ns(const struct facts *facts, int64_t step)
{
    return (double)idle_host_ns(&facts->summary->idle.steps[step], HOST_WORKING);
}

/* Idle time whose cause has a rule of its own, and messages, which wait for other ranks. */
static double explained_ns(const struct facts *facts, int64_t step)
{
    static const enum host_kind activities[] = { HOST_LOADING, HOST_LOGGING, HOST_SAVING,
                                                 HOST_ALLOCATING };
    const struct idle_time *time = &facts->summary->idle.steps[step];
    double ns = (double)facts->summary->steps.items[step].part_ns[STEP_COMMUNICATION];

    for (size_t i = 0; i < ARRAY_SIZE(activities); i++)
        ns += (double)idle_host_ns(time, activities[i]);
    return ns;
}

/* A host that computes itself: its steps' own lengths, and how many operators of the loop begin in
 * each. */
static bool measure_host_steps(struct step_figures *figures, const struct facts *facts)
{
    const struct summary *summary = facts->summary;

    for (int64_t i = 1; i < summary->steps.count; i++) {
        int at = figures->count++;
        figures->length[at] = (double)summary->steps.items[i].duration_ns;
        figures->explained[at] = explained_ns(facts, i);
        figures->working[at] = working_ns(facts, i);
    }
    for (int64_t i = 0; i < summary->timeline.host_count; i++) {
        const struct trace_event *event = summary->timeline.host[i];
        int64_t step = steps_find(&summary->steps, event->start_ns);
        if (step > 0 && event->kind == EVENT_KIND_OPERATOR && event->track == summary->host.loop)
            figures->blocks[step - 1]++;
    }
    return true;
}

/* A host that runs ahead of its device spends no even time per step, so the device's work says how
 * long a step took: from the end of the last step's work to the end of its own. False: a step has
 * no work. */
static bool measure_steps(struct step_figures *figures, const struct facts *facts)
{
    const struct steps *steps = &facts->summary->steps;

    for (int64_t i = 1; i < steps->count; i++) {
        const struct step *last = &steps->items[i - 1], *step = &steps->items[i];
        int at = figures->count++;
        if (last->work_end_ns == 0 || step->work_end_ns <= last->work_end_ns)
            return false;
        figures->length[at] = (double)(step->work_end_ns - last->work_end_ns);
        figures->explained[at] = explained_ns(facts, i);
        figures->working[at] = working_ns(facts, i);
        figures->blocks[at] = (double)step->blocks;
    }
    return true;
}

static bool measure_lengths(struct step_figures *figures, const struct facts *facts)
{
    return facts->summary->timeline.host_alone ? measure_host_steps(figures, facts)
                                               : measure_steps(figures, facts);
}

/* --- Steps that grow --- */

enum { GROWING_STEPS_LEAST = 12, BESIDE = 3 };

/* Steps of which the host's other work, while the device waits, takes longer and longer; how much
 * longer than at the beginning it takes, on average. */
struct step_growth {
    int steps; /* 0: it does not grow */
    double early_ns, late_ns;
    double ns;
};

/* By how much the mean of a series is above its beginning, if it grows evenly: the medians of its
 * first and last quarter lie an eighth of it from its ends. */
static double above_beginning(const double *values, int count)
{
    int quarter = count / 4;
    double early = stats_median(values, quarter);
    double late = stats_median(values + count - quarter, quarter);

    return fmax(0, stats_mean(values, count) - (early - (late - early) / 6));
}

/* Where an epoch ends, and what has grown begins anew: steps behind it have a third less. */
static bool falls(const double *working, int at)
{
    return stats_median(working + at - BESIDE, BESIDE) > 1.5 * stats_median(working + at, BESIDE);
}

/* The longest stretch without such a fall. */
static int longest_stretch(const struct step_figures *figures, int *first)
{
    int most = 0, from = 0;

    for (int i = BESIDE; i <= figures->count; i++) {
        if (i < figures->count && (i + BESIDE > figures->count || !falls(figures->working, i)))
            continue;
        if (i - from > most) {
            most = i - from;
            *first = from;
        }
        from = i;
    }
    return most;
}

/* The mean of two steps in a row, since a gap counts for the step that it begins in, and the step
 * before may have had two. The lengths of steps are less even: they have the device's work in them,
 * and whatever holds that up. */
static bool measure_working(struct step_figures *figures, const struct facts *facts)
{
    if (facts_steps_are_guessed(facts) || !measure_lengths(figures, facts) || figures->count < 2)
        return false;
    for (int i = 0; i + 1 < figures->count; i++)
        figures->working[i] = (figures->working[i] + figures->working[i + 1]) / 2;
    figures->count--;
    return true;
}

static struct step_growth growth_of_steps(const struct facts *facts)
{
    SCRATCH_ARENA(scratch, facts->summary->arena);
    struct step_figures figures = step_figures(scratch, facts);
    struct step_growth growth = { 0 };
    int first = 0, count = 0;

    if (measure_working(&figures, facts))
        count = longest_stretch(&figures, &first);
    if (count >= GROWING_STEPS_LEAST && !(stats_cv(figures.blocks + first, count) > UNEVEN / 2) &&
        stats_grows(figures.working + first, count, &growth.early_ns, &growth.late_ns)) {
        growth.steps = count;
        growth.ns = above_beginning(figures.working + first, count);
    }
    return growth;
}

static bool judge_growing_steps(struct finding *finding, const struct facts *facts)
{
    struct step_growth growth = growth_of_steps(facts);

    if (growth.steps == 0)
        return false;
    finding_says(finding,
                 "in the first of %d steps in a row the host does other work for %s while the "
                 "device waits, in the last ones for %s, for the same work on the device",
                 growth.steps, quantity_time(growth.early_ns).text,
                 quantity_time(growth.late_ns).text);
    return finding_costs(finding, facts, growth.ns);
}

/* --- Other work --- */

enum { NAMES_MOST = 3 };

/* The part of it in which garbage is collected: Python's has a row among its calls, ours a phase.
 */
static double collecting_ns(const struct facts *facts)
{
    const struct trace_file *trace = facts->summary->trace;
    const struct intervals *pauses = &facts->summary->pauses.times;
    uint32_t names = trace_file_name_count(trace);
    SCRATCH_ARENA(scratch, facts->summary->arena);
    bool *collects = ARENA_NEW(scratch, bool, names);
    double ns = 0;

    for (uint32_t i = 0; i < names; i++)
        collects[i] = strcmp(trace_file_name(trace, i), "Python GC") == 0 ||
                      strcmp(trace_file_name(trace, i), "garbage") == 0;
    for (int64_t i = 0; i < trace->frame_count; i++)
        if (collects[trace->frames[i].name])
            ns += (double)intervals_within_ns(pauses, trace->frames[i].start_ns,
                                              trace->frames[i].end_ns);
    for (int64_t i = 0; i < trace->event_count; i++)
        if (collects[trace->events[i].name] && trace->events[i].kind == EVENT_KIND_ANNOTATION)
            ns += (double)intervals_within_ns(pauses, trace->events[i].start_ns,
                                              trace->events[i].end_ns);
    return ns / facts->steps;
}

/* Adds what took most of the other work, by name, and how much of it has none. */
static void name_work(struct finding *finding, const struct facts *facts)
{
    const struct pause_table *pauses = &facts->summary->pauses;
    double work = facts_host_ns(facts, HOST_WORKING);
    double unnamed = work - fmin(work, collecting_ns(facts));

    for (int64_t i = 0; i < pauses->count; i++)
        unnamed -= (double)pauses->rows[i].ns / facts->steps;
    for (int64_t i = 0; i < pauses->count && i < NAMES_MOST; i++) {
        double ns = (double)pauses->rows[i].ns / facts->steps;
        if (ns < RULE_SHARE_LEAST * work)
            break;
        finding_says(finding, "%s %s in %.60s", i == 0 ? ";" : ",", quantity_time(ns).text,
                     trace_file_name(facts->summary->trace, pauses->rows[i].name));
    }
    if (unnamed > RULE_SHARE_LEAST * work)
        finding_says(finding, "; the trace has no row for %s of that", quantity_time(unnamed).text);
}

static void work_elsewhere(const void *context, const struct trace_graph *graph, int64_t at,
                           struct graph_node *node)
{
    (void)context;
    (void)graph;
    (void)at;
    graph_node_shorten(node, HOST_WORKING);
}

static bool judge_host_work(struct finding *finding, const struct facts *facts)
{
    bool alone = facts->summary->timeline.host_alone;
    double work = facts_host_ns(facts, HOST_WORKING);
    const struct step_growth growth = growth_of_steps(facts);
    const double parts[] = { collecting_ns(facts), growth.ns };
    double known = 0;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (parts[i] >= RULE_SHARE_LEAST * facts->step_ns) /* a finding of its own */
            known += parts[i];
    if (known > 0)
        finding->replayed_share = fmax(0, 1 - known / work);
    if (alone) {
        finding->title = "The loop does other work than its operators";
        finding->advice =
            facts->program.trains
                ? "move it before the loop or into the loader's workers, or make operators of it"
                : "move it before the loop or into another process, or make operators of it";
    }
    finding_says(finding,
                 alone
                     ? "the loop runs no operator for %s of %s, in pauses of over %s"
                     : "the device is idle for %s of %s while the host launches nothing, in pauses "
                       "of over %s",
                 quantity_time(work).text, step_text(facts).text,
                 quantity_time((double)facts->summary->host.pause_ns).text);
    name_work(finding, facts);
    /* The host is not to blame for what the thread's waits for a core may explain. */
    if (alone && work < 2 * facts->summary->trace->cost.core_wait_share * facts->step_ns)
        finding->confidence = CONFIDENCE_LOW;
    return finding_replays(finding, facts, fmax(0, work - known));
}

/* PyTorch's profiler has rows for it if asked (record_python_gc_info). */
static bool judge_garbage_collection(struct finding *finding, const struct facts *facts)
{
    double ns = fmin(collecting_ns(facts), facts_host_ns(facts, HOST_WORKING));

    finding_says(finding,
                 facts->summary->timeline.host_alone
                     ? "the host collects garbage for %s of %s"
                     : "the device is idle for %s of %s while the host collects garbage",
                 quantity_time(ns).text, step_text(facts).text);
    return finding_costs(finding, facts, ns);
}

/* --- Waits for a core --- */

static bool judge_lost_core(struct finding *finding, const struct facts *facts)
{
    const struct trace_cost *cost = &facts->summary->trace->cost;

    if (!(cost->core_wait_share > 0) || facts_are_oversubscribed(facts)) /* which has that time */
        return false;
    finding->confidence = CONFIDENCE_MEDIUM;
    finding_says(finding,
                 "the loop's thread wanted to run and had no core for %.0f%% of a step; all "
                 "threads of the process had one for %.0f%% of the time that they wanted",
                 100 * cost->core_wait_share, 100 * cost->got_core_share);
    return finding_costs_from(finding, facts, cost->core_wait_share * facts->step_ns,
                              TRACE_CORE_WAIT_MOST);
}

/* --- Steps of different lengths --- */

/* On a host alone: the longest step over the shortest, and the fewest to compare. Threads that
 * outnumber the cores do that, as each operator of several threads waits for the last of them. */
enum { THREEFOLD = 3, THREEFOLD_STEPS = 3 };

/* Eight steps show a deviation; three do if one of them takes three times as long as another. The
 * first is left out. */
static bool are_uneven(const struct step_figures *figures, double cv, bool alone)
{
    const double *length = figures->length;
    bool threefold = alone && figures->count >= THREEFOLD_STEPS &&
                     length[figures->count - 1] >= THREEFOLD * length[0];

    return threefold || (figures->count + 1 >= FACTS_STEPS_TO_REPEAT && cv > UNEVEN);
}

/* How much longer each step is than the one before, if there are eight, and a line through them
 * leaves a tenth of their variance or less; else 0. */
static double trend_ns(const struct step_figures *figures)
{
    double explained, slope = stats_slope(NULL, figures->length, figures->count, &explained);

    return figures->count + 1 >= FACTS_STEPS_TO_REPEAT && slope > 0 && explained >= 0.9 ? slope : 0;
}

static bool judge_uneven_steps(struct finding *finding, const struct facts *facts)
{
    int64_t steps = facts->summary->steps.count;
    bool alone = facts->summary->timeline.host_alone;
    struct arena *scratch = arena_scratch(facts->summary->arena);
    struct step_figures figures = step_figures(scratch, facts);
    bool found = false;
    double longer = 0;

    if (steps >= (alone ? THREEFOLD_STEPS : FACTS_STEPS_TO_REPEAT) &&
        facts->summary->first_uses.times.count == 0 &&
        facts_profiler_ns(facts) <= RULE_SHARE_LEAST * facts->step_ns &&
        !facts_steps_are_guessed(facts) && measure_lengths(&figures, facts)) {
        double cv = stats_cv(figures.length, figures.count);
        finding_judges(finding, "deviation over mean", cv, UNEVEN, UNEVEN);
        found = !(stats_cv(figures.blocks, figures.count) > UNEVEN / 2) &&
                stats_deviation(figures.explained, figures.count) <
                    stats_deviation(figures.length, figures.count) / 2;
        longer = trend_ns(&figures);
        if (longer > 0) {
            finding->title = "Each step takes longer than the one before";
            finding_says(finding,
                         "from step to step they take %s more, %s at first and %s at last; ",
                         quantity_time(longer).text, quantity_time(figures.length[0]).text,
                         quantity_time(figures.length[figures.count - 1]).text);
        }
        stats_sort(figures.length, figures.count);
        found = found && are_uneven(&figures, cv, alone) && !(collecting_ns(facts) > 0) &&
                growth_of_steps(facts).steps == 0;
        finding_says(
            finding,
            "the standard deviation of %d steps is %.0f%% of their mean; half of them take %s or "
            "less, the longest %s, for the same work, and neither loading nor logging, saving, "
            "allocating or messages explain it",
            figures.count, 100 * cv,
            quantity_time(stats_sorted_median(figures.length, figures.count)).text,
            quantity_time(stats_sorted_percentile(figures.length, figures.count, 100)).text);
    }
    arena_close(scratch);
    if (alone)
        finding->advice =
            "use no more threads than cores (OMP_NUM_THREADS, torch.set_num_threads(), fewer "
            "workers): threads that wait for a core hold up all others of an operator; and look "
            "for other programs";
    if (longer > 0)
        finding->advice = "find what grows with the steps: a list that is searched or printed, a "
                          "graph that is kept, a cache, a log; if kernels get longer, too, heat "
                          "(chokepoint doctor)";
    finding_informs(finding);
    return found;
}

const struct rule rules_of_host[] = {
    {
        .id = "host_sync",
        .title = "The host waits for the device in every step",
        .also = "synchronisation point, implicit synchronisation, device synchronization, "
                "cudaStreamSynchronize, cudaDeviceSynchronize, item(), isnan, bool(tensor), host "
                "synchronisation, CPU-GPU synchronisation",
        .symptom = "the device is idle right after a call in which the host waited for it "
                   "(cudaStreamSynchronize, a blocking copy, .item())",
        .meaning = "a host that waits queues nothing, so host and device work one after the other",
        .advice = "read results every few steps, or copy them asynchronously and read them later; "
                  "avoid .item() and synchronisation in the loop",
        .serving = "let the engine schedule the next step while the device works (vLLM: "
                   "--async-scheduling; SGLang: without --disable-overlap-schedule), and sample on "
                   "the device",
        .plain = "read results every few steps, or copy them asynchronously to pinned memory and "
                 "read them later; avoid cudaDeviceSynchronize(), cudaStreamSynchronize() and "
                 "blocking copies in the loop",
        .cost = "what a replay gains in which the host does not wait, and in which uneven loading "
                "is mended already, as the next wait would be for that; in a trace without steps, "
                "not work that follows a tenth of the waits or fewer",
        .threshold = "the step takes host plus device time, where it could take the longer of the "
                     "two",
        .bottleneck = BOTTLENECK_WAITING,
        .judge = judge_host_sync,
        .site = SITE_WAITS,
        .alter = read_later,
    },
    {
        .id = "host_work",
        .title = "The device waits while the host does other work",
        .also = "CPU-bound, host-bound, Python overhead, GIL",
        .symptom = "the device is idle while the host launches nothing for 5 times as long as "
                   "usual (at least 50 us, from 1 ms on in any case) and neither loads, copies, "
                   "allocates nor waits",
        .meaning = "the loop does something else between launches: operators on the host, Python, "
                   "another library, or nothing that the profiler records",
        .advice = "do it on the device or in the loader's workers, or launch work that the device "
                  "does meanwhile",
        .inferring =
            "do it on the device, in another thread, or launch work that the device does meanwhile",
        .serving = "let the engine prepare the next step while the device works (vLLM: "
                   "--async-scheduling; SGLang: without --disable-overlap-schedule), or do it on "
                   "the device",
        .cost = "what a replay gains without that work",
        .threshold = "5% of a step; a pause is 5 times the median time between launches",
        .bottleneck = BOTTLENECK_HOST_WORK,
        .judge = judge_host_work,
        .site = SITE_WORKING,
        .alter = work_elsewhere,
    },
    {
        .id = "growing_steps",
        .title = "Steps get longer and longer",
        .also = "slowdown over time, training gets slower and slower, quadratic",
        .symptom =
            "the host's work between launches takes half as long again in the last quarter of "
            "an epoch as in the first, or more, and grows steadily (recorded steps); or "
            "the steps of the whole run do (all that `record` timed)",
        .meaning = "something grows with the run: a list that is walked, a history that is kept, "
                   "a graph that is never freed",
        .advice =
            "look for what is appended to in each step and read as a whole (losses that keep "
            "their graph, replay buffers, tables and logs that are written anew): append to it, "
            "or sum it up as it comes",
        .cost = "what exceeds the first of the recorded steps; of a whole run, its first quarter",
        .threshold = "half as long again, and the later of two is the longer one in four of five "
                     "pairs",
        .bottleneck = BOTTLENECK_HOST_WORK,
        .judge = judge_growing_steps,
        .site = SITE_WORKING,
    },
    {
        .id = "garbage_collection",
        .title = "Python collects garbage in the steps",
        .also = "gc, gc.collect, gc.freeze",
        .symptom =
            "the device is idle during rows \"Python GC\"; or some of the steps that `record` "
            "timed are long because Python looks through its objects (gc.callbacks)",
        .meaning = "a full collection looks at every object of the program, and large imports and "
                   "data sets of Python objects are many",
        .advice = "gc.freeze() once all is set up, or gc.disable() and gc.collect() every so many "
                  "steps, at the same step of all ranks",
        .cost = "that time; of a whole program the collections in long steps, spread over all",
        .threshold = "5% of a step",
        .bottleneck = BOTTLENECK_HOST_WORK,
        .judge = judge_garbage_collection,
        .site = SITE_NONE, /* any line that makes an object may bring it about */
    },
    {
        .id = "logging_gap",
        .title = "The step waits while the loop logs",
        .also = "logging overhead, wandb, tensorboard",
        .symptom = "the device is idle while the loop is in its phase \"log\"",
        .meaning = "the loop formats, writes or flushes the log itself, and may wait for what it "
                   "logs",
        .advice = "let a background thread write the log, from results that were copied "
                  "asynchronously",
        .cost = "what a replay gains without logging and the waits in it",
        .threshold = "5% of a step",
        .bottleneck = BOTTLENECK_HOST_WORK,
        .judge = judge_logging_gap,
        .site = SITE_LOGGING,
        .alter = log_in_background,
    },
    {
        .id = "save_pause",
        .title = "The step waits while a checkpoint is saved",
        .also = "torch.save, saving checkpoints, asynchronous checkpoint",
        .symptom = "the device is idle while the loop is in its phase \"save\"",
        .meaning = "the loop copies and writes the checkpoint itself",
        .advice = "copy the state to pinned memory and write it in the background",
        .cost = "what a replay gains without saving, and with its copies on a stream of their own",
        .threshold = "5% of a step",
        .bottleneck = BOTTLENECK_HOST_WORK,
        .judge = judge_save_pause,
        .site = SITE_SAVING,
        .shortens_work = true,
        .alter = save_in_background,
    },
    {
        .id = "uneven_steps",
        .title = "The steps take different times, and the trace does not show why",
        .also = "step time variance, jitter",
        .symptom =
            "the device's time per step varies by more than 10%, for the same work and for "
            "no reason in the trace; in a CPU-only trace, the time of its steps, or threefold",
        .meaning =
            "something outside of the program takes part of the machine, or slows it down; on a "
            "host also more threads than there are cores",
        .advice = "look outside the program: other programs, clocks and limits of power and heat "
                  "(chokepoint doctor)",
        .cost = "none: it is for information",
        .costs_no_time = true,
        .threshold = "step times should vary by less than 10%",
        .bottleneck = BOTTLENECK_NONE,
        .judge = judge_uneven_steps,
        .site = SITE_NONE, /* the reason is outside the program */
    },
    {
        .id = "lost_core",
        .title = "The program waits for a core",
        .also = "preemption, context switches, noisy neighbour",
        .symptom = "the kernel's scheduler says that the loop's thread was ready to run and had no "
                   "core (/proc/self/task/*/schedstat, which only the recorder reads)",
        .meaning = "more threads want to run than there are cores: of other programs, or of this "
                   "one; or a limit of a container holds them back",
        .advice = "stop other programs, or record on a quieter machine; use no more threads than "
                  "cores (OMP_NUM_THREADS, workers), and look at the limits of the "
                  "container",
        .cost = "the part of a step that the thread waited for a core, without a tracer",
        .threshold = "a tenth of a step, as for other programs' cores",
        .bottleneck = BOTTLENECK_UNCLEAR,
        .judge = judge_lost_core,
        .site = SITE_NONE, /* any line may lose its core */
    },
    { .id = NULL },
};
