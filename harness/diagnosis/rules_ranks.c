/* Findings of communication, in one rank's trace and between those of a run. */
#include "harness/diagnosis/rules.h"

#include <math.h>
#include <stdio.h>

static bool judge_exposed_communication(struct finding *finding, const struct facts *facts)
{
    const struct usage *usage = &facts->summary->timeline.all;
    double exposed = (double)usage->communication_exposed_ns / facts->steps;

    if (!(exposed >= 0.1 * facts->step_ns))
        return false;
    snprintf(finding->evidence, sizeof finding->evidence,
             "communication takes %s of %s; %s of that does not overlap with compute",
             quantity_time((double)usage->kind_ns[WORK_COMMUNICATION] / facts->steps).text,
             step_text(facts).text, quantity_time(exposed).text);
    return finding_costs(finding, facts, exposed);
}

static double communication_ns(const struct summary *summary)
{
    double steps = summary->steps.count > 0 ? (double)summary->steps.count : 1;
    double ns = (double)summary->timeline.all.kind_ns[WORK_COMMUNICATION];

    if (summary->timeline.host_alone)
        for (int64_t i = 0; i < summary->steps.count; i++)
            ns += (double)summary->steps.items[i].part_ns[STEP_COMMUNICATION];
    return ns / steps;
}

/* A collective begins on each rank when that rank enters it, and ends on all ranks together. So the rank
 * that enters last communicates least, and the others wait for it. */
static bool judge_straggler(struct finding *finding, const struct facts *facts)
{
    int64_t last = 0;
    double least = INFINITY, others = 0, lost;

    if (facts->rank_count < 2)
        return false;
    for (int64_t i = 0; i < facts->rank_count; i++) {
        double ns = communication_ns(&facts->ranks[i]);
        others += ns;
        if (ns < least) {
            least = ns;
            last = i;
        }
    }
    others = (others - least) / (double)(facts->rank_count - 1);
    lost = others - least;
    if (!(lost >= 0.1 * facts->step_ns))
        return false;
    snprintf(
        finding->evidence, sizeof finding->evidence,
        "rank %lld communicates for %s %s, the others for %s on average: they wait for it",
        (long long)(facts->ranks[last].trace->rank >= 0 ? facts->ranks[last].trace->rank : last),
        quantity_time(least).text, facts_per(facts), quantity_time(others).text);
    return finding_costs(finding, facts, lost);
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
