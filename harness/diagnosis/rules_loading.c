/* Findings of a loop that waits for its data. */
#include "harness/diagnosis/host_facts.h"

#include <math.h>
#include <stdio.h>

/* Loading that more workers would take out of the step, and what they need for it themselves: they share
 * the cores that are left. */
static double lost_to_loading(const struct facts *facts)
{
    const struct event_device *device = facts->device;
    double hidable =
        facts_loading_is_at_fault(facts) ? 0 : (double)facts_idle(facts)->hidable_loading_ns;
    static const enum host_doing loading = HOST_LOADING;
    double exposed = facts_doing_ns(facts, HOST_LOADING) - hidable / facts->steps +
                     facts_paced_ns(facts, &loading, 1);
    double rest = facts->step_ns - exposed;
    int cores = device != NULL ? device->host_cores : 0;

    if (cores > 0) {
        double typical = facts_typical_loading_ns(facts);
        cores -= device->shares_host_cores == 1 && cores > 1;
        rest = fmax(rest, typical / cores);
    }
    return fmax(0, facts->step_ns - rest);
}

static bool judge_data_loading(struct finding *finding, const struct facts *facts)
{
    double exposed = facts_doing_ns(facts, HOST_LOADING);

    if (facts_loading_is_uneven(facts))
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
    if (facts_loading_ns(facts, step) < long_ns)
        return false;
    for (int64_t i = 1; i <= BORDER_STEPS && i <= step; i++)
        if (facts_loading_ns(facts, step - i) >= long_ns)
            return false;
    return true;
}

/* Whether the steps that wait most are at the borders of epochs, or of shards. These are equally long, so all
 * the waits come at equal distances, and none that would be in the trace is missing: each is half a step or
 * more. Waits that go on for more than BORDER_STEPS are no border's. One alone may be anything. */
static bool at_borders(const struct facts *facts)
{
    int64_t count = facts->summary->steps.count, border = -1, epoch = count;
    double half_ns = facts->median_step_ns / 2;
    double long_ns = facts->summary->idle.loadings[count - facts_steps_that_wait(facts)];

    for (int64_t i = 0; i < count; i++)
        if (begins_border(facts, i, long_ns)) {
            if (border >= 0 && i - border < epoch)
                epoch = i - border;
            border = i;
        }
    if (epoch == count || epoch < EPOCH_LEAST)
        return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t since = ((i - border) % epoch + epoch) % epoch;
        if (since == 0 ? !(facts_loading_ns(facts, i) > half_ns)
                       : begins_border(facts, i, long_ns) ||
                             (since > BORDER_STEPS && facts_loading_ns(facts, i) >= long_ns))
            return false;
    }
    return true;
}

static bool judge_uneven(struct finding *finding, const struct facts *facts, bool borders)
{
    int64_t count = facts->summary->steps.count, waiting;

    if (count < FACTS_STEPS_TO_REPEAT || !facts_loading_is_uneven(facts) ||
        at_borders(facts) != borders || !(borders || facts_loading_comes_again(facts)))
        return false;
    waiting = facts_steps_that_wait(facts);
    finding->confidence = CONFIDENCE_MEDIUM;
    snprintf(finding->evidence, sizeof finding->evidence,
             "%lld of %lld steps account for most of the wait for data, up to %s each; the median "
             "step waits %s of %s",
             (long long)waiting, (long long)count,
             quantity_time(facts->summary->idle.loadings[count - 1]).text,
             quantity_time(facts_typical_loading_ns(facts)).text,
             quantity_time(facts->median_step_ns).text);
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

const struct rule rules_of_loading[] = {
    { "data_loading", "The step waits for data",
      "load in more workers (num_workers), ahead of the loop, or make loading cheaper",
      "torch_tb_profiler: data loading over 5% of a step", judge_data_loading, BOTTLENECK_LOADING },
    { "data_jitter", "A few steps wait long for data",
      "prefetch more batches, so that a slow one is ready in time",
      "step times should vary by less than 10%", judge_data_jitter, BOTTLENECK_LOADING },
    { "epoch_gap", "The device waits between epochs",
      "keep the workers alive (persistent_workers=True) and prefetch the next epoch's batches",
      "torch_tb_profiler: data loading over 5% of a step", judge_epoch_gap, BOTTLENECK_LOADING },
    { 0 },
};
