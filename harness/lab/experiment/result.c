/* Words for outcomes and verdicts, which pages and result files share, and the end of a result. */
#include "harness/lab/experiment/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An effect's factor is at least 1 if the metric went the way that is expected, up or down; the
 * words are of the change itself, which is after / before. */

/* Times get faster or slower; everything else goes down or up. */
static bool is_time(enum metric metric)
{
    return strcmp(metric_unit(metric), "us") == 0;
}

struct change_text effect_words(const struct effect *effect, enum metric metric,
                                enum direction direction)
{
    struct change_figures change = { effect->before, effect->after, effect->factor,
                                     effect->low,    effect->high,  effect->coverage };

    if (direction == GROWS) {
        change.factor = 1 / effect->factor;
        change.low = 1 / effect->high;
        change.high = 1 / effect->low;
    }
    return change_text(&change, is_time(metric));
}

void effect_bounds(char *text, size_t size, enum metric metric, enum direction direction,
                   double least, double most)
{
    const char *bound = "";
    char factor[64] = "";

    if (least > 0 && most > 0) {
        snprintf(factor, sizeof factor, "%gx to %gx", least, most);
    } else if (least > 0 || most > 0) {
        bound = least > 0 ? "at least " : "at most ";
        snprintf(factor, sizeof factor, "%gx", least > 0 ? least : most);
    }
    change_words(text, size, is_time(metric), direction == SHRINKS, bound, factor);
}

const char *outcome_name(enum outcome outcome)
{
    static const char *const names[] = { "met", "not met", "undecided", "not bound" };

    return (unsigned)outcome < ARRAY_SIZE(names) ? names[outcome] : "unknown";
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[VERDICT_COUNT] = {
        [VERDICT_REPRODUCED] = "reproduced",
        [VERDICT_NOT_REPRODUCED] = "not reproduced",
        [VERDICT_NO_DIFFERENCE] = "no difference",
        [VERDICT_DIFFERENT] = "different",
        [VERDICT_UNDECIDED] = "undecided",
        [VERDICT_SKIPPED] = "skipped",
        [VERDICT_FAILED] = "failed",
    };

    return (unsigned)verdict < ARRAY_SIZE(names) ? names[verdict] : "unknown";
}

/* The arrays have room for all pairs of the protocol. Complete pairs come first; after an
 * interruption single repetitions may follow them, so all are freed. */
void scenario_result_release(struct scenario_result *result)
{
    int most = result->protocol.repetitions + result->protocol.extra;

    for (int v = 0; v < VARIANT_COUNT; v++) {
        for (int i = 0; result->repetitions[v] != NULL && i < most; i++)
            free(result->repetitions[v][i].step_ns);
        free(result->repetitions[v]);
        result->repetitions[v] = NULL;
        findings_release(&result->diagnoses[v].findings);
        result->diagnoses[v].made = false;
    }
    result->pairs = 0;
}
