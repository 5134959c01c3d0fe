/* Findings of a host that computes itself: its operators are all that the trace shows. */
#include "harness/desk/diagnosis/rules.h"

#include <stdio.h>

enum { OPERATORS_LEAST = 10 }; /* per step: fewer cost nothing */

/* The time of operators goes by the loop's thread, which interruptions lengthen; the part of it that is their
 * own cost goes by medians, which they do not change. */
static bool judge_small_operators(struct finding *finding, const struct facts *facts)
{
    const struct host_operators *operators = &facts->summary->operators;
    double count = (double)operators->count / facts->steps;
    double share = operators->typical_ns > 0 ? operators->own_ns / operators->typical_ns : 0;

    if (!facts->summary->timeline.host_alone || count < OPERATORS_LEAST || !(share >= 0.5))
        return false;
    finding->confidence = CONFIDENCE_MEDIUM;
    snprintf(
        finding->evidence, sizeof finding->evidence,
        "%.0f operators %s take %s each (the mean of their medians), and %.0f%% of that is what "
        "an operator costs beside its work; operators take %.0f%% of %s",
        count, facts_per(facts),
        quantity_time(operators->typical_ns / (double)operators->count).text, 100 * share,
        100 * facts_computing_share(facts), step_text(facts).text);
    return finding_costs(finding, facts, share * facts_computing_share(facts) * facts->step_ns);
}

/* As device_bound, where the host is the device. */
static bool judge_host_computes(struct finding *finding, const struct facts *facts)
{
    if (!facts->summary->timeline.host_alone || facts->summary->operators.count == 0 ||
        !(facts_computing_share(facts) >= RULE_BUSY_GOOD))
        return false;
    snprintf(finding->evidence, sizeof finding->evidence,
             "operators take %.0f%% of %s, and no device is described or called",
             100 * facts_computing_share(facts), step_text(facts).text);
    finding_informs(finding);
    return true;
}

const struct rule rules_of_operators[] = {
    { "small_operators", "Operators cost more than what they compute",
      "give each operator more to do: a batch instead of one sample, one operator over all rows or "
      "time steps instead of a loop (nn.LSTM), or torch.compile",
      "half of the operators' time", judge_small_operators, BOTTLENECK_LAUNCHING },
    { "host_computes", "The host computes, and no device does",
      "look at the longest operators: their threads, their type, what could be fused; or use a "
      "device",
      "as for a device: 70% of a step or more", judge_host_computes, BOTTLENECK_DEVICE },
    { 0 },
};
