/* Findings of communication, in one rank's trace and between those of a run. */
#include "harness/diagnosis/ranks.h"
#include "harness/diagnosis/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- One rank --- */

/* How long this rank waits for the slow one, which is another finding; 0: none is slow. */
static double waits_ns(const struct facts *facts)
{
    struct rank_figures *figures = calloc((size_t)facts->rank_count, sizeof *figures);
    int64_t which = facts->summary - facts->ranks;
    struct slow_rank slow;
    double ns = 0;

    if (figures != NULL &&
        ranks_compare(&slow, figures, facts->ranks, facts->rank_count) == STATUS_OK &&
        slow_rank_matters(&slow) && figures[which].is_compared)
        ns = figures[which].waits_ns;
    free(figures);
    return ns;
}

static bool judge_exposed_communication(struct finding *finding, const struct facts *facts)
{
    const struct usage *usage = &facts->summary->timeline.all;
    double exposed = (double)usage->communication_exposed_ns / facts->steps;
    double waits = facts->rank_count > 1 ? fmin(exposed, waits_ns(facts)) : 0;
    char waiting[80] = "";

    if (waits > 0)
        snprintf(waiting, sizeof waiting, ", %s of them waiting for the slow rank",
                 quantity_time(waits).text);
    snprintf(finding->evidence, sizeof finding->evidence,
             "communication takes %s of %s; %s of that does not overlap with compute%s",
             quantity_time((double)usage->kind_ns[WORK_COMMUNICATION] / facts->steps).text,
             step_text(facts).text, quantity_time(exposed).text, waiting);
    return finding_costs_from(finding, facts, exposed - waits, 0.1);
}

/* --- All ranks --- */

static long long number_of(const struct facts *facts, int64_t which)
{
    const struct trace_file *trace = facts->ranks[which].trace;

    return (long long)(trace->rank >= 0 ? trace->rank : which);
}

enum { NEAR_MOST = 8 }; /* ranks to name */

/* " (as slow: ranks 5, 7)"; nothing if there are none. */
static void name_near(char *text, size_t size, const struct facts *facts,
                      const struct slow_rank *slow, const struct rank_figures *figures)
{
    size_t length;
    int64_t named = 0;

    text[0] = '\0';
    if (slow->near == 0)
        return;
    length = (size_t)snprintf(text, size, " (as slow: rank%s", slow->near == 1 ? "" : "s");
    for (int64_t i = 0; i < facts->rank_count && named < NEAR_MOST; i++)
        if (i != slow->which && rank_is_slow(slow, &figures[i]))
            length += (size_t)snprintf(text + length, size - length, "%s%lld",
                                       named++ > 0 ? ", " : " ", number_of(facts, i));
    if (slow->near > named)
        length += (size_t)snprintf(text + length, size - length, " and %lld more",
                                   (long long)(slow->near - named));
    snprintf(text + length, size - length, ")");
}

/* The ranks share one step, and so a share of it: a rank that sees a longer one loses no more. */
static bool judge_straggler(struct finding *finding, const struct facts *facts)
{
    struct rank_figures *figures = calloc((size_t)facts->rank_count, sizeof *figures);
    struct slow_rank slow;
    char near[240];
    bool found = figures != NULL &&
                 ranks_compare(&slow, figures, facts->ranks, facts->rank_count) == STATUS_OK &&
                 slow_rank_matters(&slow);

    if (found) {
        name_near(near, sizeof near, facts, &slow, figures);
        snprintf(finding->evidence, sizeof finding->evidence,
                 "rank %lld%s communicates for %s %s, the others for %s (median): they wait for "
                 "it; as fast as the next rank, it would make the step %s instead of %s",
                 number_of(facts, slow.which), near, quantity_time(slow.least_ns).text,
                 facts_per(facts), quantity_time(slow.typical_ns).text,
                 quantity_time(slow.step_ns - slow.lost_ns).text, quantity_time(slow.step_ns).text);
        found = finding_costs(finding, facts, slow.lost_ns / slow.step_ns * facts->step_ns);
    }
    free(figures);
    return found;
}

const struct rule rules_of_ranks[] = {
    { "straggler", "One rank keeps the others waiting",
      "look at the trace of that rank: its loader, its samples, the clocks of its device",
      "10% of a step", judge_straggler, BOTTLENECK_COMMUNICATION },
    { "exposed_communication", "Exposed communication",
      "start it in buckets during backward (DDP), compress gradients, or accumulate them",
      "torch_tb_profiler: communication over 10% of a step", judge_exposed_communication,
      BOTTLENECK_COMMUNICATION },
    { 0 },
};
