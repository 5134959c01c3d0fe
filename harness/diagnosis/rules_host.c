/* Findings of a device that waits for its host. */
#include "harness/diagnosis/rules.h"

#include "harness/analysis/event_names.h"
#include "harness/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double per_step(const struct facts *facts, int64_t ns)
{
    return (double)ns / facts->steps;
}

static const struct idle_time *all(const struct facts *facts)
{
    return &facts->summary->idle.all;
}

/* --- Loading, and waits in the loop --- */

/* Exposed loading of a step. */
static double loading_of(const struct facts *facts, int64_t step)
{
    const struct idle_time *time = &facts->summary->idle.steps[step];

    return (double)(time->free_ns[HOST_LOADING] + time->drained_ns[HOST_LOADING]);
}

/* Exposed loading of the step at the middle; without steps the mean. */
static double typical_loading(const struct facts *facts)
{
    if (!facts->has_steps)
        return per_step(facts,
                        all(facts)->free_ns[HOST_LOADING] + all(facts)->drained_ns[HOST_LOADING]);
    return stats_median(facts->summary->idle.loadings, (int)facts->summary->steps.count);
}

/* If a loop waits for the device before it loads, a step takes the sum of both. Without the wait it would
 * take the longer of the two, so that one is the bottleneck. */
static bool loading_outlasts_device(const struct facts *facts)
{
    return typical_loading(facts) > facts->busy_ns;
}

enum {
    STEPS_TO_COMPARE = 3, /* a median of fewer means little */
    STEPS_TO_REPEAT = 8,  /* fewer do not show whether something comes again */
};

/* Every program that launches graphs captures some; one that does so in every fifth step or more is not
 * done with it after a warm-up. */
static bool captures_come_again(const struct facts *facts)
{
    int64_t count = facts->summary->captures.count;

    return facts->has_steps && count >= STEPS_TO_REPEAT && (double)count >= facts->steps / 5;
}

/* Idle time of captures that come again, in the whole trace. Only the rule about them counts it. */
static double idle_for_captures(const struct facts *facts)
{
    const struct idle *idle = &facts->summary->idle;

    if (!captures_come_again(facts))
        return 0;
    return (double)intervals_within_ns(&facts->summary->captures.idle, idle->start_ns,
                                       idle->end_ns);
}

/* True if the wait is worth a finding in every third of the steps. If other programs take the loader's
 * cores for a moment, only a few steps in a row wait. */
static bool comes_again(const struct facts *facts)
{
    const struct steps *steps = &facts->summary->steps;

    for (int64_t third = 0; third < 3; third++) {
        int64_t end = (third + 1) * steps->count / 3;
        double loading = 0, length = 0;
        for (int64_t i = third * steps->count / 3; i < end; i++) {
            loading += loading_of(facts, i);
            length += (double)steps->items[i].duration_ns;
        }
        if (!(loading >= RULE_SHARE_LEAST * length))
            return false;
    }
    return true;
}

/* How many steps, the longest wait first, add up to two thirds of all waiting. */
static int64_t steps_that_wait(const struct facts *facts)
{
    int64_t count = facts->summary->steps.count, waiting = 0;
    double sum = 0, most = 0;

    for (int64_t i = 0; i < count; i++) sum += facts->summary->idle.loadings[i];
    while (waiting < count && most < 2 * sum / 3)
        most += facts->summary->idle.loadings[count - ++waiting];
    return waiting;
}

/* True if most steps do not wait for data and some do, or if a quarter of the steps or fewer account for
 * most of the wait. The mean describes neither of them. */
static bool loading_is_uneven(const struct facts *facts)
{
    int64_t count = facts->summary->steps.count;

    return count >= STEPS_TO_COMPARE && facts->summary->idle.loadings[count - 1] > 0 &&
           (typical_loading(facts) < RULE_SHARE_LEAST * facts->median_step_ns ||
            (count >= STEPS_TO_REPEAT && 4 * steps_that_wait(facts) <= count &&
             comes_again(facts)));
}

/* Whose fault it is that loading and device work add up where the host waits for the device: the wait's if
 * the loading would fit beside the device's work, else the loading's. A long load now and then is the
 * loading's as well: it would fit only beside the work of several steps. */
static bool loading_is_at_fault(const struct facts *facts)
{
    return loading_outlasts_device(facts) || loading_is_uneven(facts);
}

/* Loading that more workers would take out of the step, and what they need for it themselves: they share
 * the cores that are left. */
static double lost_to_loading(const struct facts *facts)
{
    const struct idle_time *time = all(facts);
    const struct event_device *device = facts->device;
    double hidable = loading_is_at_fault(facts) ? 0 : (double)time->hidable_loading_ns;
    double exposed =
        ((double)time->free_ns[HOST_LOADING] + (double)time->drained_ns[HOST_LOADING] - hidable) /
        facts->steps;
    double rest = facts->step_ns - exposed;
    int cores = device != NULL ? device->host_cores : 0;

    if (cores > 0) {
        double loading = typical_loading(facts);
        cores -= device->shares_host_cores == 1 && cores > 1;
        rest = fmax(rest, loading / cores);
    }
    return fmax(0, facts->step_ns - rest);
}

static bool judge_data_loading(struct finding *finding, const struct facts *facts)
{
    double exposed =
        per_step(facts, all(facts)->free_ns[HOST_LOADING] + all(facts)->drained_ns[HOST_LOADING]);

    if (loading_is_uneven(facts))
        return false;
    if (facts->summary->timeline.host_alone)
        snprintf(finding->evidence, sizeof finding->evidence,
                 "the loop waits for data or prepares it for %s of %s", quantity_time(exposed).text,
                 step_text(facts).text);
    else
        snprintf(finding->evidence, sizeof finding->evidence,
                 "the device is idle for %s of %s while the loop waits for data or "
                 "prepares it; its own work takes %s",
                 quantity_time(exposed).text, step_text(facts).text,
                 quantity_time(facts->busy_ns).text);
    if (!finding_costs(finding, facts, lost_to_loading(facts)))
        return false;
    if (facts->summary->timeline.host_alone) /* Loading and computing share the cores. */
        finding->predicted_gain = NAN;
    return true;
}

enum {
    EPOCH_LEAST = 10, /* steps; what comes more often is no border */
    BORDER_STEPS = EPOCH_LEAST / 2,
};

/* New workers load their first batches side by side, and the loop waits for some of these. So a step that
 * loads for long, up to BORDER_STEPS after another, belongs to the same border. */
static bool begins_border(const struct facts *facts, int64_t step, double long_ns)
{
    if (loading_of(facts, step) < long_ns)
        return false;
    for (int64_t i = 1; i <= BORDER_STEPS && i <= step; i++)
        if (loading_of(facts, step - i) >= long_ns)
            return false;
    return true;
}

/* Whether the steps that wait most are at the borders of epochs, or of shards. These are equally long, so all
 * the waits come at equal distances, and none that would be in the trace is missing: each is half a step or
 * more. One alone may be anything. */
static bool at_borders(const struct facts *facts)
{
    int64_t count = facts->summary->steps.count, border = -1, epoch = count;
    double half_ns = facts->median_step_ns / 2;
    double long_ns = facts->summary->idle.loadings[count - steps_that_wait(facts)];

    for (int64_t i = 0; i < count; i++)
        if (begins_border(facts, i, long_ns)) {
            if (border >= 0 && i - border < epoch)
                epoch = i - border;
            border = i;
        }
    if (epoch == count || epoch < EPOCH_LEAST)
        return false;
    for (int64_t i = 0; i < count; i++)
        if ((i - border) % epoch == 0 ? !(loading_of(facts, i) > half_ns)
                                      : begins_border(facts, i, long_ns))
            return false;
    return true;
}

static bool judge_uneven(struct finding *finding, const struct facts *facts, bool borders)
{
    int64_t count = facts->summary->steps.count, waiting;

    if (count < STEPS_TO_REPEAT || !loading_is_uneven(facts) || at_borders(facts) != borders ||
        !(borders || comes_again(facts)))
        return false;
    waiting = steps_that_wait(facts);
    finding->confidence = CONFIDENCE_MEDIUM;
    snprintf(finding->evidence, sizeof finding->evidence,
             "%lld of %lld steps account for most of the wait for data, up to %s each; the median "
             "step waits %s of %s",
             (long long)waiting, (long long)count,
             quantity_time(facts->summary->idle.loadings[count - 1]).text,
             quantity_time(typical_loading(facts)).text, quantity_time(facts->median_step_ns).text);
    return finding_costs(finding, facts, lost_to_loading(facts));
}

static bool judge_data_jitter(struct finding *finding, const struct facts *facts)
{
    return judge_uneven(finding, facts, false);
}

static bool judge_epoch_gap(struct finding *finding, const struct facts *facts)
{
    return judge_uneven(finding, facts, true);
}

enum { LAUNCHES_LEAST = 10 }; /* per step: fewer cannot hold a device back */

/* Every other launch or more is followed by a wait until the device has done all its work. */
static bool waits_for_launches(const struct facts *facts)
{
    return facts->launches >= LAUNCHES_LEAST &&
           2 * (double)all(facts)->drained_count >= facts->launches * facts->steps;
}

/* Without the waits, a step takes what launching or the device takes, whichever is longer. */
static bool judge_blocking_launches(struct finding *finding, const struct facts *facts)
{
    double launching = (double)facts->summary->launches.host_ns / facts->steps;

    snprintf(finding->evidence, sizeof finding->evidence,
             "the host waits until the device has no work left, %.0f times %s with its %.0f "
             "launches; launching takes %s of %s, and the device works for %s",
             (double)all(facts)->drained_count / facts->steps, facts_per(facts), facts->launches,
             quantity_time(launching).text, step_text(facts).text,
             quantity_time(facts->busy_ns).text);
    return finding_costs(finding, facts, facts->step_ns - fmax(launching, facts->busy_ns));
}

static bool judge_host_sync(struct finding *finding, const struct facts *facts)
{
    const struct idle_time *time = all(facts);
    double hidable = (double)time->hidable_ns;
    double waits = (double)time->drained_count / facts->steps;

    if (time->drained_count == 0)
        return false;
    if (waits_for_launches(facts))
        return judge_blocking_launches(finding, facts);
    if (loading_is_at_fault(facts))
        hidable -= (double)time->hidable_loading_ns;
    hidable = fmax(0, hidable - idle_for_captures(facts));
    snprintf(finding->evidence, sizeof finding->evidence,
             "the host waits until the device has no work left, %.3g time%s %s; it then works for "
             "%s, %s of which could overlap with the device's %s",
             waits, waits > 0.995 && waits < 1.005 ? "" : "s", facts_per(facts),
             quantity_time(per_step(facts, time->idle_ns)).text,
             quantity_time(per_step(facts, time->hidable_ns)).text,
             quantity_time(facts->busy_ns).text);
    /* The time until the host notices that its wait is over counts as well, but no more than what it does
     * then: a thread that lost its core once shows no pattern. */
    return finding_costs(finding, facts,
                         (hidable + fmin(hidable, (double)time->drained_ns[HOST_WAITING])) /
                             facts->steps);
}

static bool judge_phase(struct finding *finding, const struct facts *facts, enum host_doing doing,
                        const char *what)
{
    const struct idle_time *time = all(facts);
    double idle = per_step(facts, time->free_ns[doing] + time->drained_ns[doing]);

    if (facts->summary->timeline.host_alone)
        snprintf(finding->evidence, sizeof finding->evidence, "the loop %s for %s of %s", what,
                 quantity_time(idle).text, step_text(facts).text);
    else
        snprintf(finding->evidence, sizeof finding->evidence,
                 "the device is idle for %s of %s while the loop %s", quantity_time(idle).text,
                 step_text(facts).text, what);
    return finding_costs(finding, facts, idle);
}

static bool judge_logging_gap(struct finding *finding, const struct facts *facts)
{
    return judge_phase(finding, facts, HOST_LOGGING, "logs");
}

static bool judge_save_pause(struct finding *finding, const struct facts *facts)
{
    return judge_phase(finding, facts, HOST_SAVING, "saves");
}

/* --- Launching --- */

/* Steps include what happens before their first work; without steps, the window begins with that work. */
static double idle_for_first_uses(const struct facts *facts)
{
    const struct summary *summary = facts->summary;
    int64_t start_ns =
        facts->has_steps ? summary->steps.items[0].event->start_ns : summary->idle.start_ns;

    return (double)intervals_within_ns(&facts->summary->first_uses.idle, start_ns,
                                       summary->idle.end_ns);
}

static bool judge_initialisation(struct finding *finding, const struct facts *facts)
{
    const struct trace_file *trace = facts->summary->trace;
    const struct first_uses *uses = &facts->summary->first_uses;

    if (uses->count == 0)
        return false;
    snprintf(finding->evidence, sizeof finding->evidence,
             "%lld kernel%s launched for the first time in a call of over 1 ms; together with the "
             "operators around them, these calls leave the device idle for %s of the trace's %s; "
             "the longest call is %s of %.40s, for %.100s",
             (long long)uses->count, uses->count == 1 ? " is" : "s are",
             quantity_time(idle_for_first_uses(facts)).text, quantity_time(facts->window_ns).text,
             quantity_time((double)(uses->call->end_ns - uses->call->start_ns)).text,
             trace_file_name(trace, uses->call->name), trace_file_name(trace, uses->kernel->name));
    return finding_costs(finding, facts, idle_for_first_uses(facts) / facts->steps);
}

static bool judge_graph_recapture(struct finding *finding, const struct facts *facts)
{
    if (!captures_come_again(facts))
        return false;
    snprintf(finding->evidence, sizeof finding->evidence,
             "%lld graphs are captured in %.0f steps; meanwhile the device is idle for %s of %s",
             (long long)facts->summary->captures.count, facts->steps,
             quantity_time(idle_for_captures(facts) / facts->steps).text, step_text(facts).text);
    return finding_costs(finding, facts, idle_for_captures(facts) / facts->steps);
}

enum { LATE_CALLS_LEAST = 10 }; /* fewer show no pattern */

/* A call that takes a few microseconds and now and then ten times as long has lost its core meanwhile:
 * a trace has no row for that, and PyTorch's does not tell how many threads there are. Where most calls
 * are long, something else is the matter. */
static bool calls_are_late(const struct facts *facts)
{
    const struct launches *launches = &facts->summary->launches;

    return launches->late_call_count >= LATE_CALLS_LEAST &&
           launches->late_call_count * 4 <= launches->count;
}

/* Only the rule about late calls counts their time. */
static double late_calls_ns(const struct facts *facts)
{
    return calls_are_late(facts) ? (double)facts->summary->launches.late_call_ns : 0;
}

/* Idle time in which the host prepares its next launch, whether or not it waited before, without one-time
 * initialisation, late calls and repeated captures. Queued work that began late counts too: it waited for
 * its launch to reach the device. */
static double lost_to_launches(const struct facts *facts)
{
    const struct idle_time *time = all(facts);
    static const enum host_doing doings[] = { HOST_OUTSIDE, HOST_OPERATOR, HOST_LAUNCHING };
    double lost = (double)facts->summary->idle.late_ns, drained = 0;

    for (size_t i = 0; i < ARRAY_SIZE(doings); i++) {
        lost += (double)time->free_ns[doings[i]];
        drained += (double)time->drained_ns[doings[i]];
    }
    lost += fmax(0, drained - (double)(time->hidable_ns - time->hidable_loading_ns));
    lost -= (double)intervals_within_ns(&facts->summary->first_uses.idle,
                                        facts->summary->idle.start_ns, facts->summary->idle.end_ns);
    lost -= late_calls_ns(facts) + idle_for_captures(facts);
    return fmax(0, lost / facts->steps);
}

/* The share of launches whose kernel is shorter than the call that launches it. */
static double short_share(const struct facts *facts)
{
    const struct launches *launches = &facts->summary->launches;

    return launches->count > 0 ? (double)launches->short_count / (double)launches->count : 0;
}

static void launch_evidence(struct finding *finding, const struct facts *facts, const char *more)
{
    const struct launches *launches = &facts->summary->launches;

    snprintf(finding->evidence, sizeof finding->evidence,
             "%s%.0f launches %s, %s of host time each; %.0f%% of them launch a kernel that is "
             "shorter than the call; the device is idle for %s of %s, waiting for launches",
             more, facts->launches, facts_per(facts),
             quantity_time((double)launches->host_ns / fmax(1, (double)launches->count)).text,
             100 * short_share(facts), quantity_time(lost_to_launches(facts)).text,
             quantity_time(facts->step_ns).text);
}

static bool judge_launch_bound(struct finding *finding, const struct facts *facts)
{
    if (facts->launches < LAUNCHES_LEAST || waits_for_launches(facts))
        return false;
    launch_evidence(finding, facts, "");
    return finding_costs(finding, facts, lost_to_launches(facts));
}

static bool judge_oversubscribed_host(struct finding *finding, const struct facts *facts)
{
    const struct launches *launches = &facts->summary->launches;
    int cores = facts->device != NULL ? facts->device->host_cores : 0;
    char of_cores[64] = "";

    if (!calls_are_late(facts))
        return false;
    if (cores > 0)
        snprintf(of_cores, sizeof of_cores, "; the process may run on %d core%s", cores,
                 cores == 1 ? "" : "s");
    finding->confidence = CONFIDENCE_LOW;
    snprintf(
        finding->evidence, sizeof finding->evidence,
        "%lld of %lld launches took over %s in their call while the device had nothing else to "
        "do, %s longer than the others on average%s",
        (long long)launches->late_call_count, (long long)launches->count,
        quantity_time(LAUNCH_LONG_CALL_NS).text,
        quantity_time((double)launches->late_call_ns / (double)launches->late_call_count).text,
        of_cores);
    return finding_costs(finding, facts, late_calls_ns(facts) / facts->steps);
}

/* Kernels and copies per step that the optimizer launches. */
static double optimizer_work(const struct facts *facts)
{
    return facts->summary->phases.means[PHASE_OPTIMIZER].work_count;
}

/* The device time for starting and ending kernels that a step would save if it ran once over its batch
 * instead of in passes over pieces. That time per kernel is taken from the shortest kernel; since part of
 * it may be work, no more than a call of the host counts. For matrix products it is known if their work is
 * stated. The optimizer runs once per step already, and multiplies nothing. */
static double busy_lost_to_passes(const struct facts *facts)
{
    const struct kernels *kernels = &facts->summary->kernels;
    const struct launches *launches = &facts->summary->launches;
    double shortest = (double)launches->host_ns / fmax(1, (double)launches->count);
    double count = 0, products = 0, product_ns = facts->summary->product_fixed_ns;

    for (int64_t i = 0; i < kernels->count; i++) {
        const struct kernel_row *row = &kernels->rows[i];
        if (row->kind != WORK_COMPUTATION || (double)row->count < facts->passes * facts->steps)
            continue;
        shortest = fmin(shortest, (double)row->total_ns / (double)row->count);
        if (name_is_product(trace_file_name(facts->summary->trace, row->name)))
            products += (double)row->count;
        else
            count += (double)row->count;
    }
    if (isnan(product_ns))
        product_ns = shortest;
    count = fmax(0, count / facts->steps - optimizer_work(facts));
    products /= facts->steps;
    return (1 - 1 / facts->passes) * (count * shortest + products * product_ns);
}

/* The idle time that would be saved: that of launches, and that between queued kernels. The optimizer's part
 * remains. */
static double idle_lost_to_passes(const struct facts *facts)
{
    double between = per_step(facts, all(facts)->queued_ns - all(facts)->stalled_ns -
                                         facts->summary->idle.late_ns);

    double optimizer = fmin(1, optimizer_work(facts) / fmax(1, facts->launches));

    return (1 - optimizer) * (lost_to_launches(facts) + (1 - 1 / facts->passes) * fmax(0, between));
}

/* A tracer makes calls longer but not kernels, so the time that it adds to a step is idle time, as far as
 * there is any. The result is in time of the traced step, like that of other rules. */
static double lost_to_passes(const struct facts *facts)
{
    double idle = idle_lost_to_passes(facts), busy = busy_lost_to_passes(facts);
    double untraced = facts->summary->trace->cost.step_ns;
    double idle_at_all = facts->step_ns - facts->busy_ns;

    if (!(untraced > 0 && untraced < facts->step_ns))
        return idle + busy;
    if (idle_at_all > 0)
        idle *= fmax(0, untraced - facts->busy_ns) / idle_at_all;
    busy *= fmin(1, untraced / facts->busy_ns);
    return (idle + busy) * facts->step_ns / untraced;
}

/* A step that runs the same kernels several times, each time on a piece of its batch. */
static bool judge_small_kernels(struct finding *finding, const struct facts *facts)
{
    char more[120];
    int length;

    if (!facts->has_steps || facts->passes < 2 || short_share(facts) < 0.25)
        return false;
    length =
        snprintf(more, sizeof more, "every step runs the forward pass %.0f times; ", facts->passes);
    if (isfinite(facts->summary->product_fixed_ns))
        snprintf(more + length, sizeof more - (size_t)length,
                 "a matrix product takes at least %s, however small it is; ",
                 quantity_time(facts->summary->product_fixed_ns).text);
    finding->gain_is_least = isnan(facts->summary->product_fixed_ns);
    launch_evidence(finding, facts, more);
    return finding_costs(finding, facts, lost_to_passes(facts));
}

/* --- Steps of different lengths --- */

#define UNEVEN 0.1 /* standard deviation over mean */

/* The time that a step took, and how much of it is explained. */
struct step_figures {
    double *length, *explained, *blocks;
    int count;
};

/* Idle time whose cause has a rule of its own, and messages, which wait for other ranks. */
static double explained_ns(const struct facts *facts, int64_t step)
{
    static const enum host_doing doings[] = { HOST_LOADING, HOST_LOGGING, HOST_SAVING,
                                              HOST_ALLOCATING };
    const struct idle_time *time = &facts->summary->idle.steps[step];
    double ns = (double)facts->summary->steps.items[step].part_ns[STEP_COMMUNICATION];

    for (size_t i = 0; i < ARRAY_SIZE(doings); i++)
        ns += (double)(time->free_ns[doings[i]] + time->drained_ns[doings[i]]);
    return ns;
}

/* A host that runs ahead of its device spends no even time per step, so the device's work says how long a
 * step took: from the end of the last step's work to the end of its own. False: a step has no work. */
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
        figures->blocks[at] = (double)step->blocks;
    }
    return true;
}

static bool judge_uneven_steps(struct finding *finding, const struct facts *facts)
{
    int64_t steps = facts->summary->steps.count;
    double *values = steps >= STEPS_TO_REPEAT ? calloc((size_t)steps * 3, sizeof *values) : NULL;
    struct step_figures figures;
    bool found = false;

    if (values == NULL)
        return false;
    figures = (struct step_figures){ values, values + steps, values + 2 * steps, 0 };
    if (facts->summary->first_uses.count == 0 && measure_steps(&figures, facts)) {
        double cv = stats_cv(figures.length, figures.count);
        found = cv > UNEVEN && !(stats_cv(figures.blocks, figures.count) > UNEVEN / 2) &&
                stats_deviation(figures.explained, figures.count) <
                    stats_deviation(figures.length, figures.count) / 2;
        snprintf(
            finding->evidence, sizeof finding->evidence,
            "the standard deviation of %d steps is %.0f%% of their mean; half of them take %s or "
            "less, the longest %s, for the same work, and neither loading nor logging, saving, "
            "allocating or messages explain it",
            figures.count, 100 * cv,
            quantity_time(stats_median(figures.length, figures.count)).text,
            quantity_time(stats_percentile(figures.length, figures.count, 100)).text);
    }
    free(values);
    finding_informs(finding);
    return found;
}

const struct rule rules_of_host[] = {
    { "initialisation", "One-time initialisation",
      "warm up before you measure or profile: it happens only once",
      "a first call of 1 ms, 20 times HolisticTraceAnalysis' bound for long ones",
      judge_initialisation },
    { "data_loading", "The step waits for data",
      "load in more workers (num_workers), ahead of the loop, or make loading cheaper",
      "torch_tb_profiler: data loading over 5% of a step", judge_data_loading },
    { "data_jitter", "A few steps wait long for data",
      "prefetch more batches, so that a slow one is ready in time",
      "step times should vary by less than 10%", judge_data_jitter },
    { "epoch_gap", "The device waits between epochs",
      "keep the workers alive (persistent_workers=True) and prefetch the next epoch's batches",
      "torch_tb_profiler: data loading over 5% of a step", judge_epoch_gap },
    { "host_sync", "The host waits for the device in every step",
      "read results every few steps, or copy them asynchronously and read them later; avoid "
      ".item() and synchronisation in the loop",
      "the step takes host plus device time, where it could take the longer of the two",
      judge_host_sync },
    { "logging_gap", "The step waits while the loop logs", "let a background thread write the log",
      "5% of a step", judge_logging_gap },
    { "save_pause", "The step waits while a checkpoint is saved",
      "copy the state to pinned memory and write it in the background", "5% of a step",
      judge_save_pause },
    { "small_kernels", "Micro-batches are too small for the device",
      "raise the micro-batch until memory is nearly full; accumulate gradients only beyond that",
      "HolisticTraceAnalysis: kernels shorter than their launch", judge_small_kernels },
    { "graph_recapture", "Graphs are captured again and again",
      "keep a captured graph for each shape, and pad to a few lengths so that shapes are few",
      "5% of a step, and a capture in every fifth step", judge_graph_recapture },
    { "launch_bound", "The device waits for launches",
      "capture the step as a graph (CUDA graphs, torch.compile), fuse kernels, or raise the batch",
      "HolisticTraceAnalysis: idle time by host wait", judge_launch_bound },
    { "oversubscribed_host", "The thread that launches loses its core",
      "use no more threads than cores: fewer loader workers (num_workers), fewer threads per "
      "worker (OMP_NUM_THREADS), and no other programs",
      "HolisticTraceAnalysis: a launch call over 50 us is an outlier", judge_oversubscribed_host },
    { "uneven_steps", "The steps take different times, and the trace does not show why",
      "look outside the program: other programs, clocks and limits of power and heat (chokepoint "
      "doctor)",
      "step times should vary by less than 10%", judge_uneven_steps },
    { 0 },
};
