/* Words for outcomes and verdicts, which pages and result files share, and the end of a result. */
#include "harness/lab/experiment/result.h"

#include <stdlib.h>

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
