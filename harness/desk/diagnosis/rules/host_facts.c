/* Figures of idle time, for the rules about the host. */
#include "harness/desk/diagnosis/rules/host_facts.h"

#include "harness/base/figures/statistics.h"

#include <math.h>
#include <string.h>

bool facts_copies_to(const struct facts *facts, const struct graph_node *node,
                     const char *direction)
{
    const struct trace_file *trace = facts->summary->trace;

    return node->stream != GRAPH_NONE && node->kind == WORK_COPY &&
           strstr(trace_file_name(trace, trace->events[node->event].name), direction) != NULL;
}

const struct idle_time *facts_idle(const struct facts *facts)
{
    return &facts->summary->idle.all;
}

double facts_host_ns(const struct facts *facts, enum host_kind activity)
{
    return (double)idle_host_ns(facts_idle(facts), activity) / facts->steps;
}

double facts_least_of_cores_ns(const struct facts *facts)
{
    const struct event_device *device = facts->device;
    double ns = facts->busy_ns, wanted = facts->summary->trace->cost.wanted_cores;

    if (device == NULL || device->shares_host_cores != 1 || device->host_cores <= 0)
        return 0;
    for (int i = 0; i < HOST_KIND_COUNT; i++)
        if (i != HOST_WAITING)
            ns += (double)facts->summary->idle.host_ns[i] / facts->steps;
    if (wanted > 0) /* less if the host waits for a disk or a network, more beside other programs */
        ns = fmin(ns, wanted * facts->step_ns);
    return ns / device->host_cores;
}

/* --- Loading --- */

double facts_loading_ns(const struct facts *facts, int64_t step)
{
    return (double)idle_host_ns(&facts->summary->idle.steps[step], HOST_LOADING);
}

double facts_typical_loading_ns(const struct facts *facts)
{
    if (!facts->has_steps)
        return facts_host_ns(facts, HOST_LOADING);
    return stats_sorted_median(facts->summary->idle.loadings, (int)facts->summary->steps.count);
}

enum { STEPS_TO_COMPARE = 3 }; /* a median of fewer means little */

static double wait_without(const struct facts *facts, const struct epoch_borders *borders,
                           int64_t step)
{
    return borders != NULL && epoch_borders_have(borders, step) ? 0 : facts_loading_ns(facts, step);
}

int64_t facts_waits_apart(const struct facts *facts, const struct epoch_borders *without)
{
    int64_t count = facts->summary->steps.count, first = -1, last = -1, apart = 0;
    double longest = 0;

    for (int64_t i = 0; i < count; i++) longest = fmax(longest, wait_without(facts, without, i));
    for (int64_t i = 0; longest > 0 && i < count; i++) {
        if (4 * wait_without(facts, without, i) < longest)
            continue;
        first = first < 0 ? i : first;
        apart += last < 0 || i > last + 1;
        last = i;
    }
    return 4 * (last - first) >= count ? apart : 0;
}

bool facts_loading_comes_again(const struct facts *facts)
{
    const struct steps *steps = &facts->summary->steps;

    if (facts_waits_apart(facts, NULL) >= FACTS_WAITS_TO_REPEAT)
        return true;
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

static bool few_wait_for_most(const struct facts *facts)
{
    int64_t count = facts->summary->steps.count;

    return count >= FACTS_STEPS_TO_REPEAT && 4 * facts_steps_that_wait(facts) <= count &&
           facts_loading_comes_again(facts);
}

static bool idle_is_uneven(const struct facts *facts)
{
    int64_t count = facts->summary->steps.count;

    return count >= STEPS_TO_COMPARE && facts->summary->idle.loadings[count - 1] > 0 &&
           (facts_typical_loading_ns(facts) < RULE_SHARE_LEAST * facts->median_step_ns ||
            few_wait_for_most(facts));
}

/* The host's median wait, whether or not the device works at the same time. */
static double typical_wait_ns(const struct facts *facts)
{
    const struct phases *phases = &facts->summary->phases;
    SCRATCH_ARENA(scratch, facts->summary->arena);
    double *waits = ARENA_NEW(scratch, double, phases->step_count), typical = NAN;

    for (int64_t i = 0; i < phases->step_count; i++)
        waits[i] = (double)phases->steps[i][PHASE_DATA].host_ns;
    stats_sort(waits, (int)phases->step_count);
    if (phases->step_count > 0)
        typical = stats_sorted_median(waits, (int)phases->step_count);
    return typical;
}

/* Steps that were only timed had no such wait: one in the recorded steps is by chance, or caused by
 * the recorder. */
static bool is_even_untraced(const struct facts *facts)
{
    const struct trace_cost *cost = &facts->summary->trace->cost;

    return cost->mean_loading_share > 0 &&
           cost->mean_loading_share - cost->loading_share < RULE_SHARE_LEAST;
}

bool facts_loading_is_uneven(const struct facts *facts)
{
    return !facts_steps_are_guessed(facts) && idle_is_uneven(facts) && !is_even_untraced(facts) &&
           (typical_wait_ns(facts) < RULE_SHARE_LEAST * facts->step_ns || few_wait_for_most(facts));
}

bool facts_batches_are_pageable(const struct facts *facts)
{
    enum { STAGED_BYTES = 65536 };
    const struct kernels *kernels = &facts->summary->kernels;
    int64_t count = 0;

    for (int64_t i = 0; i < kernels->count; i++) {
        const struct kernel_row *row = &kernels->rows[i];
        bool is_in = strstr(trace_file_name(facts->summary->trace, row->name), "HtoD") != NULL;
        if (row->pageable && is_in && row->bytes / row->count > STAGED_BYTES)
            count += row->count;
    }
    return (double)count > facts->steps / 2;
}

/* --- Launches and other work --- */

bool facts_are_oversubscribed(const struct facts *facts)
{
    const struct trace_cost *cost = &facts->summary->trace->cost;

    return cost->involuntary_switches >= 1 && cost->core_wait_share >= TRACE_CORE_WAIT_MOST &&
           cost->cores > 0 && cost->wanted_cores >= 1.1 * cost->cores;
}

bool facts_waits_for_launches(const struct facts *facts)
{
    double kernels = (double)facts->summary->launches.kernel_count;

    return kernels >= FACTS_LAUNCHES_LEAST * facts->steps &&
           2 * (double)facts_idle(facts)->drained_count >= kernels;
}

double facts_saved_copies_ns(const struct facts *facts)
{
    const struct usage *usage = &facts->summary->usage;
    double copies = (double)usage->kind_ns[WORK_COPY];

    return copies > 0 && facts_host_ns(facts, HOST_SAVING) >= RULE_SHARE_LEAST * facts->step_ns
               ? facts->summary->phases.means[PHASE_SAVE].device_ns *
                     (double)usage->copy_exposed_ns / copies
               : 0;
}
