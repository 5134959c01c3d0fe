/* Findings of a host that computes itself: its operators are all that the trace shows. */
#include "harness/desk/diagnosis/rules/rules.h"

enum { OPERATORS_LEAST = 10 }; /* per step: fewer cost nothing */

/* The time of operators goes by the loop's thread, which interruptions lengthen; the part of it
 * that is their own cost goes by medians, which they do not change. */
static bool judge_small_operators(struct finding *finding, const struct facts *facts)
{
    const struct host_operators *operators = &facts->summary->operators;
    double count = (double)operators->count / facts->steps;
    double share = operators->typical_ns > 0 ? operators->own_ns / operators->typical_ns : 0;

    if (!facts->summary->timeline.host_alone || count < OPERATORS_LEAST || !(share >= 0.5))
        return false;
    finding->confidence = CONFIDENCE_MEDIUM;
    finding_says(
        finding,
        "%.0f operators %s take %s each (the mean of their medians), and %.0f%% of that is what "
        "an operator costs beside its work; operators take %.0f%% of %s",
        count, facts_per(facts),
        quantity_time(operators->typical_ns / (double)operators->count).text, 100 * share,
        100 * facts_computing_share(facts), step_text(facts).text);
    return finding_costs(finding, facts, share * facts_computing_share(facts) * facts->step_ns);
}

enum { NAMES_MOST = 3 };

/* Adds the operators with the most time of their own. */
static void name_longest(struct finding *finding, const struct facts *facts)
{
    const struct spans *spans = &facts->summary->spans;
    SCRATCH_ARENA(scratch, facts->summary->arena);
    const struct span_row **rows = ARENA_NEW(scratch, const struct span_row *, spans->count);
    double all_ns = 0;
    int named = 0;

    for (int64_t i = 0; i < spans->count; i++)
        if (!spans->rows[i].is_phase && !spans->rows[i].is_call)
            all_ns += (double)spans->rows[i].host_self_ns;
    spans_sort(rows, spans, SPANS_BY_SELF_CPU_TIME_TOTAL);
    for (int64_t i = 0; i < spans->count && named < NAMES_MOST; i++) {
        double ns = (double)rows[i]->host_self_ns;
        if (rows[i]->is_phase || rows[i]->is_call || !(ns >= RULE_SHARE_LEAST * all_ns))
            continue;
        finding_says(finding, "%s %.0f%% in %.60s", named++ == 0 ? "; of their own time" : ",",
                     100 * ns / all_ns, trace_file_name(facts->summary->trace, rows[i]->name));
    }
}

/* As device_bound, where the host is the device. */
static bool judge_host_computes(struct finding *finding, const struct facts *facts)
{
    if (!facts->summary->timeline.host_alone || facts->summary->operators.count == 0 ||
        !(facts_computing_share(facts) >= RULE_BUSY_GOOD))
        return false;
    finding_says(finding, "operators take %.0f%% of %s, and no device is described or called",
                 100 * facts_computing_share(facts), step_text(facts).text);
    name_longest(finding, facts);
    finding_informs(finding);
    return true;
}

enum { READS_LEAST = 2 }; /* per step: one may be the loss, to log it */

static bool judge_values_read(struct finding *finding, const struct facts *facts)
{
    const struct host_operators *operators = &facts->summary->operators;
    double count = (double)operators->value_count / facts->steps;

    if (!facts->summary->timeline.host_alone || !(count >= READS_LEAST))
        return false;
    finding_says(
        finding,
        "%.4g values %s are read from tensors (aten::item), which costs %s here; on a GPU each "
        "of them waits until the device has done all that is queued",
        count, facts_per(facts), quantity_time((double)operators->value_ns / facts->steps).text);
    finding_informs(finding);
    return true;
}

const struct rule rules_of_operators[] = {
    {
        .id = "small_operators",
        .title = "Operators cost more than what they compute",
        .also = "operator overhead, dispatcher overhead",
        .symptom = "operators of which most take 5 us or less",
        .meaning = "dispatch, checks and the recording for backward cost a few microseconds per "
                   "operator, and one sample or one row costs as many operators as a batch",
        .advice = "give each operator more to do: a batch instead of one sample, one operator "
                  "over all rows or time steps instead of a loop (nn.LSTM), or torch.compile",
        .cost = "the operators' time by the share of it that is up to 5 us of each; half of it at "
                "least",
        .threshold = "half of the operators' time",
        .bottleneck = BOTTLENECK_LAUNCHING,
        .judge = judge_small_operators,
        .site = SITE_OPERATORS,
    },
    {
        .id = "host_computes",
        .title = "The host computes, and no device does",
        .also = "CPU training, no GPU",
        .symptom = "a loop that is in operators for 70% of a step, without a device",
        .meaning = "the host is the device, and sets the pace",
        .advice = "look at the longest operators: their threads, their type, what could be fused; "
                  "or use a device",
        .cost = "none: it is for information",
        .costs_no_time = true,
        .threshold = "as for a device: 70% of a step or more",
        .bottleneck = BOTTLENECK_HOST,
        .judge = judge_host_computes,
        .site = SITE_COMPUTING,
    },
    {
        .id = "values_read",
        .title = "The loop reads values from tensors",
        .also = "tolist(), numpy(), reading values",
        .symptom = "two or more aten::item per step, in a loop without a device, outside of "
                   "loading and optimizer",
        .meaning = "a host reads its own memory at once, but a GPU has to be waited for each time",
        .advice =
            "before the loop moves to a GPU, keep what it sums or compares in tensors, and read "
            "it every few steps",
        .cost = "none: it is for information",
        .costs_no_time = true,
        .threshold = "two per step: one may be the loss, to log it",
        .bottleneck = BOTTLENECK_NONE,
        .judge = judge_values_read,
        .site = SITE_NONE, /* it costs nothing where it is */
    },
    { .id = NULL },
};
