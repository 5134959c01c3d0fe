/* Figures of idle time, for the rules about the host. */
#include "harness/diagnosis/host_facts.h"

#include "harness/base/statistics.h"

#include <math.h>

const struct idle_time *facts_idle(const struct facts *facts)
{
    return &facts->summary->idle.all;
}

double facts_doing_ns(const struct facts *facts, enum host_doing doing)
{
    return (double)(facts_idle(facts)->free_ns[doing] + facts_idle(facts)->drained_ns[doing]) /
           facts->steps;
}

double facts_paced_ns(const struct facts *facts, const enum host_doing *doings, size_t count)
{
    const struct idle *idle = &facts->summary->idle;
    double done = 0, free = 0, paced = idle->paced_ns - (double)idle->all.hidable_ns;

    for (size_t i = 0; i < count; i++) {
        done += (double)idle->host_ns[doings[i]];
        free += (double)idle->all.free_ns[doings[i]];
    }
    return fmax(0, fmin(done, paced) - free) / facts->steps;
}

/* --- Loading --- */

double facts_loading_ns(const struct facts *facts, int64_t step)
{
    const struct idle_time *time = &facts->summary->idle.steps[step];

    return (double)(time->free_ns[HOST_LOADING] + time->drained_ns[HOST_LOADING]);
}

double facts_typical_loading_ns(const struct facts *facts)
{
    if (!facts->has_steps)
        return facts_doing_ns(facts, HOST_LOADING);
    return stats_median(facts->summary->idle.loadings, (int)facts->summary->steps.count);
}

/* If a loop waits for the device before it loads, a step takes the sum of both. Without the wait it would
 * take the longer of the two, so that one is the bottleneck. */
static bool loading_outlasts_device(const struct facts *facts)
{
    return facts_typical_loading_ns(facts) > facts->busy_ns;
}

enum { STEPS_TO_COMPARE = 3 }; /* a median of fewer means little */

bool facts_loading_comes_again(const struct facts *facts)
{
    const struct steps *steps = &facts->summary->steps;

    for (int64_t third = 0; third < 3; third++) {
        int64_t end = (third + 1) * steps->count / 3;
        double loading = 0, length = 0;
        for (int64_t i = third * steps->count / 3; i < end; i++) {
            loading += facts_loading_ns(facts, i);
            length += (double)steps->items[i].duration_ns;
        }
        if (!(loading >= RULE_SHARE_LEAST * length))
            return false;
    }
    return true;
}

int64_t facts_steps_that_wait(const struct facts *facts)
{
    int64_t count = facts->summary->steps.count, waiting = 0;
    double sum = 0, most = 0;

    for (int64_t i = 0; i < count; i++) sum += facts->summary->idle.loadings[i];
    while (waiting < count && most < 2 * sum / 3)
        most += facts->summary->idle.loadings[count - ++waiting];
    return waiting;
}

bool facts_loading_is_uneven(const struct facts *facts)
{
    int64_t count = facts->summary->steps.count;

    return count >= STEPS_TO_COMPARE && facts->summary->idle.loadings[count - 1] > 0 &&
           (facts_typical_loading_ns(facts) < RULE_SHARE_LEAST * facts->median_step_ns ||
            (count >= FACTS_STEPS_TO_REPEAT && 4 * facts_steps_that_wait(facts) <= count &&
             facts_loading_comes_again(facts)));
}

bool facts_loading_is_at_fault(const struct facts *facts)
{
    return loading_outlasts_device(facts) || facts_loading_is_uneven(facts);
}

/* --- Launches and other work --- */

bool facts_waits_for_launches(const struct facts *facts)
{
    return facts->launches >= FACTS_LAUNCHES_LEAST &&
           2 * (double)facts_idle(facts)->drained_count >= facts->launches * facts->steps;
}

bool facts_working_is_at_fault(const struct facts *facts)
{
    return facts_doing_ns(facts, HOST_WORKING) > facts->busy_ns;
}
